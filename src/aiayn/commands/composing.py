"""The words of a command line composed and judged in this process, for a single job and for `aiayn.api`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import configure_log, run_job
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf

from aiayn.commands.mistakes import explain
from aiayn.commands.words import Words, parse_words
from aiayn.config import secrets
from aiayn.config.absolute import check_literal
from aiayn.config.compose import compose_with_hydra, register, without_hydra
from aiayn.config.computed import check_computed_keys
from aiayn.config.store import conf_directory
from aiayn.config.texts import check_swept_texts
from aiayn.errors import UserError
from aiayn.sweep.jobs import Task, judged
from aiayn.sweep.launchers import remove_empty
from aiayn.sweep.words import first_value
from aiayn.system.output_format import Format

T = TypeVar("T")

ONE_DOCUMENT = ("train", "plan")
"""The verbs whose multiruns end with one table."""


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


def check_words(verb: str, words: Words) -> DictConfig | None:
    """Refuse a configuration before Hydra makes folders or shows it.

    Returns:
        The configuration of a single job; None for a multirun, and for words that are only shown.
    """
    composed = _composed(verb, words)
    is_multirun = words.multirun or composed.hydra.mode is RunMode.MULTIRUN
    if is_multirun and words.format is Format.json and verb not in ONE_DOCUMENT:
        raise UserError(f"format=json: the jobs of aiayn {verb} -m would print a document each; run them one by one")
    if words.cfg:
        _judged(verb, words, composed)
    elif is_multirun and not words.is_only_shown:
        _answered(verb, words.overrides, composed, _make_sweeper)
    return None if is_multirun or words.is_only_shown else composed


def run_single(verb: str, overrides: Sequence[str], composed: DictConfig, task: Task) -> None:
    """Run a single job that has been composed: as `hydra.main` does, which would compose it twice more.

    Raises:
        UserError: the job cannot be set up, or its configuration be judged.
    """

    def attempt(others: Sequence[str]) -> None:
        found, _ = _composed_first(verb, others)
        try:
            _run_with_hydra(verb, found, lambda _: None)
        finally:
            _remove_folder(found)
        judged(verb, without_hydra(found))

    try:
        _run_with_hydra(verb, composed, task)
        if task.failure is not None and not task.is_running:
            raise task.failure
    except Exception as error:
        _remove_folder(composed)
        raise UserError(explain(error, verb, overrides, attempt)) from error


def _remove_folder(composed: DictConfig) -> None:
    """Remove the folder that Hydra may have made for a job."""
    if not OmegaConf.is_missing(composed.hydra.runtime, "output_dir"):
        remove_empty(Path(composed.hydra.runtime.output_dir))


def _run_with_hydra(verb: str, composed: DictConfig, task: Callable[[DictConfig], None]) -> None:
    composed.hydra.mode = RunMode.RUN
    # Hydra states the run's folder as a value.
    check_literal("paths.runs", Path(str(OmegaConf.select(composed, "paths.runs", default="."))).absolute())
    with initialize_config_dir(str(conf_directory()), version_base="1.3"):
        configure_log(composed.hydra.hydra_logging, composed.hydra.verbose)
        callbacks = Callbacks(composed)
        callbacks.on_run_start(config=composed, config_name=verb)
        context = HydraContext(config_loader=GlobalHydra.instance().config_loader(), callbacks=callbacks)
        returned = run_job(
            hydra_context=context,
            task_function=task,
            config=composed,
            job_dir_key="hydra.run.dir",
            job_subdir_key=None,
        )
        callbacks.on_run_end(config=composed, config_name=verb, job_return=returned)


def _make_sweeper(composed: DictConfig) -> None:
    """Make Hydra's sweeper and launcher, as for a multirun."""
    with initialize_config_dir(str(conf_directory()), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        context = HydraContext(config_loader=loader, callbacks=Callbacks(composed))
        Plugins.instance().instantiate_sweeper(config=composed, hydra_context=context, task_function=lambda _: None)


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
    composed, swept = compose_first(verb, words.overrides)
    secrets.check_composed(composed)
    _answered(verb, words.overrides, composed, lambda found: check_computed_keys(found, verb, words.overrides))
    check_swept_texts(verb, composed.hydra.sweeper.get("params") or {})
    if swept and not words.multirun and composed.hydra.mode is not RunMode.MULTIRUN:
        remedy = "as one value write it in brackets or quotes"
        raise UserError(f"{swept[0]}: several values need -m, or aiayn.train_sweep in Python; {remedy}")
    return composed


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
