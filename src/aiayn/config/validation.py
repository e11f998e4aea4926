"""Ranges that types cannot express, checked once, before anything is built."""

import json
import math
from typing import Any

from aiayn.config.constrained_search import validate_constrained
from aiayn.config.data_schema import DataConfig, TextFilesDataConfig, TreesDataConfig, is_parsing
from aiayn.config.errors import UserError
from aiayn.config.model_schema import ConvolutionalConfig, ModelConfig, Positions, RecurrentConfig, TransformerConfig
from aiayn.config.schema import CostConfig, DecodingConfig, TokenizerKind, TrainConfig

WANDB_MODES = ("auto", "online", "offline", "disabled", "shared")
"""What W&B may be asked for; auto leaves it to its environment, the login and the server."""

WIDEST_BEAM = 1000
"""Far beyond any use, and what memory still holds."""

STATED_ELSEWHERE = {
    "max_steps": "state optimization.max_steps instead",
    "max_epochs": "state optimization.max_steps instead",
    "min_epochs": "state trainer.min_steps instead",
    "accumulate_grad_batches": "it follows from optimization.max_tokens_per_device: state that instead",
    "val_check_interval": "state optimization.validation_interval instead",
    "check_val_every_n_epoch": "state optimization.validation_interval instead",
    "limit_test_batches": "state decoding.limit_sentences instead",
    "limit_predict_batches": "state decoding.limit_sentences instead",
    "default_root_dir": "state paths.runs instead",
    "logger": "state the group logger instead, as in logger=none",
    "callbacks": "state the group callbacks instead, as in +callbacks.mine._target_=...",
    "use_distributed_sampler": "leave it out, batches are dealt out to the ranks already",
    "reload_dataloaders_every_n_epochs": "leave it out, to Lightning the whole run is one epoch",
    "barebones": "state logger=none trainer.enable_checkpointing=false trainer.enable_progress_bar=false instead",
}
"""Arguments of Lightning's Trainer that follow from other keys, and what to do."""

FOLLOWS_FROM_THE_RUN = {
    "id": "leave it out, it is the run_id of the record",
    "version": "leave it out, it is the run_id of the record",
    "resume": "leave it out, a run that is taken up again is so in W&B too",
    "config": "leave it out, it is the whole configuration",
    "dir": "leave it out, W&B's files go to the run's directory",
    "save_dir": "leave it out, W&B's files go to the run's directory",
    "offline": "state logger.mode=offline instead",
}
"""Arguments of W&B that follow from the run, and what to do."""


STARTS_PROCESSES = ("spawn", "fork", "notebook")
"""In the names of Lightning's strategies that start processes of their own, which nobody would end."""

LONGEST_PROBE = 60
"""Of a processor before a run, in seconds."""

LONGEST_WAIT = 365 * 24 * 3600
"""Of one rank for another, in seconds."""


def validate(config: TrainConfig) -> None:
    """Refuse values out of range.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    if not 0 <= config.seed < 2**63:
        raise UserError(f"seed={config.seed}: must be at least 0 and less than 2^63")
    for argument in config.trainer:
        if argument in STATED_ELSEWHERE:
            raise UserError(f"trainer.{argument}: {STATED_ELSEWHERE[argument]}")
    strategy = config.trainer.get("strategy")
    if isinstance(strategy, str) and any(word in strategy for word in STARTS_PROCESSES):
        raise UserError(
            f"trainer.strategy={strategy}: starts processes of its own, as this command does already: state auto or ddp"
        )
    _validate_counts(config)
    _validate_ranges(config)
    _validate_positions(config)
    _validate_structure(config)
    _validate_averaging(config)
    validate_decoding(config.decoding)
    validate_constrained(config)
    _validate_files(config)
    validate_vocabulary(config)
    _validate_cost(config.cost)
    for name, folder in vars(config.paths).items():
        if not folder:
            raise UserError(f"paths.{name} has no value: state a folder, as in paths.{name}={name}")
    _validate_wandb(config.logger)
    for name, node in config.callbacks.items():
        if not isinstance(node, dict) or not node.get("_target_"):
            raise UserError(f"callbacks.{name}: has no _target_; state +callbacks.{name}._target_=<class>")
    optimization = config.optimization
    budget = min(optimization.source_tokens, optimization.target_tokens, optimization.max_tokens_per_device)
    if config.data.max_length > budget:
        raise UserError(
            f"data.max_length={config.data.max_length}: a sentence this long does not fit the smallest of "
            f"optimization.source_tokens, target_tokens and max_tokens_per_device ({budget}): lower it or raise them"
        )


def _validate_wandb(logger: dict[str, Any]) -> None:
    """What W&B is asked for; other trackers judge their own arguments."""
    if not str(logger.get("_target_")).endswith("WandbLogger"):
        return
    if "api_key" in logger or "api_key" in (logger.get("settings") or {}):
        raise UserError(
            "logger: an API key would be kept in the run's files: use `wandb login` or WANDB_API_KEY instead"
        )
    for argument, instead in FOLLOWS_FROM_THE_RUN.items():
        if argument in logger:
            raise UserError(f"logger.{argument}: {instead}")
    if logger.get("mode") not in WANDB_MODES:
        raise UserError(f"logger.mode={logger.get('mode')}: choose from {', '.join(WANDB_MODES)}")
    if logger.get("log_model", False) not in (False, True, "all"):
        raise UserError(f"logger.log_model={logger['log_model']}: choose from false, true (the best), all")
    samples = logger.get("samples", 0)
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 0:
        raise UserError(f"logger.samples={samples}: must be a number of sentences, at least 0 (0: no table)")
    for name, lowest in (("init_timeout", "greater than 0"), ("finish_timeout", "at least 0 (0: as long as it takes)")):
        seconds = logger.get(name)
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not is_number or not 0 <= float(str(seconds)) < math.inf or (seconds == 0 and name == "init_timeout"):
            raise UserError(f"logger.{name}={seconds}: must be a number of seconds, {lowest}")


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
    if checkpoints < 0:
        raise UserError(f"averaging.checkpoints={checkpoints}: must not be negative (0: no averaging)")
    if checkpoints == 0:
        return
    asked = f"averaging.checkpoints={checkpoints}"
    if config.identity.experiment.startswith("table3/"):
        raise UserError(
            f"{asked}: Table 3 is without checkpoint averaging (section 6.2): state averaging=none, or an experiment "
            f"other than {config.identity.experiment}"
        )
    if interval is None or interval < 1:
        told = "null" if interval is None else interval
        raise UserError(f"averaging.interval={told}: must be at least 1 with {asked}, as in averaging=base")
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


def _validate_cost(cost: CostConfig) -> None:
    price = cost.price_per_device_hour
    if price is not None and not 0 <= price < math.inf:
        raise UserError(f"cost.price_per_device_hour={price}: must be at least 0, and finite; null: no price")
    if not cost.currency.strip():
        raise UserError("cost.currency has no value: state what the price is in, as in cost.currency=USD")
    if not 0 <= cost.probe_seconds <= LONGEST_PROBE:
        raise UserError(f"cost.probe_seconds={cost.probe_seconds}: must be from 0 (not measured) to {LONGEST_PROBE}")


def _validate_files(config: TrainConfig) -> None:
    """Everything that names files must name some."""
    if config.init_from == "":
        raise UserError("init_from has no value: state a run directory or a checkpoint, as in init_from=runs/...")
    validate_data(config.data)


def validate_data(data: DataConfig) -> None:
    """Refuse a corpus that names no files, and filters that nothing passes.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    ratio = data.filters.max_ratio
    if ratio is not None and not 1 <= ratio < math.inf:
        raise UserError(f"data.filters.max_ratio={ratio}: must be at least 1, and finite; null: any number")
    if isinstance(data, TextFilesDataConfig):
        for split in ("train", "dev", "test"):
            for side in ("source", "target"):
                named = getattr(getattr(data, split), side)
                if not named or not all(isinstance(file, str) and file for file in _listed(named)):
                    raise UserError(
                        f"data.{split}.{side}={json.dumps(named, default=str)}: state a file, a glob, or a list of them"
                    )
    if isinstance(data, TreesDataConfig):
        _validate_trees(data)


def _validate_trees(data: TreesDataConfig) -> None:
    if data.path == "":
        raise UserError("data.path has no value: state the folder of the trees, or null")
    if data.gold_times < 1:
        raise UserError(f"data.gold_times={data.gold_times}: must be at least 1")
    for part in ("train", "dev", "test", "silver"):
        named = getattr(data, part)
        if part == "silver" and named is None:
            continue
        if not named or not all(isinstance(file, str) and file for file in _listed(named)):
            raise UserError(
                f"data.{part}={json.dumps(named, default=str)}: state a file, a folder, a glob, or a list of them"
            )


def validate_vocabulary(config: TrainConfig) -> None:
    """Refuse a vocabulary that loses words.

    Raises:
        UserError: naming the key, the value and what to take.
    """
    if config.tokenizer.kind is TokenizerKind.symbols and not is_parsing(config.data):
        raise UserError(
            f"tokenizer.kind=symbols: made for trees, and data.kind={config.data.kind.name} is text, whose unknown "
            "words would be lost: take tokenizer=byte_pair"
        )


def _listed(named: object) -> list[object]:
    return named if isinstance(named, list) else [named]


def has_learned_positions(model: ModelConfig) -> bool:
    """Whether sentences may not be longer than `model.max_positions`."""
    if isinstance(model, TransformerConfig):
        return model.positions is Positions.learned
    return isinstance(model, ConvolutionalConfig)


def _validate_positions(config: TrainConfig) -> None:
    """What each kind of positions asks of the sizes."""
    model = config.model
    if has_learned_positions(model) and model.max_positions < config.data.max_length:
        raise UserError(
            f"model.max_positions={model.max_positions}: fewer than data.max_length={config.data.max_length}, "
            "and learned positions end there"
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
        "data": (config.data, ("max_length",)),
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
        "launch": (config.launch, ("timeout_seconds", "jobs_per_device", "preparation_processes")),
    }
    if config.launch.timeout_seconds > LONGEST_WAIT:
        raise UserError(
            f"launch.timeout_seconds={config.launch.timeout_seconds}: must be at most {LONGEST_WAIT}, a year"
        )
    if config.launch.cores_per_job is not None and config.launch.cores_per_job < 1:
        raise UserError(f"launch.cores_per_job={config.launch.cores_per_job}: must be at least 1, or null")
    if isinstance(config.model, TransformerConfig):
        _refuse_uneven_heads(config.model)
    for group, (node, names) in groups.items():
        for name in names:
            if getattr(node, name) < 1:
                raise UserError(f"{group}.{name}={getattr(node, name)}: must be at least 1")


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
