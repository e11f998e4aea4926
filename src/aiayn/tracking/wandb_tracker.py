"""Weights & Biases: online where it can be, offline where it cannot, and never in the way of training."""

import inspect
import logging
import math
import os
import re
import shlex
import shutil
import textwrap
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, final

import wandb
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger, WandbLogger
from wandb.errors import UsageError
from wandb.sdk.lib import module
from wandb.sdk.mailbox import HandleAbandonedError, MailboxClosedError
from wandb.sdk.mailbox.mailbox_handle import ServerResponseError

from aiayn.config.instantiation import locate, make
from aiayn.errors import UserError
from aiayn.tracking.loggers import BestCheckpoint, RunDescription
from aiayn.tracking.wandb_attempts import PROGRAM, mark_if_sent
from aiayn.tracking.wandb_session import has_credentials, host, session

logger = logging.getLogger("aiayn")

FAILURES = (wandb.Error, OSError, HandleAbandonedError, MailboxClosedError, ServerResponseError)
"""What W&B raises where its server, its network or its own process fails it."""

OURS = ("mode", "init_timeout", "finish_timeout", "samples")
"""Keys of `logger` that this module reads itself."""

ENVIRONMENT = {
    "name": "WANDB_NAME",
    "group": "WANDB_RUN_GROUP",
    "job_type": "WANDB_JOB_TYPE",
    "tags": "WANDB_TAGS",
    "notes": "WANDB_NOTES",
}
"""The variables that override what is derived from the run; of a sweep's runs the name is added to what they say."""

VALIDATED, BEST = "val/ppl", "val/ppl_min"
"""What is logged at every validation, and the key of the summary that has its lowest value."""

LOGS = {"console": "off", "capture_loggers": {"root": "INFO"}}
"""Settings by which W&B gets what is logged, with its level; it takes every line of standard error for an error."""

NOT_LOGGED_IN = "not logged in"


def check_wandb(settings: Mapping[str, Any]) -> None:
    """Refuse, before a run begins, what W&B would refuse in it.

    Raises:
        UserError: an argument that nobody takes, or a setting out of range here or in W&B's environment.
    """
    takers = (locate(settings, key="logger"), wandb.init)
    known = {"_target_", *OURS, *(name for taker in takers for name in inspect.signature(taker).parameters)}
    for name in settings:
        if name not in known:
            raise UserError(f"logger.{name}: neither {settings['_target_']} nor wandb.init takes such an argument")
    try:
        session()
        wandb.Settings(**(settings.get("settings") or {}))
    except ValueError as error:
        reason = " ".join(str(error).split()).partition(" [type=")[0]
        raise UserError(f"logger: W&B refuses logger.settings, a WANDB_* variable or its own file: {reason}") from None


def open_wandb(
    settings: Mapping[str, Any], description: RunDescription, folder: Path, *, best: float = math.inf
) -> "WandbTracker | None":
    """Start a W&B run, or take it up again; None where W&B is disabled or cannot even be offline.

    Args:
        settings: the `logger` group: `_target_`, the keys of `OURS`, and arguments of WandbLogger and wandb.init.
        description: what to call the run.
        folder: the run directory; W&B's files go to `wandb` in it.
        best: the lowest `val/ppl` of earlier attempts.

    Raises:
        UserError: W&B refuses an argument, such as the name of the project.
    """
    mode, why_offline = _choose_mode(settings["mode"])
    if mode == "disabled":
        return None
    arguments = _arguments(settings, description, folder)
    opened = partial(
        WandbTracker, with_model=settings.get("log_model") is True, patience=float(settings["init_timeout"]), best=best
    )
    if mode != "offline":
        try:
            online = opened(_start(arguments, mode, folder / "wandb"))
        except FAILURES as error:
            why_offline = f"{host()} cannot be used ({_reason(error)})"
        else:
            logger.info("W&B: %s", online.experiment.url)
            return online
    try:
        offline = opened(_start(arguments, "offline", folder / "wandb"))
    except UsageError as error:
        raise UserError(f"logger: {_reason(error)}") from error
    except FAILURES as error:
        logger.warning("W&B: %s; the run does without it", _reason(error))
        return None
    if why_offline is not None:
        level = logging.INFO if why_offline == NOT_LOGGED_IN else logging.WARNING
        logger.log(level, "W&B: %s, so offline; later: %s", why_offline, offline.uploading)
    return offline


@final
class WandbTracker(Logger):
    """A W&B run. Where W&B fails, that is said once, what it kept can be uploaded later, and training goes on.

    Args:
        started: Lightning's own, its run started.
        with_model: whether the best checkpoint is uploaded at the end.
        patience: seconds that the server has to answer before it gets an artifact.
        best: the lowest `val/ppl` so far.
    """

    def __init__(self, started: WandbLogger, *, with_model: bool, patience: float, best: float = math.inf) -> None:
        super().__init__()
        self._logger = started
        self._with_model = with_model
        self._patience = patience
        self._best = best
        self._is_lost = False

    @property
    def uploading(self) -> str:
        """The command that sends what W&B has not sent."""
        directory = Path(self._logger.experiment.dir).parents[2]  # above wandb/<attempt>/files
        return f"aiayn sync run={shlex.quote(str(directory))}"

    @property
    def experiment(self) -> Any:
        """W&B's own run, for callbacks that log more than numbers."""
        return self._logger.experiment

    @property
    def name(self) -> str | None:
        """The project."""
        return self._logger.name

    @property
    def version(self) -> str | None:
        """The run's id."""
        return self._logger.version

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers at an optimizer step; the summary has the last of each, and the lowest `val/ppl` besides."""
        self._attempt(lambda: self._logger.log_metrics(metrics, step))
        if metrics.get(VALIDATED, math.nan) < self._best:
            self._best = metrics[VALIDATED]
            self.summarize({BEST: self._best})

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *arguments: Any, **keywords: Any) -> None:
        """Add to the configuration."""
        self._attempt(lambda: self._logger.log_hyperparams(params))

    def after_save_checkpoint(self, checkpoint_callback: ModelCheckpoint) -> None:
        """Upload the checkpoint, where `logger.log_model=all` asks for every one."""
        self._attempt(lambda: self._logger.after_save_checkpoint(checkpoint_callback))

    def finalize(self, status: str) -> None:
        """Upload the checkpoints that wait for the end of training."""
        self._attempt(lambda: self._logger.finalize(status))

    def summarize(self, summary: Mapping[str, float | int | None]) -> None:
        """Set the numbers that stand for the run as a whole."""
        self._attempt(lambda: self._logger.experiment.summary.update(dict(summary)))

    def show_table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, step: int) -> None:
        """Show a table of text and numbers, made at an optimizer step."""
        self._attempt_addition(
            f"the table {name}",
            lambda: self._logger.log_table(name, list(columns), [list(row) for row in rows], step=step),
        )

    def upload(self, best: BestCheckpoint) -> None:
        """Upload the best checkpoint as a version of the run's model, where `logger.log_model=true` asks for it."""
        if self._with_model:
            self._attempt_addition(best.path.name, lambda: self._upload(best))

    def _upload(self, best: BestCheckpoint) -> None:
        run = self._logger.experiment
        name = re.sub(r"[^\w.-]+", "-", f"{run.name} {run.id}")
        artifact = wandb.Artifact(name, type="model", metadata={"step": best.step, "val/ppl": best.ppl})
        artifact.add_file(str(best.path), policy="immutable")  # nobody changes it: W&B need not copy it first
        run.log_artifact(artifact, aliases=["best", f"step-{best.step}"])

    def finish(self, exit_code: int) -> None:
        """End the run and W&B's process; what cannot be sent within `logger.finish_timeout` stays on disk."""
        run = self._logger.experiment
        self._attempt(lambda: run.finish(exit_code=exit_code))
        _end_process()
        if not run.offline and not self._is_lost:
            mark_if_sent(Path(run.dir).parent)

    def _attempt_addition(self, what: str, act: Callable[[], object]) -> None:
        """The same for an artifact: W&B asks its server before it takes one, and the rest is still worth sending."""
        wandb.Api._HTTP_TIMEOUT = math.ceil(self._patience)  # noqa: SLF001  # 19 seconds otherwise

        def unless_refused() -> None:
            try:
                act()
            except (ValueError, wandb.Error, OSError) as error:  # of W&B's own checks, and of its question
                logger.warning("W&B: %s is not sent: %s", what, _reason(error))

        self._attempt(unless_refused)

    def _attempt(self, act: Callable[[], object]) -> None:
        """Do what may fail, unless it has failed before."""
        if self._is_lost:
            return
        try:
            act()
        except FAILURES as error:
            self._is_lost = True
            logger.warning("W&B: %s; the run does without it; later: %s", _reason(error), self.uploading)


def _start(arguments: Mapping[str, Any], mode: str, folder: Path) -> WandbLogger:
    """Start the run in one mode; where that fails, leave nothing behind.

    Args:
        arguments: of WandbLogger, but for the mode.
        mode: online, offline or shared.
        folder: where W&B makes its folder for this attempt.
    """
    before = set(folder.glob("*run-*"))
    made = make({**arguments, "mode": mode}, key="logger")
    assert isinstance(made, WandbLogger)
    try:
        _ = made.experiment  # which starts it
    except FAILURES:
        _end_process()
        os.environ.pop("WANDB_SERVICE", None)  # a process shared with an agent would still hold the run's id
        for left_over in set(folder.glob("*run-*")) - before:
            if not left_over.is_symlink():
                shutil.rmtree(left_over, ignore_errors=True)
        raise
    return made


def _choose_mode(stated: str) -> tuple[str, str | None]:
    """The mode that was asked for, here or else of W&B itself; and, where that cannot be, why it is offline.

    Args:
        stated: `logger.mode`.
    """
    client = session()
    is_stated = stated != "auto"
    mode = stated if is_stated else {"dryrun": "offline", "run": "online"}.get(client.mode, str(client.mode))
    if mode in ("offline", "disabled") or has_credentials(client):
        return mode, None
    was_asked_for = is_stated or "WANDB_MODE" in os.environ
    return "offline", f"{NOT_LOGGED_IN} (wandb login, or WANDB_API_KEY)" if was_asked_for else NOT_LOGGED_IN


def _arguments(settings: Mapping[str, Any], description: RunDescription, folder: Path) -> dict[str, Any]:
    """The arguments of WandbLogger, but for the mode."""
    stated, own = os.environ.get(ENVIRONMENT["name"]), settings.get("settings") or {}
    derived = {
        "name": f"{stated} {description.name}" if stated else description.name,
        "group": description.group,
        "job_type": description.job_type,
        "tags": list(description.tags),
        "notes": description.notes,
    }
    git = {} if description.checkout is None else {"git_root": str(description.checkout)}
    has_console = "console" in own or "WANDB_CONSOLE" in os.environ
    return {
        **{
            key: value
            for key, value in derived.items()
            if not os.environ.get(ENVIRONMENT[key]) or (key == "name" and description.is_swept)
        },
        **{key: value for key, value in settings.items() if key not in OURS},
        "log_model": "all" if settings.get("log_model") == "all" else False,
        "id": description.run_id,
        "resume": "allow",
        "config": dict(description.config),
        "save_dir": str(folder),
        "settings": {
            "init_timeout": settings["init_timeout"],
            "finish_timeout": settings["finish_timeout"],
            "finish_timeout_raises": True,
            "program": PROGRAM,
            **({} if has_console else LOGS),
            **git,
            **own,
        },
    }


def _end_process() -> None:
    """End the process that W&B has started here."""
    with suppress(*FAILURES):
        wandb.teardown()
    module.unset_globals()  # type: ignore[no-untyped-call]  # else a run that broke off would be taken for one that goes on


def _reason(error: BaseException) -> str:
    """One short line."""
    return textwrap.shorten(str(error) or type(error).__name__, 200).rstrip(".")
