"""What `datasets` and the hub's client raise, as one line for the user."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from aiayn.errors import UserError
from aiayn.system.progress import has_bars

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTEAD = "or read files: data=text_files data.train.source=... data.train.target=..."

_SUBSETS = re.compile(r"[Aa]vailable[^\[]*\[([^\]]+)\]|configurations in the cache: (.+)")
_SCRIPT = re.compile(r"trust_remote_code|scripts are no longer supported")


@dataclass(frozen=True)
class Asked:
    """What was asked for: the values of data.path and data.subset, and whether the path is a folder."""

    path: str
    subset: str | None
    is_folder: bool


@contextmanager
def explained(asked: Asked) -> Iterator[None]:
    """Turn what goes wrong in the block into one line; the libraries' own remarks are left out.

    Raises:
        UserError: `datasets` or the hub's client raised.
    """
    from datasets.exceptions import DatasetsError

    _quieten()
    try:
        yield
    except UserError:
        raise
    except (OSError, ValueError, LookupError, RuntimeError, yaml.YAMLError, DatasetsError, *_network()) as error:
        raise UserError(_explain(error, asked)) from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type's name where it has none."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _explain(error: BaseException, asked: Asked) -> str:
    from datasets import config
    from datasets.exceptions import DatasetNotFoundError, SplitsVerificationError

    chain = list(_chain(error))
    path = f"data.path={asked.path}"
    text = "\n".join(map(str, chain))
    if subsets := _SUBSETS.search(text):
        named = (subsets[1] or subsets[2]).replace("'", "")
        where = f"the copy of {path} in the hub's cache" if "in the cache" in text else path
        return f"data.subset={asked.subset or 'null'}: no such subset; {where} has {named}: name one"
    if _SCRIPT.search(text):
        return f"{path}: a loading script, which is not run; name a copy in parquet or JSON lines, {INSTEAD}"
    if isinstance(error, DatasetNotFoundError):
        return f"{path}: {first_line(error)} Mend data.path or data.revision, log in (hf auth login), {INSTEAD}"
    unreachable = None if asked.is_folder else _unreachable(chain)
    if unreachable is not None:
        # The error that `datasets` itself raises says less than ours.
        why = "" if isinstance(unreachable, ConnectionError) else f" ({first_line(unreachable)})"
        why = " (HF_HUB_OFFLINE is set)" if config.HF_HUB_OFFLINE else why
        return (
            f"{path}: the Hugging Face hub cannot be reached and its cache has no copy{why}; "
            f"connect, name a folder, {INSTEAD}"
        )
    if isinstance(error, SplitsVerificationError):
        return f"{path}: holds other splits or sizes than its README.md states; fetch it again, or mend README.md"
    # Generating rows hides the reason behind an error of its own.
    return f"{path}: cannot be read ({first_line(error.__cause__ or error)}); mend it, {INSTEAD}"


def _unreachable(chain: list[BaseException]) -> BaseException | None:
    """Return the innermost failure to connect."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    kinds = (ConnectionError, LocalEntryNotFoundError, *_network())
    return next((error for error in reversed(chain) if isinstance(error, kinds)), None)


def _network() -> tuple[type[BaseException], ...]:
    """Return what the hub's client raises where it is built on httpx; built on requests, it raises OSErrors."""
    from huggingface_hub.errors import HfHubHTTPError

    return tuple(base for base in HfHubHTTPError.__bases__ if not issubclass(OSError, base))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _quieten() -> None:
    """Bars only on a terminal; no remarks in several lines, since the one that counts is ours."""
    import datasets
    from huggingface_hub.utils import logging as hub_logging
    from huggingface_hub.utils.tqdm import disable_progress_bars

    datasets.logging.set_verbosity(logging.CRITICAL)
    hub_logging.set_verbosity(logging.CRITICAL)
    if not has_bars():
        datasets.disable_progress_bars()
        disable_progress_bars()
