"""A search by Optuna: its trials are runs of `aiayn train`, in a study that goes on where it was left.

The study holds which values were asked for; what came of them stands in the records of the runs and is told to Optuna
from there. So a trial that was stopped is taken up as any run is, and those who start the same search share its trials.
"""

import hashlib
import logging
import math
import os
import shlex
from collections.abc import Mapping, Sequence
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

from aiayn.config.schema import Objective
from aiayn.config.store import SWEEPS
from aiayn.errors import RunFailedError, UserError
from aiayn.reports.sweep import print_best, print_sweep
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import Entry, State, SweptJob, read_entry
from aiayn.sweep.jobs import JOBS

logger = logging.getLogger("aiayn")

DIGITS = 4
"""Significant ones of a value that is searched: what is run is what can be read and typed."""

DIRECTIONS = {Objective.ppl: StudyDirection.MINIMIZE, Objective.bleu: StudyDirection.MAXIMIZE}

Space = Mapping[str, BaseDistribution]


def search(
    composed: DictConfig,
    words: Sequence[str],
    *,
    loader: ConfigLoader,
    launcher: Launcher,
    objective: Objective,
    trials: int,
    seed: int,
    storage: str,
) -> None:
    """Take up the trials that are not done, and ask for new ones until there are so many in all.

    Args:
        composed: the configuration without what is searched, Hydra's node included.
        words: overrides of the sweep and then of the command line; of two of one key the later one counts.
        loader: composes a job.
        launcher: runs it.
        objective: what is sought, on the development set.
        trials: of the study in all, those of earlier commands included.
        seed: what the choice of values derives from.
        storage: of the study, as Optuna names it.

    Raises:
        UserError: a setting is not allowed, or the storage cannot be used.
    """
    if composed.hydra.job.config_name != "train":
        raise UserError(
            f"aiayn {composed.hydra.job.config_name} sweeps=search: only aiayn train searches; leave it out"
        )
    if trials < 1:
        raise UserError(f"hydra.sweeper.trials={trials}: must be at least 1")
    if seed < 0:
        raise UserError(f"hydra.sweeper.seed={seed}: must not be negative")
    fixed, space = split_words(words, composed)
    some = {key: _lowest(distribution) for key, distribution in space.items()}
    # A mistake is found before anything is kept.
    lowest = loader.load_sweep_config(composed, job_words(fixed, some))
    HydraConfig.instance().set_config(lowest)  # which expressions in the run's name refer to
    # Another space, or another value of what is fixed, is another study: its trials are not comparable.
    digest = hashlib.sha256(f"{lowest.identity.hash} {sorted(space.items())}".encode()).hexdigest()[:8]
    name = f"{lowest.identity.experiment}/{lowest.identity.scale}-seed{lowest.seed}-{digest} {objective.value}"
    HydraConfig.instance().set_config(composed)
    runs = Path(composed.paths.runs).expanduser()
    runs.mkdir(parents=True, exist_ok=True)
    study = open_study(storage, name, objective)
    found = Search(study, fixed=fixed, space=space, objective=objective, runs=runs, launcher=launcher)
    JOBS.get().show = found.show
    found.go_on(trials, seed=seed)


def split_words(words: Sequence[str], composed: DictConfig) -> tuple[list[str], dict[str, BaseDistribution]]:
    """What every trial has, as typed, and the values to choose from by key.

    Ranges, lists and globs are choices without an order; an interval is of whole numbers where the key holds one.

    Args:
        words: overrides, of which the last one of a key counts.
        composed: the configuration without what is searched.

    Raises:
        UserError: nothing is left to choose, or an interval has no values.
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
        raise UserError("sweeps=search: a search would choose the luckiest seed; state one, as in seed=1")
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
    """The study of a name, made where there is none.

    Raises:
        UserError: the storage cannot be used.
    """
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


class Search:
    """A study, and the runs that are its trials."""

    def __init__(
        self,
        study: Study,
        *,
        fixed: Sequence[str],
        space: Space,
        objective: Objective,
        runs: Path,
        launcher: Launcher,
    ) -> None:
        """Take what belongs together.

        Args:
            study: which values were asked for, and what is known of them.
            fixed: the overrides of every trial.
            space: the values to choose from.
            objective: what is sought.
            runs: the folder of all runs.
            launcher: runs a job.
        """
        self._study = study
        self._fixed = fixed
        self._space = dict(space)
        self._objective = objective
        self._runs = runs
        self._launcher = launcher

    def go_on(self, trials: int, *, seed: int) -> None:
        """Take up the trials that are not done, then ask for new ones until there are so many in all."""
        self.settle()
        known = self._study.get_trials()
        done = sum(trial.state.is_finished() for trial in known)
        logger.info("study %s: %d of %d trials done", self._study.study_name, done, trials)
        for trial in known:
            if not trial.state.is_finished():
                self._run(trial.number, trial.params)
        while (number := len(self._study.get_trials())) < trials:
            # One seed for each trial: one for all would draw the first values again whenever the search goes on.
            drawn = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
            self._study.sampler = optuna.samplers.TPESampler(seed=drawn)
            new = self._study.ask(self._space)
            self._run(new.number, new.params)

    def _run(self, number: int, values: Mapping[str, Any]) -> None:
        (job,) = self._launcher.launch([job_words(self._fixed, values)], initial_job_idx=number)
        _ = job.return_value  # raises what is nobody's fault but ours
        assert job.hydra_cfg is not None
        assert job.cfg is not None
        hydra = job.hydra_cfg.hydra
        place = {
            "run": os.path.relpath(hydra.runtime.output_dir, self._runs),
            "experiment": hydra.runtime.choices.experiment,
            "seed": job.cfg.seed,
        }
        self._study.set_user_attr(str(number), place)
        self.settle()

    def settle(self) -> None:
        """Tell Optuna what the records say of the trials that it has heard nothing of."""
        for trial in self._study.get_trials(states=[TrialState.RUNNING]):
            job = self._job(trial)
            if job is None or not job.directory.record.is_file():
                continue  # not begun yet, or refused
            entry = read_entry(job.directory)
            if entry.state in (State.finished, State.trial):
                self._study.tell(trial.number, self._value(entry), skip_if_finished=True)
            elif entry.state is State.failed:
                self._study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)

    def _value(self, entry: Entry) -> float:
        assert entry.record is not None
        dev = entry.record.scores["dev"]
        return dev.ppl if self._objective is Objective.ppl else dev.quality.score

    def show(self) -> None:
        """Print a table of all trials, and the best one with the command that is its run.

        Raises:
            RunFailedError: trials are not done, or none has finished.
        """
        self.settle()
        trials = self._study.get_trials()
        print_sweep([job for trial in trials if (job := self._job(trial)) is not None])
        has_best = any(trial.state is TrialState.COMPLETE for trial in trials)
        if has_best:
            self._show_best(self._study.best_trial)
        left = sum(not trial.state.is_finished() for trial in trials)
        if left:
            count = "1 trial is" if left == 1 else f"{left} trials are"
            raise RunFailedError(f"{count} not done of {len(trials)}; the same command takes them up again")
        if not has_best:
            raise RunFailedError(
                f"none of {len(trials)} trials has finished; more hydra.sweeper.trials try other values"
            )

    def _show_best(self, trial: FrozenTrial) -> None:
        job = self._job(trial)
        assert job is not None
        assert trial.value is not None
        words = [word for word in job.overrides if word.partition("=")[0].lstrip("+") != SWEEPS]
        score = f"{self._objective.value.upper()} {trial.value:.2f} (dev)"
        print_best(job, score, command=shlex.join(["aiayn", "train", *words]))

    def _words(self, trial: FrozenTrial) -> list[str]:
        return job_words(self._fixed, trial.params)

    def _job(self, trial: FrozenTrial) -> SweptJob | None:
        """The run that a trial is; None where nobody has begun it."""
        place: dict[str, Any] | None = self._study.user_attrs.get(str(trial.number))
        if place is None:
            return None
        directory = RunDirectory(self._runs / place["run"])
        return SweptJob(place["experiment"], place["seed"], tuple(self._words(trial)), directory)
