"""A line for each job of a sweep, on standard error.

On a terminal it replaces the job's own progress and is redrawn until the job ends. Elsewhere a job has a line when it
begins and one when it ends.
"""

import math
import os
from functools import cached_property
from threading import Event, Thread
from typing import TYPE_CHECKING, final

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from aiayn.registry import added_sweepers, named
from aiayn.runs.ledger import SweptJob, read_entry
from aiayn.sweep.launchers import BASIC, BASIC_SWEEPER, launcher_of, sweeper_of
from aiayn.sweep.outcomes import OutcomeFolder
from aiayn.system import files
from aiayn.system.progress import VARIABLE, Shown, draw_lines, has_bars, say

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader

LOOK_SECONDS = 1.0
"""Between two reads of the jobs' outcomes, records and metrics."""


@final
class SweepLines:
    """Shows the jobs of a sweep until it is stopped.

    Args:
        config: the composed configuration of the multirun itself.
        loader: finds the options that a glob in it matches.
        folder: of the jobs' outcomes.
    """

    def __init__(self, config: DictConfig, loader: "ConfigLoader", folder: OutcomeFolder) -> None:
        self._hydra = config.hydra
        self._loader = loader
        self._folder = folder
        self._begun: set[int] = set()
        self._ended: set[int] = set()
        self._is_drawn = has_bars()
        self._before = os.environ.get(VARIABLE)
        if self._is_drawn:
            os.environ[VARIABLE] = Shown.lines  # for the processes of the jobs
        elif launcher_of(config.hydra) != BASIC:  # several jobs may run at once
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

    @cached_property
    def _size(self) -> int:
        """Number of jobs: combinations of values, or trials; read once one has begun, and the words are sound."""
        sweeper = self._hydra.sweeper
        count = next((each.jobs for each in added_sweepers().values() if each.plugin == sweeper_of(self._hydra)), "")
        if count:
            return int(named(count)(sweeper))
        if sweeper_of(self._hydra) != BASIC_SWEEPER:
            return int(sweeper.trials)
        params = sweeper.get("params") or {}
        words = [*(f"{key}={value}" for key, value in params.items()), *self._hydra.overrides.task]
        parsed = OverridesParser.create(self._loader).parse_overrides(words)
        last = {override.get_key_element(): override for override in parsed}
        return math.prod(len([*each.sweep_string_iterator()]) for each in last.values() if each.is_sweep_override())

    def _name(self, number: int, job: SweptJob) -> str:
        """Number, row, swept values and seed of a job."""
        words = [job.experiment, *job.swept, f"seed {job.seed}"]
        return f"{number + 1:>{len(str(self._size))}}/{self._size} {' '.join(words):<24}"

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            self._look()

    def _look(self, *, is_last: bool = False) -> None:
        """Print the jobs that have ended, and draw the progress of the others."""
        from aiayn.reports.sweep import end_in_words, progress_in_words

        running: list[str] = []
        for outcome in self._folder.read():
            if outcome.swept is None or outcome.number in self._ended:
                continue
            directory, name = outcome.swept.directory, self._name(outcome.number, outcome.swept)
            entry = read_entry(directory) if files.is_file(directory.record) else None
            if outcome.held is not None:
                running.append(f"{name}  waiting for {outcome.held}")
            elif not (outcome.has_ended or is_last):
                running.append(f"{name}  {progress_in_words(entry)}")
                self._print_begun(outcome.number, name)
            else:
                self._print_begun(outcome.number, name)  # it may have begun and ended since the last poll
                self._ended.add(outcome.number)
                say(f"{name}  {end_in_words(entry, has_failed=outcome.failure is not None)}")
        if self._is_drawn:
            draw_lines(running)

    def _print_begun(self, number: int, name: str) -> None:
        """In a file, print once that a job has begun."""
        if number not in self._begun and not self._is_drawn:
            say(f"{name}  begun")
        self._begun.add(number)
