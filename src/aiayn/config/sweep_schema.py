"""The schema of Hydra's own groups: sweepers and launchers, with those of the extensions.

No field has a default.
"""

from dataclasses import dataclass

from omegaconf import MISSING

from aiayn.config.values import Count
from aiayn.registry import added_launchers, added_sweepers, named


@dataclass
class JoblibConfig:
    """`hydra.launcher` of hydra/launcher=joblib; conf/hydra/joblib_launcher.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_launchers.JoblibJobsLauncher"
    n_jobs: Count = MISSING
    """Jobs at once; ${jobs_at_once:}: as many as the machine has GPUs or cores for."""


LAUNCHERS: dict[str, type] = {
    "joblib": JoblibConfig,
    **{name: named(launcher.schema) for name, launcher in added_launchers().items()},
}
"""The options of hydra/launcher beside Hydra's own, basic; conf/hydra/<option>_launcher.yaml holds the values."""

SWEEPERS: dict[str, type] = {name: named(sweeper.schema) for name, sweeper in added_sweepers().items()}
"""The options of hydra/sweeper besides Hydra's own, basic."""
