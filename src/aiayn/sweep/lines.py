"""A line for each job of a sweep, on standard error.

On a terminal it is redrawn while the job runs, and the job's own progress is hidden; its last state stays. Elsewhere a
job has a line when it begins and one when it ends.
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
"""Between two reads of the jobs' outcomes, records and metrics."""


def begin_lines(config: DictConfig, loader: "ConfigLoader", folder: OutcomeFolder) -> "SweepLines | None":
    """Start the lines; None for commands and launchers without.

    Args:
        config: the composed configuration of the multirun itself.
        loader: finds the options that a glob in it matches.
        folder: of the jobs' outcomes.
    """
    if config.hydra.job.config_name != "train" or launcher_of(config.hydra) == SLURM:  # which has lines of its own
        return None
    return SweepLines(Sweep(config, loader), folder, is_side_by_side=launcher_of(config.hydra) != BASIC)


@dataclass(frozen=True)
class Sweep:
    """The jobs to come; computed once the first has begun, when the command line is known to be sound."""

    config: DictConfig
    loader: "ConfigLoader"

    @cached_property
    def _values(self) -> dict[str, int]:
        """Number of values of each swept key; 0 for an interval."""
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
        """Number of jobs: combinations of values, or trials."""
        hydra = self.config.hydra
        if sweeper_of(hydra) != BASIC_SWEEPER:
            return int(hydra.sweeper.trials)
        return math.prod(self._values.values())

    def name(self, outcome: Outcome) -> str:
        """Number, row, swept values and seed of a job."""
        job = outcome.swept
        assert job is not None
        number = f"{outcome.number + 1:>{len(str(self.size))}}/{self.size}"
        return f"{number} {' '.join([job.experiment, *job.swept, f'seed {job.seed}']):<24}"


@final
class SweepLines:
    """Shows the jobs of a sweep until it is stopped.

    Args:
        sweep: the jobs to come.
        folder: of their outcomes.
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
        self._thread = Thread(target=self._watch, name="sweep-lines", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Print the lines that are due, and release the terminal."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._thread.join()
        self._look(is_last=True)
        if self._before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = self._before

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            self._look()

    def _look(self, *, is_last: bool = False) -> None:
        """Print the jobs that have ended, and draw the progress of the others."""
        from aiayn.reports.sweep import end_in_words, progress_in_words
        from aiayn.runs.ledger import read_entry

        running: list[str] = []
        for outcome in self._folder.read():
            if outcome.swept is None or outcome.number in self._ended:
                continue
            directory, name = outcome.swept.directory, self._sweep.name(outcome)
            entry = read_entry(directory) if directory.record.is_file() else None
            if outcome.held is not None:
                running.append(f"{name}  waiting for {outcome.held}")
            elif not (outcome.has_ended or is_last):
                running.append(f"{name}  {progress_in_words(entry)}")
                self._print_begun(outcome.number, name)
            else:
                self._ended.add(outcome.number)
                say(f"{name}  {end_in_words(entry, has_failed=outcome.failure is not None)}")
        if self._is_drawn:
            draw_lines(running)

    def _print_begun(self, number: int, name: str) -> None:
        if number not in self._begun and not self._is_drawn:
            say(f"{name}  begun")
        self._begun.add(number)
