"""The schema of a run's configuration: names, types and ranges; conf/ holds the values.

Corpora: `data_schema`. Models: `model_schema`. Other commands: `command_schema` and `report_schema`.

No field has a default: a value that no file under conf/ states is an error when the configuration is composed.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from omegaconf import MISSING

from aiayn.config.data_schema import DataConfig
from aiayn.config.model_schema import ModelConfig
from aiayn.config.values import (
    Count,
    Entries,
    MayBeEmpty,
    NonNegative,
    Positive,
    Range,
    Seed,
    Share,
    WholeNumber,
    text,
    text_or_null,
    true_or_false,
)


class EosWithin(StrEnum):
    """Which of a step's 2 * beam_size best continuations may end an output: all, or the first beam_size."""

    candidates = "candidates"
    beam = "beam"


class LengthPenalty(StrEnum):
    """The divisor of an output's log-probability at L tokens, end mark included: ((5 + L) / 6)^alpha, or L^alpha."""

    gnmt = "gnmt"
    power = "power"


BleuTokenizer = StrEnum(
    "BleuTokenizer",
    {"13a": "13a", "intl": "intl", "zh": "zh", "ja-mecab": "ja-mecab", "ko-mecab": "ko-mecab", "char": "char"},
)
"""Those of sacreBLEU's tokenizers for plain text that download nothing, by its names."""


class SmoothedClasses(StrEnum):
    """The classes that share epsilon_ls: the whole vocabulary, or the wrong ones."""

    all = "all"
    wrong = "wrong"


class TokenizerKind(StrEnum):
    """The subword algorithm (section 5.1), whole words and brackets (section 6.3), or pieces as given."""

    byte_pair = "byte_pair"
    word_piece = "word_piece"
    symbols = "symbols"
    given = "given"


class PieceMarker(StrEnum):
    """The mark of words in given pieces: @@ at the end of a continued piece, or ▁ at the start of a word's first."""

    subword_nmt = "subword_nmt"
    sentencepiece = "sentencepiece"


@dataclass
class ScaleConfig:
    """Fractions of the paper's size and budget; `${scaled:value,axis}` multiplies by these factors."""

    width: Positive = MISSING
    """Factor of d_model, d_ff, d_k and d_v."""
    depth: Positive = MISSING
    """Factor of num_layers."""
    vocabulary: Positive = MISSING
    """Factor of the vocabulary size."""
    tokens: Positive = MISSING
    """Factor of the global batch, source and target tokens."""
    steps: Positive = MISSING
    """Factor of the number of optimizer steps."""
    warmup: Positive = MISSING
    """Factor of the warm-up steps."""


@dataclass
class TokenizerConfig:
    """The shared source and target vocabulary."""

    kind: TokenizerKind = MISSING
    """Byte pairs (the paper's English-German), word pieces (English-French), whole words, or pieces as given."""
    vocabulary_size: Entries = MISSING
    """Entries to learn, special tokens and bytes included (section 5.1); with given pieces, the most entries."""


@dataclass
class GivenTokenizerConfig(TokenizerConfig):
    """The vocabulary of text that is already split into sub-words, separated by spaces."""

    marker: PieceMarker = MISSING
    """subword_nmt: a word continues after a piece with `@@` at its end; sentencepiece: `▁` is before a word."""
    vocabulary: str | None = text_or_null()
    """A file with a piece a line (fairseq's dict.txt), or a run's tokenizer.json; null: all pieces of the text."""


TOKENIZER_TYPES: dict[TokenizerKind, type[TokenizerConfig]] = {
    **dict.fromkeys(TokenizerKind, TokenizerConfig),
    TokenizerKind.given: GivenTokenizerConfig,
}


@dataclass
class OptimizationConfig:
    """The training recipe (section 5)."""

    max_steps: Count = MISSING
    """Optimizer steps; with patience, the largest number of them."""
    warmup_steps: Count = MISSING
    """Steps of the linear warm-up (equation 3)."""
    learning_rate_factor: Positive = MISSING
    """Multiplies the paper's learning rate."""
    adam_beta1: Share = MISSING
    """Decay of Adam's first moment."""
    adam_beta2: Share = MISSING
    """Decay of Adam's second moment."""
    adam_epsilon: Positive = MISSING
    """Adam's epsilon."""
    label_smoothing: Share = MISSING
    """Epsilon_ls (section 5.4)."""
    smoothed_classes: SmoothedClasses = MISSING
    """Whether epsilon_ls is shared by all classes, or by the wrong ones alone, as in the authors' code."""
    source_tokens: Count = MISSING
    """Most source tokens of one optimizer step's global batch, end marks included; a batch is as full as fits."""
    target_tokens: Count = MISSING
    """Most target tokens of one optimizer step's global batch, end marks included; a batch is as full as fits."""
    max_tokens_per_device: Count = MISSING
    """Tokens a side that one device takes at once, on average; accumulation follows. Does not change results."""
    validation_interval: Count = MISSING
    """Optimizer steps between two validations."""
    patience: Count | None = MISSING
    """End training after this many validations in a row without a new lowest val/ppl; null: after max_steps alone."""
    checkpoint_interval: Count = MISSING
    """Optimizer steps between two checkpoints. Does not change results."""
    divergence_factor: Positive = MISSING
    """A run whose training loss exceeds this many times its first loss is stopped as failed."""


@dataclass
class AveragingConfig:
    """Averaging of a run's last checkpoints (section 6.1); the average is evaluated."""

    checkpoints: WholeNumber = MISSING
    """Number of checkpoints; 0: no averaging, the last weights are evaluated."""
    interval: Count | None = MISSING
    """Optimizer steps between two of them, counted back from the last step; null without averaging."""


@dataclass
class BeamSearchConfig:
    """Beam search (section 6.1)."""

    beam_size: Annotated[int, Range(1, 1000)] = MISSING
    """Hypotheses kept per sentence; 1 is greedy search."""
    length_penalty: LengthPenalty = MISSING
    """gnmt: ((5 + L) / 6)^alpha, L tokens with the end mark (Wu et al. 2016); power: L^alpha (fairseq, CTranslate2)."""
    length_penalty_alpha: Annotated[float, Range(0, 10)] = MISSING
    """Alpha of the length penalty; 0 ranks by log-probability."""
    max_extra_length: Annotated[int, Range(0, 100_000)] = MISSING
    """Output is at most this many tokens longer than the input."""
    batch_tokens: Count = MISSING
    """Padded source tokens decoded at once. Does not change results."""
    eos_within: EosWithin = MISSING
    """A step's 2 * beam_size best continuations may end (candidates), or the first beam_size, as in CTranslate2."""
    constrained: bool = true_or_false()
    """Parsing: search only trees over exactly the words of the sentence (tokenizer.kind=symbols)."""


@dataclass
class DecodingConfig(BeamSearchConfig):
    """Decoding at the end of training and at validations."""

    limit_sentences: Count | None = MISSING
    """Decode and score only this many sentences of a split, its first ones; null: all."""
    bleu_tokenizer: BleuTokenizer | None = MISSING
    """sacreBLEU's tokenizer for BLEU; null: by data.target_language, 13a for most."""
    validation_sentences: WholeNumber = MISSING
    """Decode this many sentences of dev at every validation, spread evenly over it, for val/bleu; 0: none."""


@dataclass
class ProcessConfig:
    """Settings of a process."""

    keep_allocator_memory: bool = true_or_false()
    """Let the C allocator keep freed memory (glibc): fewer page faults on CPUs, somewhat more resident memory."""


@dataclass
class RankConfig(ProcessConfig):
    """Settings of a rank."""

    timeout_seconds: Annotated[int, Range(1, 365 * 24 * 3600)] = MISSING
    """Seconds that a rank waits for another before the group fails."""


@dataclass
class LaunchConfig(RankConfig):
    """How processes are started."""

    jobs_per_device: Annotated[int, Range(1, 1024)] = MISSING
    """Concurrent jobs on one GPU, with a launcher that runs several at once."""
    cores_per_job: Count | None = MISSING
    """Cores of one of several concurrent jobs; null: an equal share for each."""
    compile: bool = true_or_false()
    """Train a compiled model (torch.compile): slow first steps, other dropout masks; for GPUs."""
    tf32: bool = true_or_false()
    """TensorFloat-32 in single precision on GPUs: faster products, with about three decimal digits."""
    fork_jobs: bool = true_or_false()
    """Fork the jobs of a multirun from a process that has imported the libraries (Linux); false: start each anew."""
    preparation_processes: Annotated[int, Range(1, 1024)] = MISSING
    """Processes that encode the training pairs of a corpus; 1: the command's own, with threads on all cores."""


@dataclass
class CostConfig:
    """Accounting of a run's cost; does not change results."""

    price_per_device_hour: NonNegative | None = MISSING
    """Price of one device for an hour, as in 2.5; null: no price, and no bill."""
    currency: str = text()
    """Currency of the price; prices in several currencies are never added up."""
    probe_seconds: Annotated[float, Range(0, 60)] = MISSING
    """Seconds to measure the peak of matrix products on CPUs, which no table states; 0: not measured."""


@dataclass
class RunsPathConfig:
    """The folder of the runs."""

    runs: str = text()
    """Run directories."""


@dataclass
class CachePathConfig:
    """The folder of the corpora."""

    cache: str = text()
    """Tokenizers and prepared corpora."""


@dataclass
class PathsConfig(CachePathConfig, RunsPathConfig):
    """Folders that commands write to."""


@dataclass
class IdentityConfig:
    """Names of the run; the same configuration is the same run."""

    experiment: str = text()
    """The experiment chosen, such as table3/base."""
    scale: str = text()
    """The scale chosen."""
    fidelity: str = text()
    """The fidelity profile chosen."""
    sweep: str | None = text_or_null()
    """Name of the multirun, the group of its runs in W&B; null for a single run."""
    sources: MayBeEmpty = text()
    """Each class of the user's own with the digest of its file, as in my_ideas:MyAttention=0123456789abcdef."""
    typed: dict[str, Any] = MISSING
    """Paths as typed, by key, where a frozen configuration has absolute ones; the hash has those typed."""
    hash: str = text()
    """Hash of all values that are part of the run's identity."""
    name: str = text()
    """Folder of the run below paths.runs."""
    difference: MayBeEmpty = text()
    """Changes of the run to its experiment, as in dropout=0.3; empty: none."""
    title: MayBeEmpty = text()
    """Name of the run in W&B: its row, its difference and its seed."""


@dataclass
class TrainConfig:
    """`aiayn train`."""

    seed: Seed = MISSING
    """Everything random derives from it."""
    force: bool = true_or_false()
    """Start anew if the run exists already; its files are removed."""
    init_from: str | None = text_or_null()
    """A run directory or a checkpoint whose weights a new run starts from."""
    scale: ScaleConfig = MISSING
    """Fractions of the paper's size and budget."""
    data: DataConfig = MISSING
    """The corpus."""
    tokenizer: TokenizerConfig = MISSING
    """The vocabulary."""
    model: ModelConfig = MISSING
    """The architecture."""
    optimization: OptimizationConfig = MISSING
    """The training recipe."""
    averaging: AveragingConfig = MISSING
    """Which checkpoints are averaged at the end of training."""
    decoding: DecodingConfig = MISSING
    """The search at the end of training."""
    trainer: dict[str, Any] = MISSING
    """Lightning's Trainer, with any of its arguments."""
    callbacks: dict[str, Any] = MISSING
    """Lightning callbacks by name, each with its _target_."""
    logger: dict[str, Any] = MISSING
    """The tracker beside metrics.jsonl, with its _target_; empty for none."""
    launch: LaunchConfig = MISSING
    """How processes are started."""
    cost: CostConfig = MISSING
    """Accounting of its cost."""
    paths: PathsConfig = MISSING
    """Folders."""
    identity: IdentityConfig = MISSING
    """Names of the run."""


@dataclass
class HardwareConfig:
    """The devices of a plan."""

    name: str = text()
    """Name of one device."""
    reported_as: str | None = text_or_null()
    """A regular expression for torch's name of the device; null: none."""
    single_flops: Positive | None = MISSING
    """Peak of one device in single precision, in operations per second."""
    half_flops: Positive | None = MISSING
    """The same in half precision, dense; null: not known, or no faster."""
    peak_flops: Positive | None = MISSING
    """The one of these peaks that a plan uses; null: none, steps are timed."""
    utilization: Annotated[float, Range(above=0, most=1)] | None = MISSING
    """The share of the peak that training reaches; null: none, steps are timed."""
    memory_gib: Positive | None = MISSING
    """Memory of one device in GiB; null: not compared."""
    calibration_seconds: Positive | None = MISSING
    """Seconds to measure each model; null: the peak is stated, nothing is measured."""
