"""The settings in which fidelity profiles differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command
from aiayn.config.freeze import plain, to_dataclass
from aiayn.config.identity import flatten
from aiayn.config.meanings import meanings
from aiayn.config.model_schema import TransformerConfig
from aiayn.config.schema import DecodingConfig, OptimizationConfig, TokenizerConfig, TrainConfig
from aiayn.config.store import options
from aiayn.errors import UserError
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid

GROUPS: Mapping[str, type] = {
    "tokenizer": TokenizerConfig,
    "model": TransformerConfig,
    "optimization": OptimizationConfig,
    "decoding": DecodingConfig,
}
"""The groups that a profile may change."""


@dataclass(frozen=True)
class FidelitySetting:
    """A setting in which profiles differ."""

    key: str
    """The key."""
    values: Mapping[str, Any]
    """The value by profile, as in YAML."""
    meaning: str
    """What the setting is."""


@dataclass(frozen=True)
class FidelityContent(Content):
    """Settings in which fidelity profiles differ: aiayn report fidelity."""

    schema: ClassVar = "fidelity/1"

    profiles: tuple[str, ...]
    """The profiles."""
    settings: tuple[FidelitySetting, ...]
    """The settings."""


def report_fidelity(profiles: Sequence[str] | None, output: Path | None) -> None:
    """Print the settings in which profiles (None: all) differ, or write them to a .md file.

    Raises:
        UserError: there is no such profile, or only one was named.
    """
    names = _chosen(profiles)
    lines = list(differing_settings(names))
    headings = ("<key", *(f"<{name}" for name in names), "<meaning")
    grid = Grid("Fidelity profiles, setting by setting", headings, (tuple(lines),))
    written = "Written by `aiayn report fidelity`; values at `scale=paper`."
    settings = tuple(
        FidelitySetting(key, dict(zip(names, map(yaml.safe_load, values), strict=True)), meaning)
        for key, *values, meaning in lines
    )
    show(Document("Fidelity profiles", written, [grid], content=FidelityContent(tuple(names), settings)), output)


def _chosen(profiles: Sequence[str] | None) -> list[str]:
    known = options("fidelity")
    if profiles is None:
        return ["paper", *(name for name in known if name != "paper")]
    names = [profiles] if isinstance(profiles, str) else list(profiles)
    for name in names:
        if name not in known:
            raise UserError(f"profiles={name}: no such profile; choose from {', '.join(known)}")
    if len(names) < 2:
        raise UserError(f"profiles={names}: name two or more, as in profiles=[paper,tensor2tensor_2017]")
    return names


def differing_settings(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The keys in which profiles differ at the paper's own scale, with the value of each and the key's meaning."""
    contents = [_content(name) for name in names]
    for key in contents[0]:
        values = [_shown(content.get(key)) for content in contents]
        if len({*values}) > 1:
            group, _, name = key.partition(".")
            yield key, *values, meanings(GROUPS[group])[name]


def _content(profile: str) -> dict[str, Any]:
    composed = compose_command("train", [f"fidelity={profile}", "scale=paper"])
    content = plain(to_dataclass(composed, TrainConfig))
    return flatten({group: content[group] for group in GROUPS})


def _shown(value: object) -> str:
    return OmegaConf.to_yaml({"value": value}).strip().removeprefix("value: ")
