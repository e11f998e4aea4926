"""`aiayn sync`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from omegaconf import DictConfig

from aiayn.config.command_schema import SyncConfig
from aiayn.config.freeze import typed
from aiayn.errors import RunFailedError, UserError
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.ledger import run_directories
from aiayn.system.progress import Bar
from aiayn.tracking.sync import Patience, Sent, is_unsent, send


def checked(composed: DictConfig) -> SyncConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return typed(composed, SyncConfig)


def main(composed: DictConfig) -> None:
    """Send W&B what it has kept on disk, and say a line for each run."""
    config = checked(composed)
    for key, value in {"retries": config.retries, "timeout": config.timeout}.items():
        if value < 1:
            raise UserError(f"{key}={value}: has to be at least 1")
    runs = Path(config.paths.runs)
    directories = run_directories(runs) if config.run is None else [open_run(config.run)]
    unsent = [directory for directory in directories if is_unsent(directory)]
    where = f"below {runs}" if config.run is None else f"in {config.run}"
    if not unsent:
        print(f"nothing to send {where}: W&B has what there is of {_count(len(directories), 'run')}")  # noqa: T201
        return
    from aiayn.tracking import wandb_session  # which imports wandb

    if not wandb_session.has_credentials(wandb_session.session()):
        raise UserError("not logged in to W&B: say wandb login, or set WANDB_API_KEY")
    _send(unsent, Patience(retries=config.retries, timeout=config.timeout), host=wandb_session.host())


def _send(unsent: Sequence[RunDirectory], patience: Patience, *, host: str) -> None:
    """Send runs one after another; where the server takes up none at first, others are not tried.

    Raises:
        RunFailedError: not all could be sent.
    """
    done: list[Sent] = []
    for number, directory in enumerate(unsent):
        with Bar(f"sync {directory.path.name}", total=len(unsent), done=number, unit=" runs") as bar:
            done.append(send(directory, patience, meanwhile=partial(bar.advance, 0)))
        if done[-1].failure is not None and not any(sent.url for sent in done):
            break
        print(_line(done[-1]), flush=True)  # noqa: T201
    failed = [sent for sent in done if sent.failure is not None]
    if failed:
        whole = sum(sent.failure is None and sent.holder is None for sent in done)
        raise RunFailedError(
            f"{failed[0].directory.path}: {host} did not take it all ({failed[0].failure}); {whole} of "
            f"{_count(len(unsent), 'run')} sent; nothing is lost, the same command sends the rest"
        )


def _line(sent: Sent) -> str:
    if sent.holder is not None:
        return f"{sent.directory.path}: left out, {sent.holder} is running here; say it again when that has ended"
    if sent.failure is not None:
        return f"{sent.directory.path}: {sent.failure}"
    return f"{sent.directory.path}: {'sent' if sent.attempts == 1 else f'{sent.attempts} attempts sent'}, {sent.url}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
