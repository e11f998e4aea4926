"""Hand the schema to Hydra and find the folder that holds the values."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from omegaconf import OmegaConf

from aiayn.config import command_schema, data_schema, model_schema, report_schema, schema
from aiayn.config.resolvers import register_resolvers
from aiayn.config.values import accept_whole_floats

COMMANDS: dict[str, type] = {
    "train": schema.TrainConfig,
    "prepare": schema.TrainConfig,
    "plan": schema.PlanConfig,
    "evaluate": command_schema.EvaluateConfig,
    "average": command_schema.AverageConfig,
    "translate": command_schema.TranslateConfig,
    "parse": command_schema.ParseConfig,
    "tune": command_schema.TuneConfig,
    "score": command_schema.ScoreConfig,
    "compare": report_schema.CompareConfig,
    "export": command_schema.ExportConfig,
    "attention": command_schema.AttentionConfig,
    "report": report_schema.ReportConfig,
    "status": command_schema.StatusConfig,
    "dashboard": report_schema.DashboardConfig,
    "sync": command_schema.SyncConfig,
}
"""The commands and the type of each one's configuration."""


SWEEPS = "sweeps"
"""The group whose options are whole multiruns."""

JOBLIB = "hydra/joblib_launcher.yaml"
"""In conf/: the option joblib of the group hydra/launcher."""

SLURM = "hydra/slurm_launcher.yaml"
"""In conf/: the option slurm of the same group."""


@cache
def register() -> None:
    """Register resolvers and schemas; calling it again does nothing."""
    register_resolvers()
    accept_whole_floats()
    store = ConfigStore.instance()
    for command, node in COMMANDS.items():
        store.store(name=f"{command}_schema", node=node)
    for kind, node in data_schema.DATA_TYPES.items():
        store.store(name=f"{kind.name}_data_schema", node=node)
    for model, node in model_schema.MODEL_TYPES.items():
        store.store(name=f"{model.name}_model_schema", node=node)
    store.store(group="hydra/sweeper", name="search", node=schema.SearchConfig, provider="aiayn")
    # Hydra reads groups from folders; the folder above sweeps/ holds much besides, all of which would become groups.
    for path in sweeps_directory().glob("*.yaml"):
        store.store(group=SWEEPS, name=path.stem, node=OmegaConf.load(path), package="_global_", provider=str(path))
    # A file hydra/launcher/joblib.yaml would have to fit the launcher's own schema, which does not know all it takes.
    Plugins.instance()  # has the launchers register theirs
    launcher = OmegaConf.load(conf_directory() / JOBLIB)
    store.store(group="hydra/launcher", name="joblib", node=launcher, provider=JOBLIB)
    launcher = OmegaConf.merge(OmegaConf.structured(schema.SlurmConfig), OmegaConf.load(conf_directory() / SLURM))
    store.store(group="hydra/launcher", name="slurm", node=launcher, provider=SLURM)


def conf_directory() -> Path:
    """The folder of configuration values: inside an installed package, or beside src/ in a checkout."""
    return _beside_the_code("conf", "train.yaml")


def sweeps_directory() -> Path:
    """The folder of multiruns, beside that of values; each of its files is an option of the group `sweeps`."""
    return _beside_the_code(SWEEPS, "table3.yaml")


def _beside_the_code(folder: str, file: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / folder, package.parents[1] / folder):
        if (candidate / file).is_file():
            return candidate
    raise FileNotFoundError(f"no {folder}/{file} beside {package}: the installation is incomplete")


def group_directory(group: str) -> Path:
    """The folder that holds a group's options."""
    return sweeps_directory() if group == SWEEPS else conf_directory() / group


def options(group: str, *, folders: Iterable[Path] = ()) -> list[str]:
    """Every option of a group, those in its folders too, sorted.

    Args:
        group: a folder of conf/, or sweeps.
        folders: where to look besides, such as the user's own `--config-dir`.
    """
    roots = [group_directory(group), *(folder / group for folder in folders)]
    pattern = "*.yaml" if group == SWEEPS else "**/*.yaml"  # folders in sweeps/ hold the sweeps of other tools
    return sorted({str(path.relative_to(root).with_suffix("")) for root in roots for path in root.glob(pattern)})
