"""The words of a command line composed and judged in this process, for a single job and for `aiayn.api`."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus, configure_log, env_override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, read_write

from aiayn.commands.mistakes import explain
from aiayn.commands.words import Words, parse_words
from aiayn.config import secrets, store
from aiayn.config.absolute import check_literal
from aiayn.config.compose import compose_with_hydra, register, without_hydra
from aiayn.config.computed import check_computed_keys
from aiayn.config.hydra_versions import allowed, context_of, initialized
from aiayn.config.texts import check_swept_texts
from aiayn.errors import UserError
from aiayn.registry import added_commands
from aiayn.sweep.callbacks import UserCallbacks
from aiayn.sweep.jobs import judged, module_of
from aiayn.sweep.launchers import BASIC, check_no_group, launcher_of, remove_empty
from aiayn.sweep.words import first_value, further_folders
from aiayn.system.output_format import Format
from aiayn.system.plugins import failures_named

T = TypeVar("T")


def _has_one_document(verb: str) -> bool:
    """Whether a multirun of the verb ends with one table."""
    added = added_commands().get(verb)
    return verb == "train" or (added is not None and bool(added.finish))


def compose_first(verb: str, overrides: Sequence[str]) -> tuple[DictConfig, list[str]]:
    """The configuration with the first value of each swept key, Hydra's node included; and the overrides that sweep."""
    try:
        return _composed_first(verb, overrides)
    except Exception as error:
        raise UserError(explain(error, verb, overrides, partial(_composed_first, verb))) from error


def _composed_first(verb: str, overrides: Sequence[str]) -> tuple[DictConfig, list[str]]:
    parsed = OverridesParser.create().parse_overrides([*overrides])
    swept = {str(each.input_line): first_value(each) for each in parsed if each.is_sweep_override()}
    words = [swept.get(word, word) for word in overrides]
    return compose_with_hydra(verb, [word for word in words if word is not None]), [*swept]


def check_words(verb: str, words: Words) -> DictConfig:
    """Return the configuration with the first value of each swept key, refused before Hydra makes folders or shows it.

    `words.multirun` is set where a file makes the command a multirun.
    """
    composed = _composed(verb, words)
    is_multirun = words.multirun or composed.hydra.mode is RunMode.MULTIRUN
    if is_multirun and words.format is Format.json and not _has_one_document(verb):
        raise UserError(f"format=json: the jobs of aiayn {verb} -m would print a document each; run them one by one")
    if words.cfg:
        _judged(verb, words, composed)
    if words.is_only_shown:
        return composed
    words.multirun = is_multirun
    if is_multirun:
        check_no_group()
        _answered(verb, words.overrides, composed, _make_sweeper)
    elif launcher_of(composed.hydra) != BASIC:
        name = composed.hydra.runtime.choices.get("hydra/launcher")
        raise UserError(f"hydra/launcher={name}: launchers run the jobs of a multirun; add -m, for one job too")
    return composed


def run_single(verb: str, overrides: Sequence[str], composed: DictConfig) -> Any:
    """Run a single job that has been composed, and return the value of its command.

    Raises:
        UserError: the job cannot be set up, or its configuration be judged.
    """

    def attempt(others: Sequence[str]) -> None:
        with _set_up(verb, _composed_first(verb, others)[0]):
            pass

    with ExitStack() as stack:
        try:
            config = stack.enter_context(_set_up(verb, composed))
        except Exception as error:
            raise UserError(explain(error, verb, overrides, attempt)) from error
        folder = Path(HydraConfig.get().runtime.output_dir)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with failures_named():
                return module_of(verb).main(config)
        except (UserError, KeyboardInterrupt):
            remove_empty(folder)
            raise


@contextmanager
def _set_up(verb: str, composed: DictConfig) -> Iterator[Any]:
    """A job's logging, environment variables and callbacks, as Hydra sets them; and its configuration, judged."""
    # Hydra states the run's folder as a value.
    check_literal("paths.runs", Path(str(OmegaConf.select(composed, "paths.runs", default="."))).absolute())
    composed.hydra.mode = RunMode.RUN
    callbacks = UserCallbacks(composed)
    job = JobReturn(overrides=[*composed.hydra.overrides.task], task_name=verb, working_dir=str(Path.cwd()))
    outside = HydraConfig.instance().cfg
    try:
        HydraConfig.instance().set_config(composed)  # the run's name refers to it
        with read_write(composed.hydra.runtime):
            composed.hydra.runtime.output_dir = str(Path(composed.hydra.run.dir).absolute())
        job.cfg = without_hydra(copy.deepcopy(composed))
        job.hydra_cfg = composed
        with allowed(composed):
            for logging_of in (composed.hydra.hydra_logging, composed.hydra.job_logging):
                configure_log(logging_of, composed.hydra.verbose)
        with env_override(composed.hydra.job.env_set):
            config = judged(verb, job.cfg)
            callbacks.on_run_start(composed, config_name=verb)
            callbacks.on_job_start(composed, task_function=module_of(verb).main)
            try:
                yield config
                job.status = JobStatus.COMPLETED
            except BaseException as error:
                job.status, job.return_value = JobStatus.FAILED, error
                raise
            finally:
                callbacks.on_job_end(composed, job)
                callbacks.on_run_end(composed, config_name=verb, job_return=job)
    finally:
        HydraConfig.instance().cfg = outside


def _make_sweeper(composed: DictConfig) -> None:
    """Make Hydra's sweeper and launcher, and the callbacks, as for a multirun."""
    UserCallbacks(composed)
    with initialized():
        Plugins.instance().instantiate_sweeper(
            config=composed, hydra_context=context_of(composed), task_function=lambda _: None
        )


def typed_configuration(verb: str, overrides: Sequence[str], *, config_dir: Path | None = None) -> Any:
    """The configuration of one job as its dataclass, refused where the command would refuse it.

    It is composed with this process's environment. Hydra's state, which the caller may use too, is restored.

    Raises:
        UserError: the line that the command would print.
    """
    if flags := [word for word in overrides if word.startswith("-")]:
        raise UserError(f"{flags[0]}: flags are for the command line; state overrides, as in key=value")
    register()
    words = parse_words(verb, [*overrides, *folder_flags(config_dir)], ())
    with _hydra_restored():
        try:
            composed = _composed(verb, words)
            if composed.hydra.mode is RunMode.MULTIRUN:
                sweep = composed.hydra.runtime.choices.sweeps
                raise UserError(f"sweeps={sweep}: has many runs, not one: aiayn.train_sweep takes it")
            return _judged(verb, words, composed)
        except UserError as error:
            raise error from None  # a notebook would show Hydra's errors, too


def folder_flags(config_dir: Path | None) -> list[str]:
    """The flag that names a folder of configuration; none for None."""
    return [] if config_dir is None else ["--config-dir", str(config_dir)]


def _composed(verb: str, words: Words) -> DictConfig:
    secrets.check_words(words.overrides)
    _check_options(verb, words.overrides)
    composed, swept = compose_first(verb, words.overrides)
    secrets.check_composed(composed)
    _answered(verb, words.overrides, composed, lambda found: check_computed_keys(found, verb, words.overrides))
    check_swept_texts(verb, composed.hydra.sweeper.get("params") or {})
    if swept and not words.multirun and composed.hydra.mode is not RunMode.MULTIRUN:
        remedy = "as one value write it in brackets or quotes"
        raise UserError(f"{swept[0]}: several values need -m, or aiayn.train_sweep in Python; {remedy}")
    return composed


def _check_options(verb: str, overrides: Sequence[str]) -> None:
    """Refuse an experiment or a scale that is none, and values for an experiment that does not have them.

    Hydra names an expression that refers to the one, and takes the other for no values.
    """
    for word in overrides:
        key, _, value = word.partition("=")
        if key.lstrip("~") in ("experiment", "scale") and (key.startswith("~") or value.startswith(("null", "["))):
            raise UserError(f"{word}: state one {key.lstrip('~')}; aiayn {verb} --help lists them")
        known = store.options(key, folders=further_folders(overrides)) if key == "fidelity_for" else [value]
        if value not in known and "," not in value:
            raise UserError(f"{word}: no such option; choose from {', '.join(known)}")


def _judged(verb: str, words: Words, composed: DictConfig) -> Any:
    return _answered(verb, words.overrides, composed, lambda found: judged(verb, without_hydra(found)))


def _answered(verb: str, overrides: Sequence[str], composed: DictConfig, judge: Callable[[DictConfig], T]) -> T:
    """The result of `judge(composed)`, or a UserError for whatever it raises; the overrides are those composed."""
    try:
        return judge(composed)
    except Exception as error:
        attempt = lambda others: judge(_composed_first(verb, others)[0])  # noqa: E731
        raise UserError(explain(error, verb, overrides, attempt)) from error


@contextmanager
def _hydra_restored() -> Iterator[None]:
    hydra, config = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
    try:
        yield
    finally:
        GlobalHydra.instance().hydra, HydraConfig.instance().cfg = hydra, config
