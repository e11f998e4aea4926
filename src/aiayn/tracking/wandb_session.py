"""W&B's client apart from a run: settings, login, server, failures."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import wandb
from wandb.sdk import wandb_setup
from wandb.sdk.lib import wbauth
from wandb.sdk.lib.service.service_connection import WandbApiFailedError
from wandb.sdk.mailbox import HandleAbandonedError, MailboxClosedError

from aiayn.errors import RunFailedError

API_FAILURES = (wandb.Error, WandbApiFailedError, HandleAbandonedError, MailboxClosedError, OSError)
"""Errors of W&B's public API when its server, network or own process fails."""


def session() -> wandb.Settings:
    """W&B's settings from its environment and files; unlike `wandb.setup`, starts no process."""
    return wandb_setup.singleton().settings


def has_credentials(settings: wandb.Settings) -> bool:
    """Whether W&B would find a key or a token without asking; nothing is sent."""
    try:
        return bool(
            settings.api_key or settings.identity_token_file or wbauth.read_netrc_auth(host=str(settings.base_url))
        )
    except wandb.Error:  # a malformed key, which is reported when the run starts
        return True


def host() -> str:
    """The server's host, without a user name or password."""
    return urlsplit(str(session().base_url)).netloc.rpartition("@")[2]


@contextmanager
def failures_explained() -> Iterator[None]:
    """Errors of W&B's public API in one line, as a RunFailedError; its process ends with the block."""
    try:
        yield
    except API_FAILURES as error:
        reason = textwrap.shorten(str(error).replace(str(session().base_url), host()), 200).rstrip(".")
        raise RunFailedError(f"W&B: {host()} cannot be used ({reason}); rerun the command to retry") from error
    finally:
        with suppress(*API_FAILURES):
            wandb.teardown()
