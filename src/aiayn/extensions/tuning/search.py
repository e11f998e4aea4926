"""A search by Optuna: its trials are runs of `aiayn train`, in a study that can be resumed.

Optuna gets the results from the records of the runs, so a stopped trial is resumed like any run, and several commands
with the same search share its trials.
"""

import hashlib
import logging
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig, OmegaConf
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from aiayn.config.computed import key_of
from aiayn.config.store import SWEEPS
from aiayn.config.values import check_values
from aiayn.errors import RunFailedError, UserError
from aiayn.extensions.tuning.search_schema import Objective, SweeperConfig
from aiayn.reports.sweep import Best, print_sweep
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import State, SweptJob, read_entry
from aiayn.sweep.jobs import JOBS
from aiayn.sweep.words import folder_words
from aiayn.system import files

logger = logging.getLogger("aiayn")

DIGITS = 4
"""Significant digits of a searched value."""

DIRECTIONS = {Objective.ppl: StudyDirection.MINIMIZE, Objective.bleu: StudyDirection.MAXIMIZE}


def search(composed: DictConfig, arguments: Sequence[str], *, loader: ConfigLoader, launcher: Launcher) -> None:
    """Resume the unfinished trials, and ask for new ones until there are `hydra.sweeper.trials` in all.

    Args:
        composed: the configuration without the keys that are searched, Hydra's node included.
        arguments: overrides of the command line, which win over those of the sweep.
        loader: composes a job.
        launcher: runs it.

    Raises:
        UserError: the search is invalid.
    """
    settings = OmegaConf.to_object(composed.hydra.sweeper)
    assert isinstance(settings, SweeperConfig)
    verb = composed.hydra.job.config_name
    if verb != "train":
        raise UserError(f"aiayn {verb} sweeps=search: only aiayn train searches; leave it out")
    check_values(settings, "hydra.sweeper.")
    words = [*(f"{key}={value}" for key, value in settings.params.items()), *arguments]
    fixed, space = split_words(words, composed)
    lowest = {key: _lowest(distribution) for key, distribution in space.items()}
    job = loader.load_sweep_config(composed, job_words(fixed, lowest))  # a mistake is found before a study is made
    HydraConfig.instance().set_config(job)  # expressions in the run's name refer to it
    # Another space, or another value of a fixed key, is another study: its trials are not comparable.
    digest = hashlib.sha256(f"{job.identity.hash} {sorted(space.items())}".encode()).hexdigest()[:8]
    name = f"{job.identity.experiment}/{job.identity.scale}-seed{job.seed}-{digest} {settings.objective.value}"
    HydraConfig.instance().set_config(composed)
    runs = Path(composed.paths.runs).expanduser()
    runs.mkdir(parents=True, exist_ok=True)
    study = open_study(settings.storage, name, settings.objective)
    found = Search(
        study=study,
        fixed=fixed,
        folder=folder_words(composed.hydra.overrides.hydra),
        space=space,
        objective=settings.objective,
        runs=runs,
        launcher=launcher,
    )
    JOBS.get().show = found.show
    found.run_until(settings.trials, seed=settings.seed)


def split_words(words: Sequence[str], composed: DictConfig) -> tuple[list[str], dict[str, BaseDistribution]]:
    """The overrides of every trial, and the values to choose from by key.

    Ranges, lists and globs are choices without an order; an interval is of whole numbers where the key holds one.

    Args:
        words: overrides, of which the last one of a key counts.
        composed: the configuration without the searched keys.
    """
    overrides = {
        override.get_key_element(): override for override in OverridesParser.create().parse_overrides([*words])
    }
    fixed = [str(override.input_line) for override in overrides.values() if not override.is_sweep_override()]
    space = {
        key: _distribution(override, isinstance(OmegaConf.select(composed, override.key_or_group), int))
        for key, override in overrides.items()
        if override.is_sweep_override()
    }
    if "seed" in space:
        raise UserError(
            "sweeps=search: seed cannot be searched, since chance decides which is best; state one, as in seed=1"
        )
    if not space:
        raise UserError("sweeps=search: nothing to choose; state a key as 'key=interval(0.1, 0.3)' or key=1,2,3")
    return fixed, space


def job_words(fixed: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """The overrides of a trial."""
    return [*fixed, *(f"{key}={_text(value)}" for key, value in values.items())]


def _text(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _distribution(override: Override, is_whole: bool) -> BaseDistribution:
    sweep = override.value()
    if not isinstance(sweep, IntervalSweep):
        return CategoricalDistribution(list(override.sweep_string_iterator()))
    assert sweep.start is not None
    assert sweep.end is not None
    is_log = "log" in sweep.tags
    try:
        if is_whole:
            return IntDistribution(math.ceil(sweep.start), math.floor(sweep.end), log=is_log)
        return FloatDistribution(sweep.start, sweep.end, log=is_log)
    except ValueError as error:
        raise UserError(f"{override.input_line}: {error}") from None


def _lowest(distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[0]
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    return distribution.low


def open_study(storage: str, name: str, objective: Objective) -> Study:
    """Open the study of that name, or make it; UserError if the storage cannot be used."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        if storage.startswith("sqlite") and make_url(storage).database in (None, "", ":memory:"):
            raise UserError(f"hydra.sweeper.storage={storage}: a study in memory cannot be resumed; name a file")
        # Optuna never closes its connections. Without a pool each one is closed after use.
        database = optuna.storages.RDBStorage(storage, engine_kwargs={"poolclass": NullPool})
        return optuna.create_study(
            storage=database, study_name=name, direction=DIRECTIONS[objective], load_if_exists=True
        )
    except (SQLAlchemyError, optuna.exceptions.OptunaError, ImportError) as error:
        raise UserError(f"hydra.sweeper.storage={storage}: {str(error).partition(chr(10))[0]}") from None


@dataclass(frozen=True, kw_only=True)
class Search:
    """A study, and the runs that are its trials."""

    study: Study
    fixed: Sequence[str]
    """The overrides of every trial."""
    folder: Sequence[str]
    """The flag that names the user's own folder of configuration, for commands that are shown."""
    space: Mapping[str, BaseDistribution]
    """The values to choose from, by key."""
    objective: Objective
    runs: Path
    launcher: Launcher

    def run_until(self, trials: int, *, seed: int) -> None:
        """Resume the unfinished trials, then ask for new ones until there are `trials` in all."""
        self.tell_results()
        known = self.study.get_trials()
        done = sum(trial.state.is_finished() for trial in known)
        logger.info("study %s: %d of %d trials done", self.study.study_name, done, trials)
        for trial in known:
            if not trial.state.is_finished():
                self._run(trial.number, trial.params)
        while (number := len(self.study.get_trials())) < trials:
            # One seed for each trial: one for all would draw the first values again whenever the search is resumed.
            drawn = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
            self.study.sampler = optuna.samplers.TPESampler(seed=drawn)
            new = self.study.ask(dict(self.space))
            self._run(new.number, new.params)

    def _run(self, number: int, values: Mapping[str, Any]) -> None:
        for returned in self.launcher.launch([job_words(self.fixed, values)], initial_job_idx=number):
            _ = returned.return_value  # raises the exception of a defect
        job = JOBS.get().outcome_of(number).swept
        assert job is not None
        place = {"run": os.path.relpath(job.directory.path, self.runs), "experiment": job.experiment, "seed": job.seed}
        self.study.set_user_attr(str(number), place)
        self.tell_results()

    def tell_results(self) -> None:
        """Report the results of running trials, from the records, to Optuna."""
        for trial in self.study.get_trials(states=[TrialState.RUNNING]):
            job = self._job(trial)
            if job is None or not files.is_file(job.directory.record):
                continue  # not begun yet, or refused
            entry = read_entry(job.directory)
            if entry.state in (State.finished, State.trial):
                assert entry.record is not None
                dev = entry.record.scores["dev"]
                value = dev.ppl if self.objective is Objective.ppl else dev.quality.score
                self.study.tell(trial.number, value, skip_if_finished=True)
            elif entry.state is State.failed:
                self.study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)

    def show(self) -> None:
        """Print a table of all trials, and the best one with the command that is its run.

        Raises:
            RunFailedError: trials are not done, or none has finished.
        """
        self.tell_results()
        trials = self.study.get_trials()
        has_best = any(trial.state is TrialState.COMPLETE for trial in trials)
        best = self._best(self.study.best_trial) if has_best else None
        print_sweep([job for trial in trials if (job := self._job(trial)) is not None], best=best)
        done = sum(trial.state.is_finished() for trial in trials)
        if done < len(trials):
            raise RunFailedError(f"{done} of {len(trials)} trials are done; rerun the command to resume the others")
        if not has_best:
            raise RunFailedError(f"none of {len(trials)} trials has finished; a larger hydra.sweeper.trials adds some")

    def _best(self, trial: FrozenTrial) -> Best:
        job = self._job(trial)
        assert job is not None
        assert trial.value is not None
        words = [word for word in job.overrides if key_of(word) != SWEEPS]
        command = shlex.join(["aiayn", "train", *self.folder, *words])
        return Best(job.directory.path, self.objective.value, trial.value, command)

    def _job(self, trial: FrozenTrial) -> SweptJob | None:
        """The run of a trial; None where it has not begun."""
        place: dict[str, Any] | None = self.study.user_attrs.get(str(trial.number))
        if place is None:
            return None
        directory = RunDirectory(self.runs / place["run"])
        return SweptJob(place["experiment"], place["seed"], tuple(job_words(self.fixed, trial.params)), directory)
