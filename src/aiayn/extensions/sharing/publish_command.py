"""`aiayn publish`."""

from aiayn.errors import UserError
from aiayn.extensions.sharing import hub
from aiayn.extensions.sharing.schema import PublishConfig
from aiayn.runs.directory import open_run
from aiayn.system.extras import require

PACKAGES = ("safetensors", hub.CLIENT)
"""Of the extra `hub`."""


def check(config: PublishConfig) -> None:
    """Refuse a request without a destination, or with one that cannot be used, before torch is imported."""
    for package in PACKAGES:
        require(package, extra="hub", setting="aiayn publish")
    if config.output is None and config.repository is None:
        raise UserError("output has no value: state output=<folder>, or repository=<user>/<name>, or both")
    if config.repository is not None:
        hub.check_repository(config.repository)


def main(config: PublishConfig) -> None:
    """Write a run for others, upload it, or both; print where it is."""
    open_run(config.run)  # before torch is imported, which takes seconds
    from aiayn.extensions.sharing.publish_report import publish_run

    for place in publish_run(config):
        print(place, flush=True)  # noqa: T201
