"""Send what W&B has kept of runs to its server, once, by W&B's own command."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from aiayn.runs.directory import HeldDirectoryError, RunDirectory
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.tracking.wandb_attempts import PROGRAM, WandbAttempt, wandb_attempts

SHOWN_AT = re.compile(r"\] View run .* at (\S+)$", re.MULTILINE)
"""Said when the server has taken the run up."""

ERROR = re.compile(r"^(?:wandb: ERROR (?:\[\S+\] )?|Error: )(.+)$", re.MULTILINE)

TORN = "ends with an incomplete record"
"""W&B's words for a file whose run was killed while it wrote. All that comes before is sent, and it is not marked."""

POLL_SECONDS = 0.5
"""Between two looks at signals while W&B's command is at work."""

ENVIRONMENT_OF_A_RUN = ("WANDB_MODE", "WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_SERVICE")
"""Variables that would make of the client something else than one that sends files."""


@dataclass(frozen=True)
class Patience:
    """How long the client tries to reach the server; by itself it would try for hours."""

    retries: int
    """How often a request that failed is made again."""
    timeout: int
    """Seconds for one answer."""

    def environment(self) -> dict[str, str]:
        """As W&B's client reads it."""
        parts = ("GRAPHQL", "FILE_STREAM", "FILE_TRANSFER")
        return {
            **{f"WANDB_X_{part}_RETRY_MAX": str(self.retries) for part in parts},
            **{f"WANDB_X_{part}_TIMEOUT_SECONDS": str(self.timeout) for part in parts},
        }


@dataclass(frozen=True)
class Sent:
    """What came of one run."""

    directory: RunDirectory
    attempts: int = 0
    """How many were sent now."""
    url: str | None = None
    """Where the server shows it; None where it was not even taken up."""
    holder: str | None = None
    """Who works in the directory, where nothing was sent for that."""
    failure: str | None = None
    """What W&B said where not all was sent."""


def is_unsent(directory: RunDirectory) -> bool:
    """Whether W&B has kept anything of a run that its server may not have."""
    return any(not attempt.is_sent for attempt in wandb_attempts(directory))


def send(directory: RunDirectory, patience: Patience, *, meanwhile: Callable[[], object] = lambda: None) -> Sent:
    """Send what is unsent of a run; its attempts are sent in their order, and W&B appends them to one another.

    The directory is held, so that nobody trains there meanwhile, or sends the same.

    Args:
        directory: of the run.
        patience: with a server that does not answer.
        meanwhile: called again and again while W&B's command is at work.

    Raises:
        UserError: the directory cannot be written to.
    """
    try:
        with disk_errors_explained(str(directory.path)), directory.locked():
            return _send_attempts(directory, patience, meanwhile)
    except HeldDirectoryError as error:
        return Sent(directory, holder=error.holder)


def _send_attempts(directory: RunDirectory, patience: Patience, meanwhile: Callable[[], object]) -> Sent:
    """Send the attempts of a run that are unsent, up to the first that fails: what follows would come before it."""
    url, count = None, 0
    for attempt in [attempt for attempt in wandb_attempts(directory) if not attempt.is_sent]:
        said = _wandb_sync(attempt, patience, meanwhile)
        shown = SHOWN_AT.search(said)
        url = shown[1] if shown else url
        errors = [error for error in ERROR.findall(said) if TORN not in error]
        if errors or not (attempt.is_sent or TORN in said):
            attempt.unmark()  # W&B marks what its server has refused for good, too
            failure = errors[0] if errors else (said.strip().splitlines() or ["nothing was said"])[-1]
            return Sent(directory, count, url, failure=textwrap.shorten(failure, 200).rstrip("."))
        attempt.mark_as_sent()
        count += 1
    return Sent(directory, count, url)


def _wandb_sync(attempt: WandbAttempt, patience: Patience, meanwhile: Callable[[], object]) -> str:
    """What W&B's command says; whatever happens, neither it nor the process that it starts is left behind."""
    command = [sys.executable, "-m", "wandb", "sync", "--include-online", str(attempt.file.absolute())]
    with subprocess.Popen(
        command,
        env=_environment(os.environ) | patience.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as client:
        try:
            while True:
                # One read to the end would not hear of a signal that comes while it has just been given a part.
                with suppress(subprocess.TimeoutExpired):
                    return client.communicate(timeout=POLL_SECONDS)[0]
                meanwhile()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(client.pid, signal.SIGKILL)


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in own.items() if name not in ENVIRONMENT_OF_A_RUN}
    return {**kept, "WANDB_PROGRAM": PROGRAM, "WANDB_SILENT": "false", "WANDB_QUIET": "false"}
