"""The schema of `aiayn compare`. No field has a default; see `schema`."""

from dataclasses import dataclass

from omegaconf import MISSING

from aiayn.config.schema import PathsConfig


@dataclass
class CompareConfig:
    """`aiayn compare`."""

    run: str = MISSING
    """A run directory, or a folder below its evaluations/."""
    against: str = MISSING
    """Another one, on the same data; differences are the first minus this one."""
    split: str = MISSING
    """dev or test."""
    examples: int = MISSING
    """How many sentences to show of those on which either is ahead most."""
    output: str | None = MISSING
    """A .md or .json file to write; null: to the terminal."""
    resamples: int = MISSING
    """Draws of the bootstrap, and exchanges of the randomisation; no p-value falls below 1 / (resamples + 1)."""
    seed: int = MISSING
    """What both derive from."""
    paths: PathsConfig = MISSING
    """Folders; paths.cache may hold the corpus."""
