"""What a command line may state next: the keys, and the values of a key that the schema, conf/ or records list."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from aiayn.commands.report import REPORTS
from aiayn.commands.words import searchpath
from aiayn.errors import UserError
from aiayn.registry import added_commands
from aiayn.system import files, machine
from aiayn.system.output_format import Format

if TYPE_CHECKING:  # the names of verbs need no OmegaConf
    from omegaconf import DictConfig

PATHS = frozenset(
    [
        *("run", "against", "init_from", "output", "publish", "from", "source", "target"),
        *("paths.runs", "paths.cache", "tokenizer.vocabulary", "only.like", "data.path"),
        *(f"data.{split}{side}" for split in ("train", "dev", "test") for side in ("", ".source", ".target")),
        "data.silver",
    ]
)
"""The keys of files and folders."""

RUNS = frozenset(["run", "against", "only.like", "paths.runs", "paths.cache"])
"""The keys of folders alone."""

COMPUTED = re.compile(r"identity\..*|(data|model|tokenizer)\.kind|noun|hydra\..*_target_")
"""Keys that are not stated on the command line."""


@dataclass(frozen=True)
class Line:
    """What is typed before the word: it says which keys there are, and which values they may have."""

    verb: str
    noun: str
    overrides: Sequence[str]
    folder: Path | None
    """Of --config-dir."""
    has_json: bool = False
    without: tuple[str, ...] = ()
    """Keys that the verb itself states."""

    @cached_property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """The options of each group."""
        from aiayn.config import store

        found = store.groups(self.verb, folders=[] if self.folder is None else [self.folder])
        return {group: options for group, options in found.items() if group not in self.without}

    @cached_property
    def _stated(self) -> Mapping[str, str]:
        return dict(word.split("=", 1) for word in self.overrides if "=" in word)

    @cached_property
    def _composed(self) -> "DictConfig":
        """The configuration with the options chosen so far; with the defaults, if these do not compose."""
        from hydra.core.hydra_config import HydraConfig

        from aiayn.config.compose import compose_with_hydra

        chosen = {key: value for key, value in self._stated.items() if key in (*self.groups, "paths.runs")}
        words = [f"{key}={value.partition(',')[0]}" for key, value in chosen.items()]
        folder = [] if self.folder is None else [searchpath(self.folder)]
        try:
            composed = compose_with_hydra(self.verb, [*folder, *words])
        except Exception:  # a mistake in the line, or in a file that it names
            composed = compose_with_hydra(self.verb)
        HydraConfig.instance().set_config(composed)
        return composed

    def known_keys(self) -> list[str]:
        """The keys and groups."""
        from omegaconf import OmegaConf

        from aiayn.config.identity import flatten
        from aiayn.config.sweep_schema import LAUNCHERS, SWEEPERS

        content: Any = OmegaConf.to_container(self._composed, resolve=False)
        hydra, documented = content.pop("hydra"), (*LAUNCHERS.values(), *SWEEPERS.values())
        for part in ("launcher", "sweeper"):
            if self._schema(f"hydra.{part}") in documented:
                content[f"hydra.{part}"] = hydra[part]
        found = [key for key in flatten(content) if not COMPUTED.fullmatch(key)]
        if self.verb == "report":
            found = ["from" if key == "published" else key for key in found if self._is_of_report(key)]
        return [*self.groups, *found, *(["format"] if self.has_json else [])]

    @property
    def _own_paths(self) -> Sequence[str]:
        if self.verb == "report":
            return REPORTS[self.noun].paths
        added = added_commands().get(self.verb)
        return () if added is None else added.paths

    def _is_of_report(self, key: str) -> bool:
        report = REPORTS[self.noun]
        if key.startswith("only."):
            return key.removeprefix("only.") in report.chooses_by
        return key in report.keys or not any(key in each.keys for each in REPORTS.values())

    def values(self, key: str, start: str, *, in_list: bool) -> Iterable[str]:
        """The values of a key or a group; of a path those that begin with a text; of a free value the present one."""
        from aiayn.config.values import choices, is_listed

        if key in self.groups:
            return [] if in_list else self.groups[key]
        if key == "format" and self.has_json:
            return Format
        field = "published" if key == "from" else key
        hint = self._hint(field)
        if COMPUTED.fullmatch(key) or (in_list and not is_listed(hint)):
            return []
        if self.verb == "report" and not self._is_of_report(field):
            return []
        listed = [name for name in choices(hint) if not (in_list and name == "null")]
        if key in PATHS or key in self._own_paths:
            return [*listed, *file_names(start, only_folders=key in RUNS)] if hint is not None else []
        if (kept := self._kept(key)) is not None:
            return [kept]
        if found := [*(self._names(key) if hint is not None or key.startswith("callbacks.") else ()), *listed]:
            return found
        present = self._node(key)
        if isinstance(present, bool):
            return ["true", "false"]
        return [str(present)] if isinstance(present, int | float | str) else []

    def _kept(self, key: str) -> str | None:
        """The only value that an argument of a checkpoint callback may have; None where there is a choice."""
        from aiayn.config.third_parties import KEPT

        _, name, argument = key.split(".") if key.startswith("callbacks.") and key.count(".") == 2 else ("", "", "")
        value = KEPT.get(name, {}).get(argument)
        return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    def _hint(self, key: str) -> Any:
        """The type of a key, by the schema or by the arguments of Lightning and W&B; None if they do not tell."""
        from aiayn.config import store
        from aiayn.config.third_parties import ARGUMENTS, WANDB, logs_to_wandb

        hint: Any = store.COMMANDS[self.verb]
        for name in key.split("."):
            hint = get_type_hints(hint, include_extras=True).get(name) if is_dataclass(hint) else None
        group, _, name = key.rpartition(".")
        if hint is not None or not group:
            return hint
        if schema := self._schema(group):
            return get_type_hints(schema, include_extras=True).get(name)
        if group == "logger" and not logs_to_wandb(self._composed.get(group, {})):
            return None
        return {"trainer": ARGUMENTS, "logger": WANDB}.get(group, {}).get(name)

    def _node(self, key: str) -> Any:
        """What a key holds in the configuration; None if there is no such key, or its value has none."""
        from omegaconf import OmegaConf

        with suppress(Exception):  # it refers to a value that has none
            return OmegaConf.select(self._composed, key)
        return None

    def _schema(self, group: str) -> Any:
        """The dataclass of the keys below a group, as composed; None for other groups."""
        from omegaconf import OmegaConf

        schema = OmegaConf.get_type(self._node(group)) if OmegaConf.is_dict(self._node(group)) else None
        return schema if is_dataclass(schema) else None

    def _names(self, key: str) -> Iterable[str]:
        """The values of a key that depend on runs, files, the machine, or other keys; none for other keys."""
        from omegaconf.errors import OmegaConfBaseException

        from aiayn.config import store

        try:
            match key.split("."):
                case ["checkpoint"] if run := self._stated.get("run"):
                    return self._checkpoints(run)
                case ["only", name]:
                    return self._of_records(name)
                case ["study"]:
                    from aiayn.registry import studies_module

                    known = studies_module()
                    return [] if known is None else known.study_names(self._runs)
                case ["profiles"]:
                    return store.options("fidelity")
                case ["device"]:
                    return machine.device_names(len(machine.gpus()))
                case ["table"]:
                    from aiayn.paper.tables import TABLES

                    return map(str, TABLES)
                case ["callbacks", name, "monitor"] if self._node(key) is not None:
                    from omegaconf import OmegaConf

                    from aiayn.config.third_parties import BETTER_WHEN, monitored_metrics

                    data: Any = OmegaConf.to_object(self._composed.data)
                    mode = self._stated.get(f"callbacks.{name}.mode", str(self._node(f"callbacks.{name}.mode")))
                    metrics = monitored_metrics(self._composed.decoding, data)
                    return [metric for metric in metrics if BETTER_WHEN.get(metric, mode) == mode]
        except (UserError, OmegaConfBaseException):  # a run, or a folder, that cannot be read; a corpus without a path
            return []
        return []

    @property
    def _runs(self) -> Path:
        return Path(self._composed.paths.runs).expanduser()

    def _checkpoints(self, run: str) -> Iterable[str]:
        """Those of a run, or of the first of a list."""
        from aiayn.runs.directory import RunDirectory

        return RunDirectory(Path(run.strip("[]").partition(",")[0]).expanduser()).checkpoint_names()

    def _of_records(self, name: str) -> set[str]:
        """The values of a key below `only` by which runs can be chosen."""
        from aiayn.reports.reported_runs import is_chosen
        from aiayn.runs.ledger import read_results

        start = f"{self.noun}/" if self.noun.startswith("table") else ""
        scale, data = (None if key == name else self._stated.get(f"only.{key}") for key in ("scale", "data"))
        found = [
            (entry, entry.record)
            for entry in read_results(self._runs)
            if entry.record and entry.record.experiment.startswith(start)
            if is_chosen(entry.record, scale=scale, data=data)
        ]
        if name == "sweep":
            return {sweep for entry, _ in found for sweep in entry.directory.sweeps}
        return {str(getattr(record, name, "")) for _, record in found} - {""}


def file_names(start: str, *, only_folders: bool = False) -> Iterator[str]:
    """The files and folders whose path begins with a text; a run directory is a whole word, and other folders go on."""
    folder, _, name = start.rpartition("/")
    folder += "/" if "/" in start else ""
    found: list[Path] = []
    with suppress(OSError, RuntimeError):  # RuntimeError: no such home
        found = [*Path(folder or ".").expanduser().iterdir()]
    for path in found:
        with suppress(UserError):  # what may not be read is not offered
            goes_on = files.is_dir(path) and not files.is_file(path / "config.yaml")
            is_offered = files.is_dir(path) or not only_folders
            if is_offered and (not path.name.startswith(".") or name.startswith(".")):
                yield f"{folder}{path.name}{'/' if goes_on else ''}"
