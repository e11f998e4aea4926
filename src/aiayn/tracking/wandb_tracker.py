"""Weights & Biases: online if possible, else offline. Its failures never stop training.

Rank 0 has the tracker. `WandbTracker` wraps Lightning's logger: the first error ends tracking, not training. Everything
is written to wandb/ first, and an attempt that the server has whole is marked as such. `aiayn sync` holds the run
directory and sends the other attempts in order. All attempts have the W&B id in the record, `run_id`; below `wandb
agent` the record takes the agent's id.
"""

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
from pydantic import ValidationError
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger, WandbLogger

from aiayn.config.instantiation import instantiate, locate
from aiayn.errors import UserError
from aiayn.tracking.tracker import RunDescription
from aiayn.tracking.wandb_attempts import PROGRAM, mark_if_sent
from aiayn.tracking.wandb_internals import SERVICE, client_settings, limit_requests
from aiayn.tracking.wandb_session import has_credentials, host

logger = logging.getLogger("aiayn")

OWN_KEYS = ("mode", "init_timeout", "finish_timeout", "samples")
"""Keys of `logger` that are not passed to W&B."""

VARIABLES = {
    "name": "WANDB_NAME",
    "group": "WANDB_RUN_GROUP",
    "job_type": "WANDB_JOB_TYPE",
    "tags": "WANDB_TAGS",
    "notes": "WANDB_NOTES",
}
"""Variables that override the run's description; WANDB_NAME is a prefix of the names of a sweep's runs."""

CONSOLE = {"console": "off", "capture_loggers": {"root": "INFO"}}
"""Send log records with their level instead of standard error, whose lines W&B shows as errors."""

NOT_LOGGED_IN = "not logged in"


def check_wandb(settings: Mapping[str, Any]) -> None:
    """Check the `logger` group; UserError for an argument or a value, here or in its environment, that W&B refuses."""
    accepting = (locate(settings, key="logger"), wandb.init)
    known = {
        "_target_",
        *OWN_KEYS,
        *(name for function in accepting for name in inspect.signature(function).parameters),
    }
    for name in settings:
        if name not in known:
            raise UserError(f"logger.{name}: neither {settings['_target_']} nor wandb.init takes such an argument")
    try:
        client_settings()
        stated = {"project": settings.get("project"), "run_tags": settings.get("tags")}
        wandb.Settings(**{**stated, **(settings.get("settings") or {})})
    except (TypeError, ValueError, wandb.Error) as error:
        raise UserError(
            f"logger: W&B refuses a value of it, a WANDB_* variable or its own file ({_defect(error)}); correct it"
        ) from None


def open_wandb(
    settings: Mapping[str, Any], description: RunDescription, folder: Path, *, best: float = math.inf
) -> "WandbTracker | None":
    """Start or resume a W&B run; None if W&B is disabled or cannot even run offline.

    Its files go to `wandb` in the run directory `folder`; `best` is the lowest `val/ppl` of earlier attempts.
    """
    mode, why_offline = _choose_mode(settings["mode"])
    if mode == "disabled":
        return None
    start = partial(_start, _arguments(settings, description, folder), folder=folder / "wandb")
    tracker = partial(
        WandbTracker, with_model=settings.get("log_model") is True, timeout=float(settings["init_timeout"]), best=best
    )
    if mode != "offline":
        try:
            online = tracker(start(mode))
        except Exception as error:
            why_offline = f"{host()} cannot be used ({_reason(error)})"
        else:
            logger.info("W&B: %s", online.experiment.url)
            return online
    try:
        offline = tracker(start("offline"))
    except Exception as error:  # whatever W&B raises, the run needs none of it
        logger.warning("W&B: %s; the run continues without it", _reason(error))
        return None
    if why_offline is not None:
        level = logging.INFO if why_offline == NOT_LOGGED_IN else logging.WARNING
        logger.log(level, "W&B: %s, so the run is offline; send it later: %s", why_offline, offline.sync_command)
    return offline


@final
class WandbTracker(Logger):
    """A W&B run, started by Lightning's logger. After its first error, W&B is no longer called; data stays on disk.

    `with_model`: whether the best checkpoint is uploaded at the end, within `timeout` seconds. `best`: the lowest
    `val/ppl` so far.
    """

    def __init__(self, started: WandbLogger, *, with_model: bool, timeout: float, best: float = math.inf) -> None:
        super().__init__()
        self._logger = started
        self._with_model = with_model
        self._timeout = timeout
        self._best = best
        self._has_failed = False

    @property
    def sync_command(self) -> str:
        """The command that sends data on disk."""
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
        """Log numbers at an optimizer step; W&B's summary also gets the lowest `val/ppl`."""
        self._call(lambda: self._logger.log_metrics(metrics, step))
        if metrics.get("val/ppl", math.nan) < self._best:
            self._best = metrics["val/ppl"]
            self.log_summary({"val/ppl_min": self._best})

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *arguments: Any, **keywords: Any) -> None:
        """Add to the configuration."""
        self._call(lambda: self._logger.log_hyperparams(params))

    def after_save_checkpoint(self, checkpoint_callback: ModelCheckpoint) -> None:
        """Upload the checkpoint if `logger.log_model=all`."""
        self._call(lambda: self._logger.after_save_checkpoint(checkpoint_callback))

    def finalize(self, status: str) -> None:
        """Upload the checkpoints that wait for the end of training."""
        self._call(lambda: self._logger.finalize(status))

    def log_summary(self, summary: Mapping[str, float | int | str | None]) -> None:
        """Set numbers and words that describe the whole run."""
        self._call(lambda: self._logger.experiment.summary.update(dict(summary)))

    def log_table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, step: int) -> None:
        """Show a table of text and numbers, made at an optimizer step."""
        lists = [list(row) for row in rows]
        self._send(f"the table {name}", lambda: self._logger.log_table(name, list(columns), lists, step=step))

    def upload_checkpoint(self, path: Path, *, step: int, ppl: float | None) -> None:
        """Upload the best checkpoint as a version of the run's model if `logger.log_model=true`."""

        def upload() -> None:
            run = self._logger.experiment
            name = re.sub(r"[^\w.-]+", "-", f"{run.name} {run.id}")
            artifact = wandb.Artifact(name, type="model", metadata={"step": step, "val/ppl": ppl})
            artifact.add_file(str(path), policy="immutable")  # the file never changes, so W&B need not copy it
            run.log_artifact(artifact, aliases=["best", f"step-{step}"])

        if self._with_model:
            self._send(path.name, upload)

    def finish(self, exit_code: int) -> None:
        """End the run and W&B's process; data not sent within `logger.finish_timeout` stays on disk."""
        run = self._logger.experiment
        self._call(lambda: run.finish(exit_code=exit_code))
        _end_process()
        if not run.offline and not self._has_failed:
            mark_if_sent(Path(run.dir).parent)

    def _send(self, title: str, function: Callable[[], object]) -> None:
        """Send an artifact; if W&B or its server refuses it, log that and keep the run."""
        limit_requests(self._timeout)

        def unless_refused() -> None:
            try:
                function()
            except (ValueError, wandb.Error, OSError) as error:
                logger.warning("W&B: %s is not sent: %s", title, _reason(error))

        self._call(unless_refused)

    def _call(self, function: Callable[[], object]) -> None:
        """Call W&B unless it has failed before; log a failure."""
        if self._has_failed:
            return
        try:
            function()
        except Exception as error:
            self._has_failed = True
            logger.warning(
                "W&B: %s; the run continues without it; send it later: %s", _reason(error), self.sync_command
            )


def _choose_mode(stated: str) -> tuple[str, str | None]:
    """The mode of W&B, by its own settings if auto is stated, and why it is offline without credentials."""
    own = client_settings().mode
    mode = {"dryrun": "offline", "run": "online"}.get(own, str(own)) if stated == "auto" else stated
    if mode in ("offline", "disabled") or has_credentials():
        return mode, None
    is_requested = stated != "auto" or "WANDB_MODE" in os.environ
    return "offline", f"{NOT_LOGGED_IN} (wandb login, or WANDB_API_KEY)" if is_requested else NOT_LOGGED_IN


def _arguments(settings: Mapping[str, Any], description: RunDescription, folder: Path) -> dict[str, Any]:
    """The arguments of WandbLogger except the mode."""
    prefix, own = os.environ.get(VARIABLES["name"]), settings.get("settings") or {}
    described = {
        "name": f"{prefix} {description.name}" if prefix else description.name,
        "group": description.group,
        "job_type": description.job_type,
        "tags": list(description.tags),
        "notes": description.notes,
    }
    overridden = {key for key, variable in VARIABLES.items() if os.environ.get(variable)}
    if description.is_swept:
        overridden.discard("name")
    has_console = "console" in own or "WANDB_CONSOLE" in os.environ
    return {
        **{key: value for key, value in described.items() if key not in overridden},
        **{key: value for key, value in settings.items() if key not in OWN_KEYS},
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
            **({} if has_console else CONSOLE),
            **({} if description.checkout is None else {"git_root": str(description.checkout)}),
            **own,
        },
    }


def _start(arguments: Mapping[str, Any], mode: str, *, folder: Path) -> WandbLogger:
    """Start the run in one mode; after a failure, remove the files that W&B wrote to `folder`."""
    before = set(folder.glob("*run-*"))
    started = instantiate({**arguments, "mode": mode}, key="logger")
    assert isinstance(started, WandbLogger)
    try:
        _ = started.experiment  # starts it
    except Exception:
        _end_process()
        os.environ.pop(SERVICE, None)  # a process shared with an agent would still hold the run's id
        for leftover in set(folder.glob("*run-*")) - before:
            if not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
        raise
    return started


def _end_process() -> None:
    with suppress(Exception):  # of a process that has failed
        wandb.teardown()
    wandb.run = None  # else Lightning would log to an aborted run


def _defect(error: Exception) -> str:
    """The reason of a refusal, without the value, which may be a secret."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return " ".join(str(error).split())


def _reason(error: BaseException) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 200).rstrip(".")
