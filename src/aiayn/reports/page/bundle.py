"""plotly.js as it goes into the page: compressed text, and the hash by which the browser lets it run."""

import base64
import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from aiayn.errors import UserError


@dataclass(frozen=True)
class Bundle:
    """A script that the page inflates when it is needed."""

    packed: str
    """Base64 of its gzip."""
    hash: str
    """As a Content-Security-Policy names it."""


@cache
def plotly_bundle(path: Path | None) -> Bundle:
    """The bundle of a file, or the whole one that the package plotly carries.

    Raises:
        UserError: the file cannot be read, or is no bundle of plotly.js.
    """
    try:
        source = resources.files("plotly") / "package_data" / "plotly.min.js" if path is None else path
        script = source.read_bytes()
        script.decode()
    except OSError as error:
        raise UserError(f"plotly_bundle={path}: {error.strerror}; name another file, or leave it out") from error
    except UnicodeDecodeError:
        raise UserError(f"plotly_bundle={path}: not a script; name one such as plotly-basic.min.js") from None
    if b"plotly.js" not in script[:1000]:
        raise UserError(f"plotly_bundle={path}: not a bundle of plotly.js; name one such as plotly-basic.min.js")
    return Bundle(base64.b64encode(gzip.compress(script, mtime=0)).decode(), script_hash(script))


def script_hash(script: bytes) -> str:
    """The hash of a script in the notation of a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
