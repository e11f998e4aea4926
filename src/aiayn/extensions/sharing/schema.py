"""The schema of `aiayn publish` and `aiayn replay`."""

from dataclasses import dataclass
from enum import StrEnum

from omegaconf import MISSING

from aiayn.config.command_schema import TrustConfig
from aiayn.config.schema import PathsConfig, ProcessConfig, RunsPathConfig
from aiayn.config.values import Seed, text, text_or_null, true_or_false


@dataclass
class PublishConfig(TrustConfig):
    """`aiayn publish`."""

    run: str = text()
    """A run directory; a published one is only uploaded."""
    checkpoint: str | None = text_or_null()
    """last, best, average or an optimizer step; null: the one whose scores the run's record has."""
    output: str | None = text_or_null()
    """The folder to make; it must not exist. null: no copy here, which requires repository."""
    repository: str | None = text_or_null()
    """A repository of the Hugging Face hub to upload to, as user/name; it is made if it does not exist; null: none."""
    private: bool = true_or_false()
    """Whether a new repository is private."""
    paths: RunsPathConfig = MISSING
    """Folders; the model card compares the run with base below paths.runs."""
    launch: ProcessConfig = MISSING
    """Settings of this process."""


class ReplayMode(StrEnum):
    """The part of a run that is done again."""

    train = "train"
    score = "score"


@dataclass
class ReplayConfig(TrustConfig):
    """`aiayn replay`."""

    record: str = text()
    """A run.json, or the run directory that holds it."""
    mode: ReplayMode = MISSING
    """train: train again; score: score the stored checkpoint again, or the stored hypotheses without one."""
    output: str = text()
    """The folder for replays; the run directory of each lies below it."""
    seed: Seed | None = MISSING
    """Train with this seed instead, to see how much seeds alone change; null: the record's."""
    paths: PathsConfig = MISSING
    """Folders; the noise between seeds is estimated from runs of the same row below paths.runs."""
