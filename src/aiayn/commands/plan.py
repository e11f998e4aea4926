"""`aiayn plan`."""

from hydra.core.hydra_config import HydraConfig

from aiayn.config.schema import PlanConfig
from aiayn.config.validation import validate
from aiayn.costs.plan import Plan, plan_run
from aiayn.errors import UserError


def check(config: PlanConfig) -> None:
    """Refuse a run that `aiayn train` would refuse, and a device without memory or speed."""
    validate(config)
    for name, value in vars(config.hardware).items():
        if isinstance(value, int | float) and value <= 0:
            raise UserError(f"hardware.{name}={value}: must be greater than 0, or null")


def main(config: PlanConfig) -> Plan:
    """Count the costs of one run."""
    return plan_run(config, overrides=HydraConfig.get().overrides.task)
