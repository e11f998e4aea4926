"""Contenders take turns: each does the same work once a round, so that whatever else the machine does hits all."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from aiayn.system.torch_environment import SETTINGS

FOLDER = Path(__file__).parent
SOURCES = FOLDER.parent / "src"


@dataclass(frozen=True)
class Contender:
    """Who takes part, and how its process is started."""

    name: str
    maker: str
    """`module:function` of this folder, see contender.py."""
    python: Path = Path(sys.executable)
    """A peer's lies in the peers' environment."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the settings of the contest."""


class Answer(NamedTuple):
    """What a contender says of one round."""

    work: float
    """In the contest's unit, such as tokens."""
    seconds: float
    """Wall time."""
    cpu_seconds: float
    """Of all its threads."""
    peak_bytes: int
    """The most memory that its process has held so far."""
    resident_bytes: int
    """What it holds after the round."""

    def speed(self, *, cpu: bool = False) -> float:
        """Work a second of wall time, or of processor time, which other processes hardly disturb."""
        return self.work / (self.cpu_seconds if cpu else self.seconds)


class Spread(NamedTuple):
    """The median of several rounds, and the quartiles around it."""

    median: float
    low: float
    high: float


class FailedContenderError(RuntimeError):
    """A contender ended before its time."""


Answers = Mapping[str, Sequence[Answer]]


def contest(
    contenders: Sequence[Contender],
    settings: Mapping[str, Any],
    *,
    rounds: int,
    warm_up: int = 1,
    threads: int = 1,
    tell: Callable[[str], object] = lambda _: None,
) -> tuple[dict[str, list[Answer]], dict[str, str]]:
    """Let contenders take turns.

    Args:
        contenders: each gets a process, all for the whole contest; only the one whose turn it is works.
        settings: of the contest, passed to every maker.
        rounds: that count.
        warm_up: rounds before those; with other numbers, so that a contender may do other work.
        threads: of each process.
        tell: hears of each round.

    Returns:
        The answers of those that came through, and for the others the last line of what they said.
    """
    answers: dict[str, list[Answer]] = {each.name: [] for each in contenders}
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        players = {
            each.name: stack.enter_context(_Player(each, settings, threads, Path(settings["work"])))
            for each in contenders
        }
        names = list(players)
        for number in range(-1, warm_up + rounds):
            for name in [name for name in names if name not in failed]:
                try:
                    if number < 0:
                        players[name].await_ready()
                    else:
                        answer = players[name].play(number)
                        tell(f"{name}, round {number}: {answer.work:,.0f} in {answer.seconds:.2f} s")
                        answers[name] += [answer] if number >= warm_up else []
                except FailedContenderError as error:
                    failed[name] = str(error)
                    tell(f"{name}: {error}")
            names = names[1:] + names[:1]  # nobody always begins
    return {name: done for name, done in answers.items() if name not in failed}, failed


def ratios(answers: Answers, name: str, reference: str, *, cpu: bool = False) -> Spread:
    """How much faster a contender was than another, round by round; by processor time if `cpu`."""
    pairs = zip(answers[name], answers[reference], strict=True)
    return spread([own.speed(cpu=cpu) / other.speed(cpu=cpu) for own, other in pairs])


def spread(values: Sequence[float]) -> Spread:
    """The median and the quartiles of some values."""
    low, _, high = quantiles(values, method="inclusive") if len(values) > 1 else (values[0],) * 3
    return Spread(median(values), low, high)


class _Player:
    """A contender's process, from start to end."""

    def __init__(self, contender: Contender, settings: Mapping[str, Any], threads: int, work: Path) -> None:
        self._log = (work / f"{contender.name.replace(' ', '-').replace('/', '-')}.log").open("w+", encoding="utf-8")
        path = os.pathsep.join([str(SOURCES), str(FOLDER)])
        self._process = subprocess.Popen(
            [
                str(contender.python),
                str(FOLDER / "contender.py"),
                contender.maker,
                json.dumps({**settings, **contender.settings}),
            ],
            # All as in our runs. What it says of oneDNN does not reach the peers: they do not compile by shape.
            env={**os.environ, **SETTINGS, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> "_Player":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def await_ready(self) -> None:
        """Wait until it has imported and built what it needs."""
        self._read()

    def play(self, number: int) -> Answer:
        """Let it do one round."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{number}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its last words follow
        return Answer(**self._read())

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            words = self._log.read().splitlines()
            raise FailedContenderError(words[-1] if words else f"ended with {self._process.wait()}")
        content: dict[str, Any] = json.loads(line)
        return content
