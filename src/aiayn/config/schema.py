"""The schema of a run's configuration: names and types; the values live in conf/.

Corpora have theirs in `data_schema`, models in `model_schema`, commands that train nothing in `command_schema`,
those that show runs in `report_schema`.

No field has a default: a value that no file under conf/ states is an error when the configuration is composed.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from omegaconf import MISSING

from aiayn.config.data_schema import DataConfig
from aiayn.config.model_schema import ModelConfig


class EndsAmong(Enum):
    """Which of a step's 2 * beam_size best continuations may end an output: all, or the first beam_size alone."""

    candidates = "candidates"
    beam = "beam"


class Smooths(Enum):
    """What label smoothing gives epsilon_ls to: every class of the vocabulary, or the wrong ones alone."""

    all = "all"
    wrong = "wrong"


class TokenizerKind(Enum):
    """How words are cut into the pieces of the vocabulary (section 5.1), or that they are not (section 6.3)."""

    byte_pair = "byte_pair"
    word_piece = "word_piece"
    symbols = "symbols"


@dataclass
class ScaleConfig:
    """How much of the paper's size and budget to spend; `${scaled:value,axis}` multiplies by these factors."""

    width: float = MISSING
    """Factor of d_model, d_ff, d_k and d_v."""
    depth: float = MISSING
    """Factor of num_layers."""
    vocabulary: float = MISSING
    """Factor of the vocabulary size."""
    tokens: float = MISSING
    """Factor of the global batch, source and target tokens."""
    steps: float = MISSING
    """Factor of the number of optimizer steps."""
    warmup: float = MISSING
    """Factor of the warm-up steps."""


@dataclass
class TokenizerConfig:
    """The shared source and target vocabulary."""

    kind: TokenizerKind = MISSING
    """Byte-pair encoding (the paper's English-German), word pieces (English-French), or whole words and brackets."""
    vocabulary_size: int = MISSING
    """Entries to learn, special tokens and bytes included (section 5.1)."""


@dataclass
class OptimizationConfig:
    """The training recipe (section 5)."""

    max_steps: int = MISSING
    """Optimizer steps."""
    warmup_steps: int = MISSING
    """Steps of the linear warm-up (equation 3)."""
    learning_rate_factor: float = MISSING
    """Multiplies the paper's learning rate."""
    adam_beta1: float = MISSING
    """Decay of Adam's first moment."""
    adam_beta2: float = MISSING
    """Decay of Adam's second moment."""
    adam_epsilon: float = MISSING
    """Adam's epsilon."""
    label_smoothing: float = MISSING
    """Epsilon_ls (section 5.4)."""
    smooths: Smooths = MISSING
    """Whether epsilon_ls is shared by all classes, or by the wrong ones alone, as in the authors' code."""
    source_tokens: int = MISSING
    """Global batch of one optimizer step, in padded source tokens."""
    target_tokens: int = MISSING
    """Global batch of one optimizer step, in padded target tokens."""
    max_tokens_per_device: int = MISSING
    """Most padded tokens a side that one device takes at once; accumulation follows. Does not change results."""
    validation_interval: int = MISSING
    """Optimizer steps between two validations."""
    checkpoint_interval: int = MISSING
    """Optimizer steps between two checkpoints. Does not change results."""
    divergence_factor: float = MISSING
    """A run whose training loss exceeds this many times its first loss is stopped as failed."""


@dataclass
class AveragingConfig:
    """The mean of a run's last checkpoints (section 6.1), which then is what is scored."""

    checkpoints: int = MISSING
    """How many; 0: no averaging, the last weights are scored."""
    interval: int | None = MISSING
    """Optimizer steps between two of them, counted back from the last step; null where there is no averaging."""


@dataclass
class DecodingConfig:
    """Beam search (section 6.1)."""

    beam_size: int = MISSING
    """Hypotheses kept per sentence; 1 is greedy search."""
    length_penalty_alpha: float = MISSING
    """Alpha of ((5 + L) / 6)^alpha."""
    max_extra_length: int = MISSING
    """Output is at most this many tokens longer than the input."""
    batch_tokens: int = MISSING
    """Padded source tokens decoded at once. Does not change results."""
    ends_among: EndsAmong = MISSING
    """A step's 2 * beam_size best continuations may end (candidates), or the first beam_size, as CTranslate2 has it."""
    constrained: bool = MISSING
    """Parsing: what is no tree over exactly the words of the sentence is impossible (tokenizer.kind=symbols)."""
    limit_sentences: int | None = MISSING
    """Decode and score only this many sentences of a split, its first ones; null: all."""
    validation_sentences: int = MISSING
    """Decode this many sentences of dev at every validation, spread evenly over it, for val/bleu; 0: none."""


@dataclass
class ProcessConfig:
    """How a process computes."""

    keep_allocator_memory: bool = MISSING
    """Let the C allocator keep freed memory (glibc): fewer page faults on CPUs, somewhat more resident memory."""


@dataclass
class RankConfig(ProcessConfig):
    """The same where it may be one of several."""

    timeout_seconds: int = MISSING
    """How long one rank waits for another before the group is failed."""


@dataclass
class LaunchConfig(RankConfig):
    """How processes are started."""

    jobs_per_device: int = MISSING
    """Jobs side by side on one GPU, under a launcher that does several at once."""
    cores_per_job: int | None = MISSING
    """Cores of one job beside others; null: an equal share for each job that the launcher does at once."""
    compile: bool = MISSING
    """Train a compiled model (torch.compile): slow first steps, other dropout masks; meant for GPUs, untried there."""
    fork_jobs: bool = MISSING
    """Fork the jobs of a multirun from a process that has imported the libraries (Linux); false: start each anew."""
    preparation_processes: int = MISSING
    """Processes that encode the training pairs of a corpus; 1: the command alone, which uses all cores as well."""


@dataclass
class CostConfig:
    """What a run's costs are reckoned with; nothing here changes a result."""

    price_per_device_hour: float | None = MISSING
    """What an hour of one device costs, as in 2.5; null: no price, and no bill."""
    currency: str = MISSING
    """What the price is in; prices in several are never added up."""
    probe_seconds: float = MISSING
    """How long to measure what matrix products reach on CPUs, whose peak no table states; 0: not at all."""


@dataclass
class RunsPathConfig:
    """The folder of the runs."""

    runs: str = MISSING
    """Run directories."""


@dataclass
class CachePathConfig:
    """The folder of the corpora."""

    cache: str = MISSING
    """Tokenizers and prepared corpora."""


@dataclass
class PathsConfig(CachePathConfig, RunsPathConfig):
    """Folders that commands write to."""


@dataclass
class IdentityConfig:
    """What a run is called; the same configuration is the same run."""

    experiment: str = MISSING
    """The experiment chosen, such as table3/base."""
    scale: str = MISSING
    """The scale chosen."""
    fidelity: str = MISSING
    """The fidelity profile chosen."""
    sweep: str | None = MISSING
    """What a multirun calls itself, the group of its runs in W&B; null for a single run."""
    hash: str = MISSING
    """Of everything in the configuration that can change a result."""
    name: str = MISSING
    """Folder of the run below paths.runs."""
    difference: str = MISSING
    """What the run changes in its experiment, as in dropout=0.3; empty: nothing."""
    title: str = MISSING
    """What W&B calls the run: its row, its difference and its seed."""


@dataclass
class TrainConfig:
    """`aiayn train`."""

    seed: int = MISSING
    """Everything random derives from it."""
    force: bool = MISSING
    """Start anew where this run stands already; what it wrote there is removed."""
    init_from: str | None = MISSING
    """A run directory or a checkpoint whose weights a new run starts from."""
    scale: ScaleConfig = MISSING
    """How much of the paper's size and budget to spend."""
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
    """What its costs are reckoned with."""
    paths: PathsConfig = MISSING
    """Folders."""
    identity: IdentityConfig = MISSING
    """What the run is called."""


class Objective(Enum):
    """What a search seeks on the development set: the lowest perplexity or the highest BLEU."""

    ppl = "ppl"
    bleu = "bleu"


@dataclass
class SearchConfig:
    """`hydra.sweeper` of a search; sweeps/search.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_search.SearchSweeper"
    params: dict[str, str] = MISSING
    """The keys to choose and their values, written as on the command line: intervals, or choices with commas."""
    trials: int = MISSING
    """Runs in all, those of earlier commands included."""
    objective: Objective = MISSING
    """What is sought."""
    seed: int = MISSING
    """What the choice of values derives from."""
    storage: str = MISSING
    """Where the study is kept, as Optuna names it."""


@dataclass
class SlurmConfig:
    """`hydra.launcher` of hydra/launcher=slurm; conf/hydra/slurm_launcher.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_slurm.SlurmJobsLauncher"
    name: str = MISSING
    """What `squeue` calls the jobs."""
    partition: str | None = MISSING
    """Where they run."""
    account: str | None = MISSING
    """Who pays."""
    qos: str | None = MISSING
    """Quality of service."""
    constraint: str | None = MISSING
    """Features that a node must have."""
    gres: str | None = MISSING
    """Other resources of each node, as in gpu:h100:8."""
    gpus_per_node: int | None = MISSING
    """GPUs of each node; null: trainer.devices where trainer.accelerator is gpu, else none."""
    cpus_per_task: int | None = MISSING
    """Cores of each process."""
    mem_gb: float | None = MISSING
    """Memory of each node."""
    timeout_min: int | None = MISSING
    """Minutes of one attempt, checkpoint included."""
    signal_delay_s: int = MISSING
    """How long before that Slurm warns: time enough for a step, a validation and a checkpoint."""
    requeue: bool = MISSING
    """Whether a job that was preempted, or whose time was up, goes back into the queue."""
    array_parallelism: int = MISSING
    """Jobs of one shape at once, at most."""
    setup: list[str] = MISSING
    """Lines of shell before the run, as in 'module load cuda'."""
    additional_parameters: dict[str, Any] = MISSING
    """Further options of sbatch, without dashes."""
    submitit_folder: str = MISSING
    """Where a job's log lies; %j is its id."""
    poll_seconds: float = MISSING
    """Between two looks at the queue."""


@dataclass
class HardwareConfig:
    """The devices that a plan is made for."""

    name: str = MISSING
    """What one device is called."""
    reported_as: str | None = MISSING
    """A regular expression: what torch calls such a device; null: none is known by it."""
    single_flops: float | None = MISSING
    """Operations of one device in a second, at most, in single precision."""
    half_flops: float | None = MISSING
    """The same in half precision, dense; null: no faster than in single, or not known."""
    peak_flops: float | None = MISSING
    """Of which of these a plan takes its share; null: measured on this machine."""
    utilization: float | None = MISSING
    """The share of the peak that training reaches; null: measured."""
    memory_gib: float | None = MISSING
    """Memory of one device in GiB; null: not compared."""
    calibration_seconds: float | None = MISSING
    """How long to measure each model; null: the peak is stated, nothing is measured."""


@dataclass
class PlanConfig(TrainConfig):
    """`aiayn plan`."""

    data: Any = MISSING  # OmegaConf would make the corpus chosen before a plain DataConfig again
    """The corpus."""
    model: Any = MISSING  # likewise
    """The architecture."""
    hardware: HardwareConfig = MISSING
    """The devices that a plan is made for."""
