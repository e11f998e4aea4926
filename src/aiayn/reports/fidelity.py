"""The settings in which fidelity profiles differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from aiayn.config.compose import compose_command
from aiayn.config.freeze import plain, to_dataclass
from aiayn.config.identity import flatten
from aiayn.config.model_schema import TransformerConfig
from aiayn.config.schema import DecodingConfig, OptimizationConfig, TokenizerConfig, TrainConfig
from aiayn.config.store import options
from aiayn.errors import UserError
from aiayn.reports.configuration import meanings
from aiayn.reports.formats import Document, Grid, show

GROUPS: Mapping[str, type] = {
    "tokenizer": TokenizerConfig,
    "model": TransformerConfig,
    "optimization": OptimizationConfig,
    "decoding": DecodingConfig,
}
"""The groups that a profile may change."""


@dataclass(frozen=True)
class Setting:
    """One key in which profiles differ."""

    key: str
    values: tuple[str, ...]
    """Of each profile."""
    meaning: str
    """The first sentence of its explanation."""


def report_fidelity(profiles: Sequence[str] | None, output: Path | None) -> None:
    """Print the settings in which profiles differ, or write them to a .md file.

    Args:
        profiles: two or more of them; None: all.
        output: the file, or None for the terminal.

    Raises:
        UserError: there is no such profile, or only one was named.
    """
    names = _chosen(profiles)
    grid = _grid(names, differing_settings(names))
    written = "Written by `aiayn report fidelity`; values at `scale=paper`."
    show(Document("Fidelity profiles", written, [grid]), output)


def _chosen(profiles: Sequence[str] | None) -> list[str]:
    there = options("fidelity")
    if profiles is None:
        return ["paper", *(name for name in there if name != "paper")]
    names = [profiles] if isinstance(profiles, str) else list(profiles)
    for name in names:
        if name not in there:
            raise UserError(f"profiles={name}: no such profile; choose from {', '.join(there)}")
    if len(names) < 2:
        raise UserError(f"profiles={names}: name two or more, as in profiles=[paper,tensor2tensor_2017]")
    return names


def differing_settings(names: Sequence[str]) -> list[Setting]:
    """The keys in which profiles differ at the paper's own scale, in the order of the configuration.

    Args:
        names: of the profiles.
    """
    contents = [_content(name) for name in names]
    return [
        Setting(key, tuple(_shown(content.get(key)) for content in contents), _meaning(key))
        for key in contents[0]
        if len({_shown(content.get(key)) for content in contents}) > 1
    ]


def _content(profile: str) -> dict[str, Any]:
    config = to_dataclass(compose_command("train", [f"fidelity={profile}", "scale=paper"]), TrainConfig)
    content = plain(config)
    return flatten({group: content[group] for group in GROUPS})


def _meaning(key: str) -> str:
    group, _, name = key.partition(".")
    return meanings(GROUPS[group])[name]


def _shown(value: object) -> str:
    return OmegaConf.to_yaml(OmegaConf.create({"value": value})).strip().removeprefix("value: ")


def _grid(names: Sequence[str], settings: Sequence[Setting]) -> Grid:
    lines = tuple((each.key, *each.values, each.meaning) for each in settings)
    return Grid(
        "Fidelity profiles, setting by setting", ("<key", *(f"<{name}" for name in names), "<what it is"), (lines,)
    )
