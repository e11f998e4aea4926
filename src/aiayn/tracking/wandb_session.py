"""The state of W&B's client before it starts a run: settings, login, server."""

from urllib.parse import urlsplit

import wandb
from wandb.sdk import wandb_setup
from wandb.sdk.lib import wbauth


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
