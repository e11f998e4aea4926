"""`aiayn plan`."""

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from aiayn.config.freeze import typed
from aiayn.config.schema import PlanConfig
from aiayn.config.validation import validate
from aiayn.launch.planning import plan_run
from aiayn.runs.plan import Plan


def main(composed: DictConfig) -> Plan:
    """Count what one run would cost."""
    config = typed(composed, PlanConfig)
    validate(config)
    return plan_run(config, overrides=HydraConfig.get().overrides.task)
