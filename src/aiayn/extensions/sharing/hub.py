"""Published runs on the Hugging Face hub: names, downloads and uploads by `huggingface_hub`.

Its client finds the server (HF_ENDPOINT), the token (HF_TOKEN, or `hf auth login`) and the cache (HF_HUB_CACHE), and
uses the network unless HF_HUB_OFFLINE is set.
"""

import logging
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from aiayn.errors import RunFailedError, UserError
from aiayn.system.extras import require
from aiayn.system.progress import has_bars

HUB = "hub:"
"""The first letters of the name of a run on the hub, where a path could stand too."""

REPOSITORY = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"

NAME = re.compile(rf"{HUB}(?P<repository>{REPOSITORY})(@(?P<revision>[\w./-]+))?")

FILES = ("model.safetensors", "tokenizer.json", "config.yaml", "run.json", "README.md", "evaluations/*")
"""The files of a published run; no others are downloaded, so no file that could hold code."""

CLIENT = "huggingface_hub"


@cache
def downloaded(name: str, *, key: str) -> Path:
    """The folder of a published run in the hub's cache, by a name such as hub:user/name or hub:user/name@revision.

    Raises:
        UserError: the name, repository or revision does not exist, or may not be read.
        RunFailedError: the hub cannot be reached, and the cache has no copy.
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise UserError(f"{key}={name}: state hub:<user>/<name>, or hub:<user>/<name>@<revision>")
    check_client(f"{key}={name}")
    from huggingface_hub import snapshot_download

    with _failures_explained(f"{key}={name}"):
        return Path(snapshot_download(match["repository"], revision=match["revision"], allow_patterns=list(FILES)))


def check_repository(name: str) -> None:
    """Refuse a name that no repository can have, and an upload without a token, before any work is done."""
    if re.fullmatch(REPOSITORY, name) is None:
        raise UserError(f"repository={name}: state <user>/<name>")
    check_client(f"repository={name}")
    from huggingface_hub import get_token

    if get_token() is None:
        raise UserError(f"repository={name}: not logged in to the hub: run hf auth login, or set HF_TOKEN")


def upload(folder: Path, repository: str, *, private: bool) -> str:
    """Upload a published run in one commit, and return the repository's address; it is made if it does not exist.

    Args:
        folder: the published run.
        repository: <user>/<name>.
        private: whether a new repository is private; an existing one is left as it is.

    Raises:
        UserError: the hub refuses the token or the name.
        RunFailedError: the hub cannot be reached, or fails.
    """
    from huggingface_hub import HfApi

    with _failures_explained(f"repository={repository}"):
        api = HfApi(library_name="aiayn")
        made = api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=made.repo_id,
            folder_path=folder,
            allow_patterns=list(FILES),
            commit_message="aiayn publish",
        )
        return str(made)


def check_client(setting: str) -> None:
    """Refuse a setting that needs the hub's client if that is not installed."""
    require(CLIENT, extra="hub", setting=setting)


@contextmanager
def _failures_explained(setting: str) -> Iterator[None]:
    """Errors of the hub and its client in one line; the client's own messages are silenced."""
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )
    from huggingface_hub.utils import logging as hub_logging
    from huggingface_hub.utils.tqdm import disable_progress_bars

    hub_logging.set_verbosity(logging.CRITICAL)
    for library in ("httpx", "httpx2"):  # log each request
        logging.getLogger(library).setLevel(logging.WARNING)
    if not has_bars():
        disable_progress_bars()
    failures: tuple[type[BaseException], ...] = (HfHubHTTPError, OSError)
    failures += tuple(base for base in HfHubHTTPError.__bases__ if not issubclass(OSError, base))  # its HTTP library's
    try:
        yield
    except RevisionNotFoundError as error:
        raise UserError(f"{setting}: the repository has no such revision; correct it") from error
    except RepositoryNotFoundError as error:
        raise UserError(
            f"{setting}: no such repository, or a private one; correct it, or log in (hf auth login)"
        ) from error
    except HFValidationError as error:
        raise UserError(f"{setting}: {_reason(error)}; correct the name") from error
    except LocalEntryNotFoundError as error:
        reason = "the hub cannot be reached, or HF_HUB_OFFLINE is set, and its cache has no copy"
        raise RunFailedError(f"{setting}: {reason}; connect, and run the same command") from error
    except failures as error:
        raise RunFailedError(f"{setting}: the hub failed ({_reason(error)}); run the same command again") from error


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return textwrap.shorten(lines[0] if lines else type(error).__name__, 200).rstrip(".")
