"""The resolvers of conf/ beyond OmegaConf's own."""

import atexit
import math
from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from aiayn.config.difference import run_difference, run_title
from aiayn.config.hydra_versions import register_resolver
from aiayn.config.identity import NEUTRAL_GROUPS, configuration_hash
from aiayn.config.model_schema import plugins
from aiayn.config.store import ALIASES
from aiayn.errors import UserError
from aiayn.system import machine
from aiayn.system.plugins import source_digest
from aiayn.system.processes import stated_devices
from aiayn.system.scratch import make_temporary, remove_scratch


def scaled(value: float, axis: str = "width", *, _root_: DictConfig) -> int:
    """A size of the paper times the scale's factor for one axis, at least 1.

    `${scaled:512}` follows the width; the other axes are named: `${scaled:100000,steps}`.
    """
    factor = _root_.scale.get(axis)
    if factor is None:
        raise UserError(f"scaled:{value},{axis}: the scale has no axis {axis!r}; it has {', '.join(_root_.scale)}")
    scaled_value = value * float(factor)
    return max(1, round(scaled_value)) if math.isfinite(scaled_value) else 1  # validation refuses the factor


def head_width(d_model: int, num_heads: int) -> int:
    """d_model / h, the paper's width of one head (section 3.2.2); 0 if the heads do not divide.

    Validation refuses the 0. An error raised here would end the whole sweep instead of one job.
    """
    return d_model // num_heads if num_heads > 0 and d_model % num_heads == 0 else 0


def share(total: int, parts: int) -> int:
    """One of `parts` equal shares of a total, at least 1."""
    return max(1, total // parts)


def last_part(key: str, *, _parent_: DictConfig) -> str:
    """The last part of the path in a neighbouring key."""
    path = "" if OmegaConf.is_missing(_parent_, key) else str(_parent_[key])
    return PurePosixPath(path).name or path


def experiment_name(option: str | None) -> str:
    """The name of the experiment chosen."""
    return ALIASES.get(str(option), str(option))


def jobs_at_once(*, _root_: DictConfig) -> int:
    """Concurrent jobs that this machine has room for: by its GPUs if they train on GPUs, else by its cores."""
    asked = OmegaConf.select(_root_, "trainer.devices", default=1)
    devices = stated_devices({"devices": list(asked) if isinstance(asked, ListConfig) else asked})
    each = len(devices) if isinstance(devices, list) else devices
    if machine.works_on_gpus(OmegaConf.select(_root_, "trainer.accelerator", default="auto")):
        gpus = len(machine.gpus())
        sharers = OmegaConf.select(_root_, "launch.jobs_per_device") or 1
        return share(gpus * max(1, sharers), max(1, each or gpus))
    cores_each = OmegaConf.select(_root_, "launch.cores_per_job") or 1
    return share(len(machine.cores()), max(1, cores_each, each or 1))


def by_device(on_cpu: int, on_gpu: int, *, _root_: DictConfig) -> int:
    """One of two values, by where the run trains."""
    is_on_gpu = machine.works_on_gpus(OmegaConf.select(_root_, "trainer.accelerator", default="auto"))
    return on_gpu if is_on_gpu else on_cpu


def run_hash(*, _root_: DictConfig) -> str:
    """The run's identity."""
    content: dict[str, Any] = {
        str(key): OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node
        for key in _root_
        if key != "hydra" and key not in NEUTRAL_GROUPS
        for node in (_root_[key],)
    }
    return configuration_hash(content, fidelity=_root_.identity.fidelity, sources=_root_.identity.sources)


def plugin_sources(*, _root_: DictConfig) -> str:
    """Each class of the user's own in the group `model` with the digest of its file; empty: there is none."""
    # Text, since Hydra resolves interpolations to mappings while it merges schemas, too early.
    return " ".join(f"{name}={source_digest(name)}" for name in plugins(_root_.model).values())


@cache
def scratch() -> str:
    """A folder for Hydra's own files of a multirun; it is removed when this process ends."""
    folder = make_temporary(prefix="aiayn-hydra-")
    atexit.register(remove_scratch, folder)
    return str(folder)


RESOLVERS: tuple[Callable[..., Any], ...] = (
    scaled,
    head_width,
    share,
    last_part,
    experiment_name,
    jobs_at_once,
    by_device,
    run_hash,
    plugin_sources,
    run_difference,
    run_title,
    scratch,
)
"""Each under its own name."""


def register_resolvers() -> None:
    """Register the resolvers with OmegaConf."""
    for function in RESOLVERS:
        register_resolver(function.__name__, function)
