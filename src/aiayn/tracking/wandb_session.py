"""W&B's client apart from a run: settings, login, server, failures."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import wandb

from aiayn.errors import RunFailedError
from aiayn.tracking.wandb_internals import client_settings, is_of_client, netrc_key


def has_credentials() -> bool:
    """Whether W&B would find a key or a token without asking; nothing is sent."""
    known = client_settings()
    try:
        return bool(known.api_key or known.identity_token_file or netrc_key(str(known.base_url)))
    except wandb.Error:  # a malformed key, which is reported when the run starts
        return True


def host() -> str:
    """The server's host, without a user name or password."""
    return urlsplit(str(client_settings().base_url)).netloc.rpartition("@")[2]


@contextmanager
def failures_explained() -> Iterator[None]:
    """Errors of W&B's public API in one line, as a RunFailedError; its process ends with the block."""
    try:
        yield
    except Exception as error:
        if not _has_failed(error):
            raise
        reason = textwrap.shorten(str(error).replace(str(client_settings().base_url), host()), 200).rstrip(".")
        raise RunFailedError(f"W&B: {host()} cannot be used ({reason}); rerun the command to retry") from error
    finally:
        try:
            wandb.teardown()
        except Exception as error:
            if not _has_failed(error):  # its process may have ended
                raise


def _has_failed(error: Exception) -> bool:
    """Whether W&B's server, the network or its own process raised an error."""
    return isinstance(error, OSError) or is_of_client(error)
