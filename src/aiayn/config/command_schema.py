"""The schema of every command that trains nothing. No field has a default; see `schema`."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from omegaconf import MISSING

from aiayn.config.schema import EndsAmong, ProcessConfig, RankConfig, RunsPathConfig


@dataclass
class SearchOverridesConfig:
    """Settings of the search that differ from the run's own; null keeps the run's."""

    beam_size: int | None = MISSING
    """Hypotheses kept per sentence."""
    length_penalty_alpha: float | None = MISSING
    """Alpha of the length penalty."""
    max_extra_length: int | None = MISSING
    """Output is at most this many tokens longer than the input."""
    batch_tokens: int | None = MISSING
    """Padded source tokens decoded at once."""
    ends_among: EndsAmong | None = MISSING
    """Which continuations may end: candidates or beam."""
    constrained: bool | None = MISSING
    """Whether what is no tree over exactly the words is impossible."""


@dataclass
class TunedOverridesConfig:
    """Settings of the search that differ from the run's own, beside those that are tuned; null keeps the run's."""

    max_extra_length: int | None = MISSING
    """Output is at most this many tokens longer than the input."""
    batch_tokens: int | None = MISSING
    """Padded source tokens decoded at once."""
    ends_among: EndsAmong | None = MISSING
    """Which continuations may end: candidates or beam."""
    limit_sentences: int | None = MISSING
    """Only this many sentences of the development set, its first ones."""


@dataclass
class DecodingOverridesConfig(SearchOverridesConfig):
    """The same where a split is decoded."""

    limit_sentences: int | None = MISSING
    """Only this many sentences of a split, its first ones."""


class Quantization(Enum):
    """What an export's weights are stored as."""

    float32 = "float32"
    float16 = "float16"
    bfloat16 = "bfloat16"
    int8 = "int8"


@dataclass
class EvaluateConfig:
    """`aiayn evaluate`."""

    run: Any = MISSING
    """A run directory, or a list of them: an ensemble, which searches as the first one does."""
    checkpoint: str = MISSING
    """last, best, average or an optimizer step."""
    splits: Any = MISSING
    """Which of dev and test to score: one of them, or a list."""
    n_best: int | None = MISSING
    """Also write so many hypotheses of each sentence with their scores, as JSON; null: the best one's text alone."""
    decoding: DecodingOverridesConfig = MISSING
    """What to search differently."""
    launch: RankConfig = MISSING
    """How this process, or each of a group's, computes."""


@dataclass
class AverageConfig:
    """`aiayn average`."""

    run: str = MISSING
    """A run directory."""
    last: Any = MISSING
    """How many of the last checkpoints kept; paper: 5 of a base model, 20 of a big one; null: as the run states."""
    steps: Any = MISSING
    """Which checkpoints instead, a list of optimizer steps; null: the last ones."""


@dataclass
class UseConfig:
    """What every command needs that feeds text to a run's model."""

    run: Any = MISSING
    """A run directory, or a list of them: an ensemble, which searches as the first one does."""
    checkpoint: str = MISSING
    """last, best, average or an optimizer step."""
    window: int = MISSING
    """Lines read ahead, to batch those of similar length; 1 answers every line at once, as on a terminal."""
    max_length: int | None = MISSING
    """Most tokens of a sentence, end mark included; null, and at most: the run's model.max_positions."""
    device: str = MISSING
    """Where to compute: cpu, cuda, cuda:<n>, or auto: CUDA if there is any."""
    launch: ProcessConfig = MISSING
    """How this process computes."""


@dataclass
class TranslateConfig(UseConfig):
    """`aiayn translate`."""

    n_best: int | None = MISSING
    """Write so many hypotheses of each line with their scores, as JSON; null: the best one's text."""
    decoding: SearchOverridesConfig = MISSING
    """What to search differently."""


@dataclass
class ParseConfig(UseConfig):
    """`aiayn parse`."""

    decoding: SearchOverridesConfig = MISSING
    """What to search differently."""


@dataclass
class TuneConfig:
    """`aiayn tune`."""

    run: Any = MISSING
    """A run directory, or a list of them: an ensemble, which searches as the first one does."""
    checkpoint: str = MISSING
    """last, best, average or an optimizer step."""
    beam_sizes: Any = MISSING
    """Which beam sizes to try, a list; each costs a search of the development set."""
    alphas: Any = MISSING
    """Which alphas of the length penalty to try, a list; they cost next to nothing."""
    output: str | None = MISSING
    """A .md or .json file to write; null: to the terminal."""
    resamples: int = MISSING
    """Draws of the sentences behind the interval."""
    seed: int = MISSING
    """What these draws derive from."""
    decoding: TunedOverridesConfig = MISSING
    """What else to search differently."""
    device: str = MISSING
    """Where to compute: cpu, cuda, cuda:<n>, or auto: CUDA if there is any."""
    launch: ProcessConfig = MISSING
    """How this process computes."""


class ExportFormat(Enum):
    """What a model is written as."""

    ctranslate2 = "ctranslate2"
    safetensors = "safetensors"


@dataclass
class ExportConfig:
    """`aiayn export`."""

    run: str = MISSING
    """A run directory."""
    checkpoint: str = MISSING
    """last, best, average or an optimizer step."""
    format: ExportFormat = MISSING
    """ctranslate2: a folder that CTranslate2 loads; safetensors: a file of the weights by name."""
    output: str = MISSING
    """Where to; nothing may be there yet."""
    quantization: Quantization = MISSING
    """Type of the stored weights; int8 only with format=ctranslate2."""
    launch: ProcessConfig = MISSING
    """How this process computes."""


@dataclass
class ScoreConfig(UseConfig):
    """`aiayn score`."""

    source: str | None = MISSING
    """A file of source sentences, plain or gzip; null, with target: pairs come from standard input."""
    target: str | None = MISSING
    """The file of their translations, line by line."""
    batch_tokens: int | None = MISSING
    """Padded tokens a side scored at once; null: the run's decoding.batch_tokens."""


class AttentionKind(Enum):
    """Which attention is drawn."""

    encoder = "encoder"
    decoder = "decoder"
    cross = "cross"
    all = "all"


class AttentionUnits(Enum):
    """What the rows and columns of attention are."""

    words = "words"
    tokens = "tokens"


class PictureFormat(Enum):
    """What pictures are written as."""

    png = "png"
    svg = "svg"


@dataclass
class AttentionConfig:
    """`aiayn attention`."""

    run: str = MISSING
    """A run directory."""
    checkpoint: str = MISSING
    """last, best, average or an optimizer step."""
    output: str | None = MISSING
    """A folder for the pictures; null: attention/ in the run directory."""
    format: PictureFormat = MISSING
    """png or svg."""
    kind: AttentionKind = MISSING
    """Which attention: encoder (source to source), decoder (target to target), cross (target to source), or all."""
    layers: Any = MISSING
    """Which layers to draw, counted from 1: a number or a list; null: all. The last of them is drawn as lines, too."""
    heads: Any = MISSING
    """Which heads to draw, likewise."""
    units: AttentionUnits = MISSING
    """words: a word's pieces are summed as keys and averaged as queries; tokens: every piece by itself."""
    word: str | None = MISSING
    """Draw lines from this word (or token) alone; null: from all."""
    max_sentences: int = MISSING
    """Most lines of standard input that are read."""
    max_length: int = MISSING
    """Most tokens a side, end mark included; longer sentences are left out."""
    decoding: SearchOverridesConfig = MISSING
    """What to search differently where a target is not given."""
    device: str = MISSING
    """Where to compute: cpu, cuda, cuda:<n>, or auto: CUDA if there is any."""
    launch: ProcessConfig = MISSING
    """How this process computes."""


class View(Enum):
    """How the runs are shown: a line for each row, a line for each run, or whichever suits them."""

    auto = "auto"
    rows = "rows"
    runs = "runs"


@dataclass
class StatusConfig:
    """`aiayn status`."""

    view: View = MISSING
    """rows: a line for each row and a column for each seed; runs: a line for each run; auto: rows where one has several
    seeds."""
    watch: bool = MISSING
    """Look again and again, and draw anew what has changed, until Ctrl-C."""
    interval: float = MISSING
    """Seconds between two looks."""

    paths: RunsPathConfig = MISSING
    """Folders; the runs below paths.runs are listed."""


@dataclass
class SyncConfig:
    """`aiayn sync`."""

    run: str | None = MISSING
    """A run directory; null: every run below paths.runs."""
    retries: int = MISSING
    """How often a request to W&B's server that failed is made again."""
    timeout: int = MISSING
    """Seconds that the server has for one answer."""
    paths: RunsPathConfig = MISSING
    """Folders."""
