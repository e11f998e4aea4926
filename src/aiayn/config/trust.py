"""What a record or configuration that somebody sent may have created here; SECURITY.md states whom we trust."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aiayn.config.instantiation import locate
from aiayn.config.model_schema import plugins
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.system.plugins import no_module, source_digest

OWN = "runs"
"""The folder of one's own runs below the working directory: `paths.runs` as `conf/` states it."""

CALLBACKS = {
    "DeviceStatsMonitor": "device_stats_monitor",
    "EarlyStopping": "early_stopping",
    "LearningRateMonitor": "lr_monitor",
    "ModelCheckpoint": "model_checkpoint",
    "ModelSummary": "model_summary",
    "Timer": "timer",
}
"""Lightning's callbacks that run no code of others and write nothing outside the run, with their modules."""

CLASSES: Mapping[str, tuple[str, str]] = {
    "pytorch_lightning.Trainer": ("pytorch_lightning.trainer.trainer", "Trainer"),
    **{
        f"pytorch_lightning.callbacks.{name}": (f"pytorch_lightning.callbacks.{module}", name)
        for name, module in CALLBACKS.items()
    },
}
"""The only names that `_target_` may have in a configuration of others, and the module and name of each class."""


def check_targets(content: Mapping[str, Any], place: Path) -> None:
    """Refuse a configuration of others that names anything but the classes listed, before any of it is imported.

    Args:
        content: the configuration as plain values.
        place: the file, for messages.

    Raises:
        UserError: a `_target_` has another name, or this name belongs to something else here.
    """
    named = list(_targets(content))
    for key, target in named:
        if not isinstance(target, str) or target not in CLASSES:
            raise UserError(
                f"{place}: {key}={target!r}: no code but Lightning's is run for a record; remove it from a copy of the "
                f"file, or name one of {', '.join(sorted(CLASSES))}"
            )
    for key, target in named:
        found = locate({"_target_": target}, key=f"{place}: {key}")
        if not isinstance(found, type) or (found.__module__, found.__qualname__) != CLASSES[target]:
            raise UserError(f"{place}: {key}={target}: is not {'.'.join(CLASSES[target])} here; reinstall Lightning")


def _targets(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Each `_target_` at any depth, with its dotted key."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            inner = f"{key}.{name}" if key else str(name)
            if name == "_target_":
                yield inner, entry
            yield from _targets(entry, inner)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _targets(entry, key)


def is_own(run: Path) -> bool:
    """Whether a run directory lies below the folder runs, where this user's commands train."""
    return Path(os.path.abspath(run)).is_relative_to(Path.cwd() / OWN)  # noqa: PTH100 (a run may be a link)


def check_links(run: Path) -> None:
    """Refuse a run of others in which a folder is a link out of it: what is written there changes files elsewhere.

    Raises:
        UserError: it names the link.
    """
    root = run.resolve()
    for folder, names, _ in os.walk(root):
        for link in (Path(folder) / name for name in names):
            if link.is_symlink() and not link.resolve().is_relative_to(root):
                raise UserError(
                    f"{run / link.relative_to(root)}: a link out of the run, which would be written through; copy the "
                    "folder instead, or state trust=true if you trust the run"
                )


def check_plugins(config: TrainConfig, place: Path, *, trust: bool) -> None:
    """Refuse the plugged-in classes of a configuration of others, before anything is imported for them.

    Args:
        config: the configuration.
        place: its file, for messages.
        trust: whether the user trusts the files of these classes, as they are on this machine.

    Raises:
        UserError: the user does not, or a file is not the one with which the run was trained.
    """
    named = plugins(vars(config.model))
    if named and not trust:
        key, name = next(iter(named.items()))
        raise UserError(
            f"{place}: {key}={name}: a class of code that is run here; read that code, and state trust=true if you "
            "trust it"
        )
    check_sources(config)


def check_sources(config: TrainConfig) -> None:
    """Refuse plugged-in classes whose files are missing, or are not those with which the run began."""
    for key, name in plugins(vars(config.model)).items():
        digest = source_digest(name)
        if digest is None:
            raise UserError(no_module(name, key=key))
        if f"{name}={digest}" not in config.identity.sources.split():
            module = name.partition(":")[0]
            raise UserError(f"{key}={name}: {module} has changed since the run began; restore it, or train anew")
