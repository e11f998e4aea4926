"""`aiayn plan`."""

from hydra.core.hydra_config import HydraConfig

from aiayn.config.validation import validate
from aiayn.extensions.costs.plan import plan_run
from aiayn.extensions.costs.schema import PlanConfig
from aiayn.runs.plan import Plan


def check(config: PlanConfig) -> None:
    """Refuse a run that `aiayn train` would refuse."""
    validate(config)


def main(config: PlanConfig) -> Plan:
    """Count the costs of one run."""
    return plan_run(config, overrides=HydraConfig.get().overrides.task)
