"""Parts of W&B's client that it does not document, where it has no public way; as read in 0.28 to 0.31.

`tests/unit/test_internals_of_others.py` compares them with the installed version. wandb is imported where it is used:
that takes a second.
"""

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiayn.system import files

if TYPE_CHECKING:
    import wandb

SERVICE = "WANDB_SERVICE"
"""The variable by which the client's process is shared with processes that are started later."""

STEP = "trainer/global_step"
"""The name that Lightning's logger gives to the optimizer step."""

REFUSED = ("filestream: fatal error", "file transfer: upload: failed")
"""In the client's debug log where it gave up sending data."""

TORN = "ends with an incomplete record"
"""Reported by `wandb sync` for the file of a killed run: the data before is sent, but the file is not marked."""

ERRORS = ("wandb: ERROR ", "Error: ")
"""Beginnings of the lines in which `wandb sync` reports errors."""


def client_settings() -> "wandb.Settings":
    """The settings from environment and files; `wandb.setup` reads them as well, and starts a process."""
    from wandb.sdk import wandb_setup

    return wandb_setup.singleton().settings


def netrc_key(address: str) -> str | None:
    """The key for a server in the netrc file; `wandb.login` would ask for one on a terminal."""
    from wandb.sdk.lib import wbauth

    return wbauth.read_netrc_auth(host=address)


def limit_requests(seconds: float) -> None:
    """Set the timeout of `wandb.Api` where `Run.log_artifact` makes one, 19 seconds by default.

    `WANDB_HTTP_TIMEOUT` is read when wandb is imported, and bounds the requests of a run as well.
    """
    import wandb

    wandb.Api._HTTP_TIMEOUT = math.ceil(seconds)  # noqa: SLF001


def is_of_client(error: BaseException) -> bool:
    """Whether W&B has defined the class of an error: not all are a `wandb.Error`."""
    return type(error).__module__.partition(".")[0] == "wandb"


def patience(*, retries: int, timeout: int) -> dict[str, str]:
    """Variables of the client, which tries to reach its server for hours by default; seconds per request."""
    parts = ("GRAPHQL", "FILE_STREAM", "FILE_TRANSFER")
    return {f"WANDB_X_{part}_RETRY_MAX": str(retries) for part in parts} | {
        f"WANDB_X_{part}_TIMEOUT_SECONDS": str(timeout) for part in parts
    }


@dataclass(frozen=True)
class Answer:
    """The output of `wandb sync` for one file."""

    url: str | None
    """The run's page, if the server accepted the run."""
    errors: list[str]
    """Messages, but for `TORN`."""
    is_torn: bool
    last: str


def read_answer(output: str) -> Answer:
    """Parse the output of `wandb sync`, whose exit code is 0 whatever happens."""
    lines = output.strip().splitlines() or ["no output"]
    url = next((line.rpartition(" ")[2] for line in lines if " View run " in line), None)
    errors = [line.removeprefix(ERRORS[0]) for line in lines if line.startswith(ERRORS) and TORN not in line]
    return Answer(url, errors, is_torn=any(TORN in line for line in lines), last=lines[-1])


def mark_of(file: Path) -> Path:
    """The empty file beside a run's file by which `wandb sync` marks that it was sent."""
    return file.with_name(f"{file.name}.synced")


def has_refused(folder: Path) -> bool:
    """Whether the server has refused a part of an attempt for good, by the client's debug log; or there is no log."""
    log = folder / "logs" / "debug-internal.log"
    if not files.is_file(log):
        return True
    text = log.read_text(encoding="utf-8", errors="replace")
    return any(mark in text for mark in REFUSED)


@dataclass(frozen=True)
class Kept:
    """What can be read of an attempt's file, which W&B writes in blocks: a killed attempt lacks its end."""

    values: frozenset[tuple[int, str]]
    """Optimizer step and name of each number that was logged."""
    is_whole: bool
    """Whether it has everything up to the attempt's end."""


def read_kept(folder: Path) -> Kept | None:
    """What can be read of the file in an attempt's folder, by W&B's own command; None if that does not run."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(folder.absolute())]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        return None
    records: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    items = [record["history"].get("item", {}) for record in records if record["type"] == "history"]
    values = frozenset((int(item[STEP]), name) for item in items if STEP in item for name in item)
    return Kept(values, is_whole=any(record["type"] == "exit" for record in records))
