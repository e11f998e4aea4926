"""The schema of each command, and the folders of configuration values."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from aiayn.config import command_schema, report_schema, schema
from aiayn.config.sweep_schema import LAUNCHERS
from aiayn.registry import added_commands, named, with_added
from aiayn.system import files

_OF_THE_CORE: dict[str, type] = {
    "train": schema.TrainConfig,
    "prepare": schema.TrainConfig,
    "check": schema.TrainConfig,
    "evaluate": command_schema.EvaluateConfig,
    "average": command_schema.AverageConfig,
    "translate": command_schema.TranslateConfig,
    "score": command_schema.ScoreConfig,
    "compare": report_schema.CompareConfig,
    "status": command_schema.StatusConfig,
    "sync": command_schema.SyncConfig,
    "report": report_schema.ReportConfig,
}

COMMANDS = with_added(_OF_THE_CORE, {verb: named(command.schema) for verb, command in added_commands().items()})
"""The schema of each command, by verb."""

ALIASES = {"table3_base": "table3/base"}
"""Names of experiments without a slash: Hydra 1.4 lets no word replace a default that has one."""

SWEEPS = "sweeps"
"""The group whose options are whole multiruns."""

GLOBAL_GROUPS = ("experiment", "debug", "fidelity", SWEEPS)
"""Groups whose files state keys of the whole configuration."""


def conf_directory() -> Path:
    """The folder of configuration values: in an installed package, or beside src/ in a checkout."""
    return _beside_the_code("conf", "train.yaml")


def launcher_values(name: str) -> Path:
    """The file of values of a launcher of this project, an option of the group hydra/launcher."""
    return conf_directory() / "hydra" / f"{name}_launcher.yaml"


def sweeps_directory() -> Path:
    """The folder of multiruns; each file is an option of the group `sweeps`."""
    return _beside_the_code(SWEEPS, "table3.yaml")


def _beside_the_code(folder: str, file: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / folder, package.parents[1] / folder):
        if files.is_file(candidate / file):
            return candidate
    raise FileNotFoundError(f"no {folder}/{file} beside {package}: the installation is incomplete")


def group_directory(group: str) -> Path:
    """The folder that holds a group's options."""
    return sweeps_directory() if group == SWEEPS else conf_directory() / group


def groups(verb: str, *, folders: Iterable[Path] = ()) -> dict[str, list[str]]:
    """The groups from which a command takes an option, with their options; those with one option are left out."""
    schema_of_verb = COMMANDS[verb]
    if not issubclass(schema_of_verb, schema.TrainConfig):
        return {}
    roots = [*folders]
    names = sorted({*(field.name for field in dataclasses.fields(schema_of_verb)), *GLOBAL_GROUPS})
    found = {name: options(name, folders=roots) for name in names} | {"hydra/launcher": ["basic", *LAUNCHERS]}
    return {name: known for name, known in found.items() if len(known) > 1}


def options(group: str, *, folders: Iterable[Path] = ()) -> list[str]:
    """Every option of a group and its folders, sorted; also in further folders, such as the user's `--config-dir`."""
    roots = [group_directory(group), *(folder / group for folder in folders)]
    pattern = "*.yaml" if group == SWEEPS else "**/*.yaml"  # folders in sweeps/ hold the sweeps of other tools
    return sorted({str(path.relative_to(root).with_suffix("")) for root in roots for path in root.glob(pattern)})
