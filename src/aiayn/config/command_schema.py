"""The schema of every command that trains nothing. No field has a default; see `schema`."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

from omegaconf import MISSING

from aiayn.config.schema import DecodingConfig, ProcessConfig, RankConfig, RunsPathConfig
from aiayn.config.values import (
    LARGEST,
    Count,
    Name,
    OneOrList,
    Positive,
    Range,
    Texts,
    WholeNumbersOrNull,
    text,
    text_or_null,
    true_or_false,
)

Resamples: TypeAlias = Annotated[int, Range(100, LARGEST)]

Overrides = TypeVar("Overrides")


def overriding(settings: type, *names: str) -> Callable[[type[Overrides]], type[Overrides]]:
    """Give a class some fields of another dataclass, each with null as a further value; `@dataclass` follows."""

    def with_fields(overrides: type[Overrides]) -> type[Overrides]:
        hints = get_type_hints(settings, include_extras=True)
        overrides.__annotations__ = {name: hints[name] | None for name in names}
        for name in names:
            setattr(overrides, name, MISSING)
        overrides.overridden = settings  # type: ignore[attr-defined]  # holds the docstrings of the fields
        return overrides

    return with_fields


BEAM_SEARCH = (
    "beam_size",
    "length_penalty",
    "length_penalty_alpha",
    "max_extra_length",
    "batch_tokens",
    "eos_within",
    "constrained",
)


@dataclass
class OverridesConfig:
    """Settings that differ from the run's; null keeps the run's."""


@dataclass
@overriding(DecodingConfig, *BEAM_SEARCH)
class SearchOverridesConfig(OverridesConfig):
    """Search settings that differ from the run's; null keeps the run's."""


@dataclass
@overriding(DecodingConfig, *BEAM_SEARCH, "limit_sentences", "bleu_tokenizer")
class DecodingOverridesConfig(SearchOverridesConfig):
    """The same for commands that decode a split."""


@dataclass
class TrustConfig:
    """Whether code that a run names is run."""

    trust: bool = true_or_false()
    """Run the plugged-in classes of a run outside the folder runs, if their files are those of its training."""


@dataclass
class EnsembleConfig(TrustConfig):
    """A model, or several."""

    run: Texts = MISSING
    """A run directory, or a list of them: an ensemble, which searches as the first one does."""
    checkpoint: str = text()
    """last, best, average or an optimizer step."""


@dataclass
class DeviceConfig:
    """The process of a command that uses a model."""

    device: str = text()
    """The device: cpu, cuda, cuda:<n>, or auto: CUDA if available."""
    launch: ProcessConfig = MISSING
    """Settings of this process."""


class ScoredSplit(StrEnum):
    """A split of a corpus that is not trained on."""

    dev = "dev"
    test = "test"


@dataclass
class EvaluateConfig(EnsembleConfig):
    """`aiayn evaluate`."""

    splits: Annotated[Any, OneOrList(str), Name(ScoredSplit)] = MISSING
    """The splits to score: dev, test, or a list."""
    n_best: Count | None = MISSING
    """Also write this many hypotheses of each sentence with their scores, as JSON; null: the best one's text alone."""
    decoding: DecodingOverridesConfig = MISSING
    """Search settings that differ from the run's."""
    launch: RankConfig = MISSING
    """Settings of this process, or of each one of a group."""


@dataclass
class AverageConfig:
    """`aiayn average`."""

    run: str = text()
    """A run directory."""
    last: Any = MISSING
    """Number of last checkpoints; paper: 5 of a base model, 20 of a big one; null: as the run states."""
    steps: WholeNumbersOrNull = MISSING
    """Optimizer steps of the checkpoints instead, a list; null: the last ones."""


@dataclass
class UseConfig(DeviceConfig, EnsembleConfig):
    """Keys of the commands that feed text to a run's model."""

    window: Count = MISSING
    """Lines read ahead, to batch those of similar length; 1 answers each line immediately, as on a terminal."""
    max_length: int | None = MISSING
    """Most tokens of a sentence, end mark included; null: the run's model.max_positions, which is also the largest."""


@dataclass
class TranslateConfig(UseConfig):
    """`aiayn translate`."""

    n_best: Count | None = MISSING
    """Write this many hypotheses of each line with their scores, as JSON; null: the best one's text."""
    decoding: SearchOverridesConfig = MISSING
    """Search settings that differ from the run's."""


@dataclass
class ScoreConfig(UseConfig):
    """`aiayn score`."""

    source: str | None = text_or_null()
    """A file of source sentences, plain, gzip, bzip2 or xz; null for both: pairs from standard input."""
    target: str | None = text_or_null()
    """The file of their translations, line by line."""
    batch_tokens: Count | None = MISSING
    """Padded tokens a side scored at once; null: the run's decoding.batch_tokens."""


class AttentionUnits(StrEnum):
    """The rows and columns of attention."""

    words = "words"
    tokens = "tokens"


class View(StrEnum):
    """The layout of the runs: a line for each row, or a line for each run."""

    auto = "auto"
    rows = "rows"
    runs = "runs"


@dataclass
class StatusConfig:
    """`aiayn status`."""

    view: View = MISSING
    """rows: a line for each row and a column for each seed; runs: a line for each run; auto: rows where one has several
    seeds."""
    watch: bool = true_or_false()
    """Refresh until Ctrl-C."""
    interval: Positive = MISSING
    """Seconds between two refreshes."""
    paths: RunsPathConfig = MISSING
    """Folders; the runs below paths.runs are listed."""


@dataclass
class SyncConfig:
    """`aiayn sync`."""

    run: str | None = text_or_null()
    """A run directory; null: every run below paths.runs."""
    retries: Count = MISSING
    """Repetitions of a failed request to W&B's server."""
    timeout: Count = MISSING
    """Seconds to wait for an answer of the server."""
    paths: RunsPathConfig = MISSING
    """Folders."""
