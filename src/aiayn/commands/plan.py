"""`aiayn plan`."""

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from aiayn.config.computed import refuse_stated_identity
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import PlanConfig
from aiayn.config.validation import validate
from aiayn.costs.plan import Plan, plan_run
from aiayn.errors import UserError


def checked(composed: DictConfig) -> PlanConfig:
    """The configuration of a run and of the devices that it is planned for.

    Raises:
        UserError: a run would be refused.
    """
    refuse_stated_identity(composed, "plan")
    config = to_dataclass(composed, PlanConfig)
    validate(config)
    for name, value in vars(config.hardware).items():
        if isinstance(value, int | float) and value <= 0:
            raise UserError(f"hardware.{name}={value}: must be greater than 0, or null")
    return config


def main(composed: DictConfig) -> Plan:
    """Count what one run would cost."""
    return plan_run(checked(composed), overrides=HydraConfig.get().overrides.task)
