"""What became of the trials, as one Markdown page."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

PHASES = ("starting", "training", "scoring", "between runs")


@dataclass
class Trial:
    """One start of the command, with one fault."""

    number: int
    sweep: int
    """The folder in which it was started."""
    fault: str
    victim: str
    """Whom it hit."""
    rows: int
    """How many rows had not finished when the command was started."""
    drawn: float
    """When it was to be injected, in seconds from the start of the command."""
    injected: float | None = None
    """When it was: as soon as there was such a process. None where the command had ended before."""
    row: str | None = None
    """The run that was at work."""
    phase: str | None = None
    """What it was doing."""
    step: int = 0
    """Optimizer steps that it had logged."""
    seconds_to_end: float | None = None
    """From the fault until no process of the run was left, or of the whole sweep where the command was hit."""
    exit_code: int | None = None
    """Of the command."""
    seconds: float = 0.0
    """From its start to its end."""
    seconds_until_nothing_left: float | None = None
    """From the end of the command until no process of the sweep was left."""
    left_behind: list[str] = field(default_factory=list)
    """What had to be killed then."""
    status: str | None = None
    """Of the record of the run that was at work, when the command had ended; untouched: of an earlier attempt."""
    message: str | None = None
    said: list[str] = field(default_factory=list)
    """The command's complaints."""
    traceback: bool = False
    """Whether one was shown."""

    @property
    def hangs(self) -> bool:
        """Whether what was hit was still there after the time allowed."""
        return self.injected is not None and self.seconds_to_end is None

    def line(self) -> str:
        """The trial in one line."""
        if self.injected is None:
            return f"trial {self.number}: {self.fault}: the command ended before"
        end = "HANGS" if self.hangs else f"gone after {self.seconds_to_end:.1f} s"
        left = f"; LEFT {self.left_behind}" if self.left_behind else ""
        return (
            f"trial {self.number}: {self.fault} ({self.victim}) after {self.injected:.1f} s, {self.row} {self.phase} "
            f"at step {self.step}: {end}{left}; exit {self.exit_code}; record {self.status}: {self.message}"
        )


def markdown(about: Mapping[str, Any], trials: Sequence[Trial], sweeps: Mapping[int, Mapping[str, list[str]]]) -> str:
    """The page.

    Args:
        about: machine, commit, command, date and the sweep.
        trials: all of them, those too whose command ended before the fault came.
        sweeps: for each folder and row, what differs from the undisturbed run.
    """
    hits = [trial for trial in trials if trial.injected is not None]
    exact = {number for number, rows in sweeps.items() if not any(rows.values())}
    return "\n".join(
        [
            "# Faults injected into a sweep",
            "",
            *_introduction(about, hits, sweeps, exact),
            "",
            *_outcomes(hits, exact),
            "",
            *_differences(sweeps),
            "## What the records said",
            "",
            "Of the run that was at work, when the command had ended; step numbers are written as n. Untouched: the",
            "fault came before this attempt had written its record.",
            "",
            *_messages(hits),
            "",
            "## How it was done",
            "",
            f"- {about['date']}, commit {about['commit']}",
            f"- {about['machine']}; "
            + ", ".join(f"{name} {about['versions'][name]}" for name in ("python", "torch", "pytorch-lightning")),
            f"- `{about['command']}`; every trial stands in the JSON file beside this page",
            f"- the sweep, {about['seconds_undisturbed']:.0f} s undisturbed: `aiayn {about['sweep']}`",
            "",
        ]
    )


def _introduction(
    about: Mapping[str, Any], hits: Sequence[Trial], sweeps: Mapping[int, Mapping[str, list[str]]], exact: set[int]
) -> list[str]:
    runs = sum(len(rows) for rows in sweeps.values())
    same = sum(not names for rows in sweeps.values() for names in rows.values())
    left, tracebacks = sum(bool(trial.left_behind) for trial in hits), sum(trial.traceback for trial in hits)
    hangs = sum(trial.hangs for trial in hits)
    return [
        f"Three rows of Table 3, shrunken to seconds, two processes (gloo) each; {len(hits)} faults at random moments",
        f"in {len(sweeps)} sweeps, each started again with the same command until all rows had finished.",
        "",
        f"- {same} of {runs} runs finished exactly as undisturbed, in {len(exact)} of {len(sweeps)} sweeps all three:",
        "  every logged loss and validation, the scores, the weights and Adam's moments are bit for bit the same; each",
        "  step was logged once, with the same sentences in it, and its tokens were counted once.",
        f"- Processes left behind when the command had ended: after {left} of {len(hits)} faults. Tracebacks shown:",
        f"  after {tracebacks}. Still there {about['gone_seconds']} s after the fault: {hangs}.",
        "",
        "*Gone*: seconds from the fault until no process of the run was left, or of the whole sweep where the command",
        f"was hit. A rank waits for another {about['timeout_seconds']} s here (`launch.timeout_seconds`). *Hangs*: it",
        f"was still there after {about['gone_seconds']} s. *Exact*: faults whose whole sweep finished exactly.",
    ]


def _outcomes(hits: Sequence[Trial], exact: set[int]) -> list[str]:
    lines = [
        f"| fault | injected | {' | '.join(PHASES)} | gone: median s | max s | hangs | left behind | exact | record |",
        f"|---|{'---:|' * (len(PHASES) + 6)}---|",
    ]
    names = list(dict.fromkeys(trial.fault for trial in hits))
    for name in [*names, None]:
        own = [trial for trial in hits if name in (None, trial.fault)]
        phases = [str(sum(trial.phase == phase for trial in own)) for phase in PHASES]
        seconds = [trial.seconds_to_end for trial in own if trial.seconds_to_end is not None]
        cells = [
            name or "all",
            str(len(own)),
            *phases,
            f"{median(seconds):.1f}" if seconds else "",
            f"{max(seconds):.1f}" if seconds else "",
            str(sum(trial.hangs for trial in own)),
            str(sum(bool(trial.left_behind) for trial in own)),
            f"{sum(trial.sweep in exact for trial in own)} of {len(own)}",
            ", ".join(
                f"{count} {status}" for status, count in Counter(trial.status or "none" for trial in own).items()
            ),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _differences(sweeps: Mapping[int, Mapping[str, list[str]]]) -> list[str]:
    """One line for each run that differs, if any does."""
    lines = [
        f"- sweep {number}, {row}: {', '.join(names)}"
        for number, rows in sweeps.items()
        for row, names in rows.items()
        if names
    ]
    return ["## Runs that differ", "", *lines, ""] if lines else []


def _messages(hits: Sequence[Trial]) -> list[str]:
    lines = []
    for fault in dict.fromkeys(trial.fault for trial in hits):
        said = Counter(
            f"{trial.status}: {_plain(trial.message)}" if trial.message else trial.status or "no record yet"
            for trial in hits
            if trial.fault == fault
        )
        lines.append(f"- {fault}")
        lines += [f"  - {count} x {text}" for text, count in said.most_common()]
    return lines


def _plain(message: str) -> str:
    """A message without what differs from trial to trial."""
    text = re.sub(r"\S*/runs/\S+?(?=[:;,]?(?:\s|$))", "<run>", message.splitlines()[0])
    return re.sub(r"\bstep \d+", "step n", text)
