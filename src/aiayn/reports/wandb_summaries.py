"""The differences to base in the summaries of runs in W&B, where its tables, filters and plots find them."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb
from wandb.errors import CommError

from aiayn.config.freeze import frozen_content
from aiayn.config.third_parties import logs_to_wandb
from aiayn.errors import UserError
from aiayn.reports.beside_base import VERDICT, Summary
from aiayn.reports.numbers import counted
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import read_record
from aiayn.system.progress import say
from aiayn.system.quiet import quiet_libraries
from aiayn.tracking.wandb_internals import client_settings
from aiayn.tracking.wandb_session import failures_explained, has_credentials, host

REMEDY = "for runs kept offline, aiayn sync sends them, and then this command completes them"


def check_online() -> None:
    """Refuse before the report is made if W&B's client has no account, or is set to offline."""
    quiet_libraries()
    if (mode := client_settings().mode) in ("offline", "dryrun", "disabled"):
        raise UserError(f"wandb=true: WANDB_MODE={mode}: unset it; {REMEDY}")
    if not has_credentials():  # on a terminal, W&B's client would ask for a key
        raise UserError(f"wandb=true: not logged in to W&B (wandb login, or WANDB_API_KEY); {REMEDY}")


def update_summaries(summaries: Mapping[Path, Summary], *, others: int) -> None:
    """Write differences to base into the summaries of runs, and report their number in one line.

    Args:
        summaries: by run directory.
        others: the number of runs that have none, base's not counted.

    Raises:
        RunFailedError: the server does not answer, or refuses.
    """
    outcomes = Counter[str]()
    with failures_explained():
        api = wandb.Api()
        for path, summary in summaries.items():
            outcomes[_update(api, path, summary)] += 1
    parts = [
        f"W&B: vs_base/... of {counted(outcomes['written'], 'run')} written",
        f"{counted(outcomes['missing'], 'run')} not on {host()}; {REMEDY}" if outcomes["missing"] else "",
        f"{counted(outcomes['untracked'], 'run')} not logged to W&B" if outcomes["untracked"] else "",
        f"{counted(others, 'run')} without a base, or of an unfinished study without looks" if others else "",
    ]
    say("; ".join(filter(None, parts)))


def _update(api: Any, path: Path, summary: Summary) -> str:
    """Update one run: written, missing on the server, or untracked."""
    directory = RunDirectory(path)
    logger = frozen_content(directory.config).get("logger") or {}
    if not logs_to_wandb(logger):
        return "untracked"
    entity = logger.get("entity") or api.default_entity
    try:
        run = api.run(f"{entity}/{logger['project']}/{read_record(directory.record).run_id}")
    except CommError as error:
        if isinstance(error.exc, ValueError):  # the server has answered, and has no such run
            return "missing"
        raise
    run.summary.update({VERDICT: None, **summary})
    return "written"
