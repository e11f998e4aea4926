"""What W&B's client knows before it starts anything: its settings, whether somebody is logged in, its server."""

from urllib.parse import urlsplit

import wandb
from wandb.sdk import wandb_setup
from wandb.sdk.lib import wbauth


def session() -> wandb.Settings:
    """W&B's settings by its environment and files; unlike `wandb.setup` this starts no process."""
    return wandb_setup.singleton().settings


def has_credentials(settings: wandb.Settings) -> bool:
    """Whether W&B would find a key, or a token, without asking anybody; nothing is sent."""
    try:
        return bool(
            settings.api_key or settings.identity_token_file or wbauth.read_netrc_auth(host=str(settings.base_url))
        )
    except wandb.Error:  # a malformed key: the start will say so
        return True


def host() -> str:
    """The server, without what its address may hold of a name or a password."""
    return urlsplit(str(session().base_url)).netloc.rpartition("@")[2]
