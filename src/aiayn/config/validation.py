"""Ranges that types cannot express, checked once, before anything is built."""

import math

from aiayn.config.computed import check_computed
from aiayn.config.constrained_search import validate_constrained
from aiayn.config.data_schema import is_parsing
from aiayn.config.data_validation import validate_data
from aiayn.config.model_schema import ConvolutionalConfig, ModelConfig, Positions, RecurrentConfig, TransformerConfig
from aiayn.config.schema import CostConfig, DecodingConfig, TokenizerKind, TrainConfig
from aiayn.config.third_parties import validate_callbacks, validate_trainer, validate_wandb
from aiayn.errors import UserError

WIDEST_BEAM = 1000
"""Far beyond any use, and what memory still holds."""

FEWEST_ENTRIES = {TokenizerKind.byte_pair: 259, TokenizerKind.word_piece: 515, TokenizerKind.symbols: 5}
"""Of a vocabulary: special tokens and bytes; with symbols, special ones, a bracket at least, and room for a word."""

LONGEST_OUTPUT = 100_000
"""Tokens of an output beyond its input: far beyond any use."""

LONGEST_PROBE = 60
"""Of a processor before a run, in seconds."""

LARGEST = {
    **dict.fromkeys(("model.d_model", "model.d_ff", "model.num_heads", "model.d_k", "model.d_v"), 2**20),
    "model.num_layers": 1000,
    "model.max_positions": 2**24,
    "model.kernel_size": 1001,
    "launch.timeout_seconds": 365 * 24 * 3600,
    "launch.jobs_per_device": 1024,
    "launch.preparation_processes": 1024,
}
"""By key: far beyond any use, and what a machine may still be asked for. A rank waits for a year at most."""


def validate(config: TrainConfig) -> None:
    """Refuse values out of range.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    if not 0 <= config.seed < 2**63:
        raise UserError(f"seed={config.seed}: must be at least 0 and less than 2^63")
    check_computed(config)
    for axis, factor in vars(config.scale).items():
        if factor <= 0:
            raise UserError(f"scale.{axis}={factor}: must be greater than 0")
    validate_trainer(config.trainer)
    _validate_counts(config)
    _validate_ranges(config)
    _validate_least(config)
    _validate_longest(config)
    _validate_positions(config)
    _validate_structure(config)
    _validate_averaging(config)
    validate_decoding(config.decoding)
    validate_constrained(config)
    validate_data(config.data)
    validate_vocabulary(config)
    _validate_cost(config.cost)
    validate_wandb(config.logger)
    validate_callbacks(config)


def _validate_longest(config: TrainConfig) -> None:
    """The longest training sentence fits a batch."""
    optimization = config.optimization
    budget = min(optimization.source_tokens, optimization.target_tokens, optimization.max_tokens_per_device)
    if config.data.max_length > budget:
        raise UserError(
            f"data.max_length={config.data.max_length}: a sentence this long does not fit the smallest of "
            f"optimization.source_tokens, target_tokens and max_tokens_per_device ({budget}): lower it or raise them"
        )


def _validate_least(config: TrainConfig) -> None:
    """Training ends after its last step, whatever else is asked."""
    least, last = config.trainer.get("min_steps"), config.optimization.max_steps
    if least is not None and least > last:
        raise UserError(f"trainer.min_steps={least}: must be at most optimization.max_steps={last}, or null")


def _validate_ranges(config: TrainConfig) -> None:
    """Real numbers within their bounds."""
    optimization = config.optimization
    positive: dict[str, float] = {}
    _in_range("model.dropout", config.model.dropout, 0.0, 1.0)
    if isinstance(config.model, TransformerConfig):
        _in_range("model.attention_dropout", config.model.attention_dropout, 0.0, 1.0)
        _in_range("model.activation_dropout", config.model.activation_dropout, 0.0, 1.0)
        positive["model.layer_norm_epsilon"] = config.model.layer_norm_epsilon
    _in_range("optimization.label_smoothing", optimization.label_smoothing, 0.0, 1.0)
    _in_range("optimization.adam_beta1", optimization.adam_beta1, 0.0, 1.0)
    _in_range("optimization.adam_beta2", optimization.adam_beta2, 0.0, 1.0)
    positive |= {
        "optimization.learning_rate_factor": optimization.learning_rate_factor,
        "optimization.adam_epsilon": optimization.adam_epsilon,
        "optimization.divergence_factor": optimization.divergence_factor,
    }
    for key, value in positive.items():
        if not 0 < value < math.inf:
            raise UserError(f"{key}={value}: must be greater than 0, and finite")


def _validate_averaging(config: TrainConfig) -> None:
    """Averaging is stated whole or not at all, and never for Table 3 (section 6.2)."""
    checkpoints, interval = config.averaging.checkpoints, config.averaging.interval
    if interval is not None and interval < 1:
        raise UserError(f"averaging.interval={interval}: must be at least 1")
    if checkpoints < 0:
        raise UserError(f"averaging.checkpoints={checkpoints}: must not be negative (0: no averaging)")
    if checkpoints == 0 and interval is not None:
        raise UserError(f"averaging.interval={interval}: is for averaging.checkpoints above 0; leave it out")
    if checkpoints == 0:
        return
    asked = f"averaging.checkpoints={checkpoints}"
    if config.identity.experiment.startswith("table3/"):
        raise UserError(
            f"{asked}: Table 3 is without checkpoint averaging (section 6.2): state averaging=none, or an experiment "
            f"other than {config.identity.experiment}"
        )
    if interval is None:
        raise UserError(f"averaging.interval=null: must be at least 1 with {asked}, as in averaging=base")
    if not config.trainer.get("enable_checkpointing", True):
        raise UserError(f"{asked}: there is nothing to average with trainer.enable_checkpointing=false")


def validate_decoding(decoding: DecodingConfig) -> None:
    """Refuse settings of the search that are out of range.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    for name in ("beam_size", "batch_tokens", "limit_sentences"):
        value = getattr(decoding, name)
        if value is not None and value < 1:
            raise UserError(f"decoding.{name}={value}: must be at least 1")
    if decoding.beam_size > WIDEST_BEAM:
        raise UserError(f"decoding.beam_size={decoding.beam_size}: must be at most {WIDEST_BEAM} (the paper: 4)")
    alpha = decoding.length_penalty_alpha
    if not 0 <= alpha <= 10:  # far above 10 the penalty of a long output overflows
        raise UserError(f"decoding.length_penalty_alpha={alpha}: must be from 0 to 10 (the paper: 0.6)")
    for name in ("max_extra_length", "validation_sentences"):
        if getattr(decoding, name) < 0:
            raise UserError(f"decoding.{name}={getattr(decoding, name)}: must not be negative")
    if decoding.max_extra_length > LONGEST_OUTPUT:
        raise UserError(f"decoding.max_extra_length={decoding.max_extra_length}: must be at most {LONGEST_OUTPUT}")


def _validate_cost(cost: CostConfig) -> None:
    price = cost.price_per_device_hour
    if price is not None and not 0 <= price < math.inf:
        raise UserError(f"cost.price_per_device_hour={price}: must be at least 0, and finite; null: no price")
    if not 0 <= cost.probe_seconds <= LONGEST_PROBE:
        raise UserError(f"cost.probe_seconds={cost.probe_seconds}: must be from 0 (not measured) to {LONGEST_PROBE}")


def validate_vocabulary(config: TrainConfig) -> None:
    """Refuse a vocabulary that loses words or has no room, and an embedding matrix with fewer rows than it needs.

    Raises:
        UserError: naming the key, the value and what to take.
    """
    if config.tokenizer.kind is TokenizerKind.symbols and not is_parsing(config.data):
        raise UserError(
            f"tokenizer.kind=symbols: made for trees, and data.kind={config.data.kind.name} is text, whose unknown "
            "words would be lost: take tokenizer=byte_pair"
        )
    kind, size, rows = config.tokenizer.kind, config.tokenizer.vocabulary_size, config.model.vocabulary_rows
    least = FEWEST_ENTRIES[kind]
    if size < least:
        raise UserError(f"tokenizer.vocabulary_size={size}: must be at least {least} with tokenizer.kind={kind.name}")
    if rows is not None and rows < least:
        raise UserError(
            f"model.vocabulary_rows={rows}: any vocabulary of tokenizer.kind={kind.name} has {least} or more"
        )


def has_learned_positions(model: ModelConfig) -> bool:
    """Whether sentences may not be longer than `model.max_positions`."""
    if isinstance(model, TransformerConfig):
        return model.positions is Positions.learned
    return isinstance(model, ConvolutionalConfig)


def _validate_positions(config: TrainConfig) -> None:
    """What each kind of positions asks of the sizes."""
    model = config.model
    if model.max_positions < config.data.max_length:
        end = "learned positions end there" if has_learned_positions(model) else "aiayn translate refuses longer input"
        raise UserError(
            f"model.max_positions={model.max_positions}: fewer than data.max_length={config.data.max_length}, and {end}"
        )
    if not isinstance(model, TransformerConfig):
        return
    in_pairs = (Positions.sinusoidal, Positions.sinusoidal_blocks, Positions.concatenated)
    if model.positions in in_pairs and model.d_model % 2:
        raise UserError(f"model.d_model={model.d_model}: must be even with model.positions={model.positions.name}")
    if model.positions is Positions.rotary and model.d_k % 2:
        raise UserError(f"model.d_k={model.d_k}: must be even with model.positions=rotary, which turns pairs")


def _validate_structure(config: TrainConfig) -> None:
    """What sizes of one kind of model alone have to be."""
    model = config.model
    if isinstance(model, TransformerConfig):
        if model.neighbourhood < 2:
            raise UserError(f"model.neighbourhood={model.neighbourhood}: must be at least 2, one position on each side")
        return
    if isinstance(model, ConvolutionalConfig) and model.kernel_size % 2 == 0:
        raise UserError(f"model.kernel_size={model.kernel_size}: must be odd, so that each position is at a centre")
    if isinstance(model, RecurrentConfig) and model.d_model % 2:
        raise UserError(f"model.d_model={model.d_model}: must be even: an encoder reads in both directions")
    if config.launch.compile:
        raise UserError(f"launch.compile=true: made for model.kind=transformer, not {model.kind.name}; leave it out")


def _validate_counts(config: TrainConfig) -> None:
    """Everything that counts something must count at least one."""
    groups = {
        "model": (config.model, _counted(config.model)),
        "optimization": (
            config.optimization,
            (
                "max_steps",
                "warmup_steps",
                "source_tokens",
                "target_tokens",
                "max_tokens_per_device",
                "validation_interval",
                "checkpoint_interval",
            ),
        ),
        "launch": (config.launch, ("jobs_per_device", "preparation_processes")),
    }
    validate_wait(config.launch.timeout_seconds)
    if config.launch.cores_per_job is not None and config.launch.cores_per_job < 1:
        raise UserError(f"launch.cores_per_job={config.launch.cores_per_job}: must be at least 1, or null")
    if isinstance(config.model, TransformerConfig):
        _refuse_uneven_heads(config.model)
    for group, (node, names) in groups.items():
        for name in names:
            key, value = f"{group}.{name}", getattr(node, name)
            if value < 1:
                raise UserError(f"{key}={value}: must be at least 1")
            if value > LARGEST.get(key, value):
                raise UserError(f"{key}={value}: must be at most {LARGEST[key]}")


def validate_wait(seconds: int) -> None:
    """Refuse a time that no rank can wait for another.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    longest = LARGEST["launch.timeout_seconds"]
    if not 1 <= seconds <= longest:
        raise UserError(f"launch.timeout_seconds={seconds}: must be from 1 to {longest}, a year")


def _refuse_uneven_heads(model: TransformerConfig) -> None:
    if model.num_heads > 0 and 0 in (model.d_k, model.d_v) and model.d_model % model.num_heads:
        raise UserError(
            f"model.num_heads={model.num_heads} does not divide model.d_model={model.d_model}: "
            "choose heads that do, or state model.d_k and model.d_v"
        )


def _counted(model: ModelConfig) -> tuple[str, ...]:
    """The sizes of a model."""
    names = ("d_model", "num_layers", "max_positions")
    if isinstance(model, TransformerConfig):
        return (*names, "d_ff", "num_heads", "d_k", "d_v")
    return (*names, "kernel_size") if isinstance(model, ConvolutionalConfig) else names


def _in_range(key: str, value: float, low: float, high: float) -> None:
    if not low <= value < high:
        raise UserError(f"{key}={value}: must be at least {low:g} and less than {high:g}")
