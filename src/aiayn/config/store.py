"""Hand the schema to Hydra and find the folder that holds the values."""

from collections.abc import Iterable
from pathlib import Path

from hydra.core.config_store import ConfigStore

from aiayn.config import command_schema, data_schema, schema
from aiayn.config.resolvers import register_resolvers

COMMANDS: dict[str, type] = {
    "train": schema.TrainConfig,
    "prepare": schema.TrainConfig,
    "evaluate": command_schema.EvaluateConfig,
    "translate": command_schema.TranslateConfig,
    "score": command_schema.ScoreConfig,
    "report": command_schema.ReportConfig,
    "status": command_schema.StatusConfig,
}
"""The commands and the type of each one's configuration."""


def register() -> None:
    """Register resolvers and schemas; calling it again changes nothing."""
    register_resolvers()
    store = ConfigStore.instance()
    for command, node in COMMANDS.items():
        store.store(name=f"{command}_schema", node=node)
    for kind, node in data_schema.DATA_TYPES.items():
        store.store(name=f"{kind.name}_data_schema", node=node)


def conf_directory() -> Path:
    """The folder of configuration values: inside an installed package, or beside src/ in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "conf", package.parents[1] / "conf"):
        if (candidate / "train.yaml").is_file():
            return candidate
    raise FileNotFoundError(f"no conf/train.yaml beside {package}: the installation is incomplete")


def options(group: str, *, folders: Iterable[Path] = ()) -> list[str]:
    """Every option of a group, those in its folders too, sorted.

    Args:
        group: a folder of conf/.
        folders: where to look besides, such as the user's own `--config-dir`.
    """
    roots = [folder / group for folder in (conf_directory(), *folders)]
    return sorted({str(path.relative_to(root).with_suffix("")) for root in roots for path in root.rglob("*.yaml")})
