"""`aiayn sync`."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from aiayn.config.command_schema import SyncConfig
from aiayn.errors import RunFailedError, UserError
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.search import Found, search_runs
from aiayn.system.progress import Bar
from aiayn.system.quiet import quiet_libraries
from aiayn.tracking.sync import SyncOutcome, is_unsent, send
from aiayn.tracking.wandb_internals import patience

logger = logging.getLogger("aiayn")


def main(config: SyncConfig) -> None:
    """Send W&B data that is only on disk; print a line for each run."""
    runs = Path(config.paths.runs)
    found = search_runs(runs) if config.run is None else [Found(open_run(config.run))]
    for each in found:
        if each.failure is not None:
            logger.warning("%s", each.failure)
    directories = [each.directory for each in found if each.failure is None]
    unsent = [directory for directory in directories if is_unsent(directory)]
    where = f"below {runs}" if config.run is None else f"in {config.run}"
    if not unsent:
        print(f"nothing to send {where}: no unsent data (runs: {len(directories)})")  # noqa: T201
        return
    quiet_libraries()
    from aiayn.tracking import wandb_session  # imports wandb

    if not wandb_session.has_credentials():
        raise UserError("not logged in to W&B: run wandb login, or set WANDB_API_KEY")
    _send(unsent, patience(retries=config.retries, timeout=config.timeout), host=wandb_session.host())


def _send(unsent: Sequence[RunDirectory], variables: Mapping[str, str], *, host: str) -> None:
    """Send runs one after another; stop if the server does not accept the first."""
    from aiayn.launch.wandb_rest import write_rest  # imports torch

    done: list[SyncOutcome] = []
    for number, directory in enumerate(unsent):
        with Bar(f"sync {directory.path.name}", total=len(unsent), done=number, unit=" runs") as bar:
            done.append(send(directory, variables, write_rest, on_wait=partial(bar.advance, 0)))
        is_refused = done[-1].failure is not None and not done[-1].is_local
        if is_refused and not any(sent.url for sent in done):
            break
        print(_line(done[-1]), flush=True)  # noqa: T201
    failed = [sent for sent in done if sent.failure is not None]
    if failed:
        whole = sum(sent.failure is None and sent.holder is None for sent in done)
        first = failed[0]
        reason = first.failure if first.is_local else f"{host} did not accept all data ({first.failure})"
        raise RunFailedError(
            f"{first.directory.path}: {reason}; {whole} of {len(unsent)} runs sent; nothing is lost, rerun the command "
            "to send the rest"
        )


def _line(sent: SyncOutcome) -> str:
    if sent.holder is not None:
        return f"{sent.directory.path}: skipped, locked by {sent.holder}; rerun the command when it has ended"
    if sent.failure is not None:
        return f"{sent.directory.path}: {sent.failure}"
    return f"{sent.directory.path}: {'sent' if sent.attempts == 1 else f'{sent.attempts} attempts sent'}, {sent.url}"
