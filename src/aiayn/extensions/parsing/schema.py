"""The schema of `aiayn parse`."""

from dataclasses import dataclass

from omegaconf import MISSING

from aiayn.config.command_schema import SearchOverridesConfig, UseConfig


@dataclass
class ParseConfig(UseConfig):
    """`aiayn parse`."""

    decoding: SearchOverridesConfig = MISSING
    """Search settings that differ from the run's."""
