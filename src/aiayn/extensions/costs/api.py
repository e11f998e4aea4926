"""`aiayn.plan`: the costs of a run as a value."""

from os import PathLike
from typing import TYPE_CHECKING

from aiayn.api.configurations import Overrides, stated
from aiayn.commands.composing import typed_configuration
from aiayn.config.schema import TrainConfig
from aiayn.extensions.costs.plan import plan_run
from aiayn.runs.plan import Plan

if TYPE_CHECKING:
    from aiayn.extensions.costs.schema import PlanConfig


def plan(overrides: Overrides | TrainConfig = (), *, config_dir: str | PathLike[str] | None = None) -> Plan:
    """Return the costs of a run before it is started: parameters, operations, memory, seconds, disk.

    Args:
        overrides: groups and keys of `aiayn plan`, such as "hardware=h100", or a configuration of `compose`.
        config_dir: as for `compose`, which has stated that of a configuration.

    Raises:
        UserError: a mistake in the overrides; or the hardware is neither here nor described.
    """
    words, own = stated(overrides, config_dir)
    config: PlanConfig = typed_configuration("plan", words, config_dir=own)
    return plan_run(config, overrides=words)
