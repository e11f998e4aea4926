"""A line for each job of a sweep, on standard error.

On a terminal it is drawn over while the job runs, and what the job itself would show is left out; what it says last
stays. Elsewhere a job has a line when it begins and one when it ends.
"""

import math
import os
from dataclasses import dataclass
from functools import cached_property
from threading import Event, Thread
from typing import TYPE_CHECKING, final

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from aiayn.sweep.launchers import BASIC, BASIC_SWEEPER, SLURM, launcher_of, sweeper_of
from aiayn.sweep.outcomes import Outcome, OutcomeFolder
from aiayn.system.progress import VARIABLE, Shown, draw_lines, has_bars, say

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader

LOOK_SECONDS = 1.0
"""Between two looks at what the jobs have told, in their outcomes, records and metrics."""


def begin_lines(config: DictConfig, loader: "ConfigLoader", folder: OutcomeFolder) -> "SweepLines | None":
    """Tell of the jobs from now on; None where there is nothing to tell.

    Args:
        config: the composed configuration of the multirun itself.
        loader: knows the options that a glob in it stands for.
        folder: where the jobs tell what becomes of them.
    """
    if config.hydra.job.config_name != "train" or launcher_of(config.hydra) == SLURM:  # which tells of its jobs itself
        return None
    return SweepLines(Sweep(config, loader), folder, is_side_by_side=launcher_of(config.hydra) != BASIC)


@dataclass(frozen=True)
class Sweep:
    """What jobs there will be; asked for when the first has begun, and the command line is known to be sound."""

    config: DictConfig
    loader: "ConfigLoader"

    @cached_property
    def _values(self) -> dict[str, int]:
        """How many values each swept key has; 0 for an interval."""
        hydra = self.config.hydra
        params = hydra.sweeper.get("params") or {}
        words = [*(f"{key}={value}" for key, value in params.items()), *hydra.overrides.task]
        overrides = OverridesParser.create(self.loader).parse_overrides(words)
        return {
            key: len([*override.sweep_string_iterator()]) if override.is_discrete_sweep() else 0
            for key, override in {override.get_key_element(): override for override in overrides}.items()
            if override.is_sweep_override()
        }

    @cached_property
    def size(self) -> int:
        """How many jobs: every combination of values, or as many trials as were asked for."""
        hydra = self.config.hydra
        if sweeper_of(hydra) != BASIC_SWEEPER:
            return int(hydra.sweeper.trials)
        return math.prod(self._values.values())

    def name(self, outcome: Outcome) -> str:
        """Which job it is."""
        job = outcome.swept
        assert job is not None
        number = f"{outcome.number + 1:>{len(str(self.size))}}/{self.size}"
        return f"{number} {' '.join([job.experiment, *job.swept, f'seed {job.seed}']):<24}"


@final
class SweepLines:
    """Tells of the jobs of a sweep until it is stopped.

    Args:
        sweep: what jobs there will be.
        folder: where they tell what becomes of them.
        is_side_by_side: whether several may run at once.
    """

    def __init__(self, sweep: Sweep, folder: OutcomeFolder, *, is_side_by_side: bool) -> None:
        self._sweep = sweep
        self._folder = folder
        self._begun: set[int] = set()
        self._ended: set[int] = set()
        self._is_drawn = has_bars()
        self._before = os.environ.get(VARIABLE)
        if self._is_drawn:
            os.environ[VARIABLE] = Shown.lines  # for the processes of the jobs
        elif is_side_by_side:
            os.environ[VARIABLE] = Shown.nothing
        self._stopped = Event()
        self._thread = Thread(target=self._look_on, name="sweep-lines", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Say what has not been said, and leave the terminal to others."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._thread.join()
        self._look(is_last=True)
        if self._before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = self._before

    def _look_on(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            self._look()

    def _look(self, *, is_last: bool = False) -> None:
        """Say what has ended, and draw how the others get on, unless they do not any more."""
        from aiayn.reports.sweep import end_in_words, progress_in_words
        from aiayn.runs.ledger import read_entry

        going: list[str] = []
        for outcome in self._folder.read():
            if outcome.swept is None or outcome.number in self._ended:
                continue
            directory, name = outcome.swept.directory, self._sweep.name(outcome)
            entry = read_entry(directory) if directory.record.is_file() else None
            if outcome.held is not None:
                going.append(f"{name}  waiting for {outcome.held}")
            elif not (outcome.has_ended or is_last):
                going.append(f"{name}  {progress_in_words(entry)}")
                self._say_begun(outcome.number, name)
            else:
                self._ended.add(outcome.number)
                say(f"{name}  {end_in_words(entry, has_failed=outcome.failure is not None)}")
        if self._is_drawn:
            draw_lines(going)

    def _say_begun(self, number: int, name: str) -> None:
        if number not in self._begun and not self._is_drawn:
            say(f"{name}  begun")
        self._begun.add(number)
