"""Send W&B data that is only on disk to the server, once, by `wandb sync`."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from aiayn.errors import UserError
from aiayn.runs.directory import HeldDirectoryError, RunDirectory
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.tracking.wandb_attempts import PROGRAM, WandbAttempt, wandb_attempts
from aiayn.tracking.wandb_internals import SERVICE, read_answer

POLL_SECONDS = 0.5
"""Between two checks for signals while `wandb sync` runs."""

RUN_VARIABLES = ("WANDB_MODE", "WANDB_RUN_ID", "WANDB_SWEEP_ID", SERVICE)
"""Variables that would change the behaviour of `wandb sync`."""


Row = tuple[int, dict[str, float]]
"""An optimizer step, and numbers that were logged there."""

WriteRest = Callable[[RunDirectory, Sequence[Row]], object]
"""Writes rows of metrics as a further attempt of a run."""


@dataclass(frozen=True)
class SyncOutcome:
    """The outcome for one run."""

    directory: RunDirectory
    attempts: int = 0
    """Number of attempts that this call sent."""
    url: str | None = None
    """The run's page; None if the server did not accept the run."""
    holder: str | None = None
    """The process that holds the directory, if nothing was sent for that reason."""
    failure: str | None = None
    """W&B's message, if not all was sent."""
    is_local: bool = False
    """Whether the failure is one of the run's own files, and the message that of the error."""


def is_unsent(directory: RunDirectory) -> bool:
    """Whether a run has W&B data that the server may lack."""
    return any(not attempt.is_sent for attempt in wandb_attempts(directory))


def send(
    directory: RunDirectory,
    variables: Mapping[str, str],
    write_rest: WriteRest,
    *,
    on_wait: Callable[[], object] = lambda: None,
) -> SyncOutcome:
    """Send the unsent attempts of a run in order, which W&B appends to one another, and then what they lack.

    The file of an attempt that was killed lacks its last steps, or is empty but for its first bytes. What no sent file
    has of the run's metrics is written by `write_rest` and sent as one more attempt. The directory is locked meanwhile,
    against training and a second sync. `variables` are set for W&B's client. `on_wait` is called twice a second.

    Raises:
        UserError: the directory cannot be written to.
    """
    try:
        with disk_errors_explained(str(directory.path)), directory.locked():
            return _send(directory, write_rest, partial(_send_attempt, variables=variables, on_wait=on_wait))
    except HeldDirectoryError as error:
        return SyncOutcome(directory, holder=error.holder)


def _send(
    directory: RunDirectory, write_rest: WriteRest, send_one: Callable[[WandbAttempt], tuple[str | None, str | None]]
) -> SyncOutcome:
    url, count = None, 0
    broken: list[WandbAttempt] = []
    for attempt in wandb_attempts(directory):
        if attempt.is_sent:
            continue
        sent_to, failure = send_one(attempt)
        url = sent_to or url
        if failure is None:
            count += 1
        elif (kept := attempt.kept()) is None or kept.is_whole:  # so it is the server's
            hint = "" if kept else "; if the run was killed: wandb 0.31 or newer reads the file that it left"
            return SyncOutcome(directory, count, url, failure=failure + hint)
        else:
            broken.append(attempt)
    attempts = wandb_attempts(directory)
    rows = _lacking(directory, [attempt for attempt in attempts if attempt.is_sent])
    try:
        if rows:
            write_rest(directory, rows)
    except UserError as error:
        return SyncOutcome(directory, count, url, failure=str(error), is_local=True)
    for rest in (attempt for attempt in wandb_attempts(directory) if attempt not in attempts):
        sent_to, failure = send_one(rest)
        url = sent_to or url
        if failure is not None:
            rest.remove()  # the next call knows again what is lacking
            return SyncOutcome(directory, count, url, failure=failure)
        count += 1
    for attempt in broken:  # what they held has been sent
        attempt.mark_as_sent()
    return SyncOutcome(directory, count, url)


def _lacking(directory: RunDirectory, sent: Sequence[WandbAttempt]) -> list[Row]:
    """The metrics that are in no sent attempt; none if an attempt's file cannot be read by W&B's command."""
    kept = [attempt.kept() for attempt in sent]
    if None in kept:
        return []
    known = {value for each in kept if each is not None for value in each.values}
    logged = directory.logged_metrics()
    rows = ((step, {key: value for key, value in row.items() if (step, key) not in known}) for step, row in logged)
    return [(step, values) for step, values in rows if values]


def _send_attempt(
    attempt: WandbAttempt, variables: Mapping[str, str], on_wait: Callable[[], object]
) -> tuple[str | None, str | None]:
    """The run's page if the server accepted the run, and W&B's message if not all was sent."""
    answer = read_answer(_wandb_sync(attempt, variables, on_wait))
    if answer.errors or not (attempt.is_sent or answer.is_torn):
        attempt.unmark()  # W&B also marks data that the server has permanently refused
        return answer.url, textwrap.shorten((answer.errors or [answer.last])[0], 200).rstrip(".")
    attempt.mark_as_sent()
    return answer.url, None


def _wandb_sync(attempt: WandbAttempt, variables: Mapping[str, str], on_wait: Callable[[], object]) -> str:
    """The output of `wandb sync`; in any case its processes are ended."""
    own = {name: value for name, value in os.environ.items() if name not in RUN_VARIABLES}
    own |= {"WANDB_PROGRAM": PROGRAM, "WANDB_SILENT": "false", "WANDB_QUIET": "false", **variables}
    with subprocess.Popen(
        [sys.executable, "-m", "wandb", "sync", "--include-online", str(attempt.file.absolute())],
        env=own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as client:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):  # one long read would delay the handling of signals
                    return client.communicate(timeout=POLL_SECONDS)[0]
                on_wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(client.pid, signal.SIGKILL)
