"""Arguments of Lightning and W&B: those that follow from other keys, and values that they would not explain in time."""

import re
from collections.abc import Mapping
from types import NoneType
from typing import Any, NamedTuple, TypeGuard

from aiayn.config.data_schema import is_parsing
from aiayn.config.schema import TrainConfig
from aiayn.config.values import LARGEST, Range
from aiayn.errors import UserError

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
    "use_distributed_sampler": "leave it out, batches are already distributed over the ranks",
    "reload_dataloaders_every_n_epochs": "leave it out, a run is one epoch for Lightning",
    "sync_batchnorm": "leave it out, no model has batch normalisation",
    "barebones": "state logger=none trainer.enable_checkpointing=false trainer.enable_progress_bar=false instead",
}
"""Arguments of Lightning's Trainer that follow from other keys, and the remedy."""

STARTS_PROCESSES = ("spawn", "fork", "notebook")
"""Parts of the names of Lightning's strategies that start processes of their own, which would not be ended."""


class Argument(NamedTuple):
    """An argument of Lightning's Trainer: types, range and their description."""

    types: tuple[type, ...]
    range: Range
    allowed: str


FLAG = Argument((bool,), Range(), "true or false")
BATCHES = (int, float)
ARGUMENTS = {
    "min_steps": Argument((int, NoneType), Range(0, LARGEST), "a number of steps, at least 0, or null"),
    "log_every_n_steps": Argument((int,), Range(0, LARGEST), "a number of steps, at least 0"),
    "limit_train_batches": Argument(
        (*BATCHES, NoneType), Range(above=0, most=LARGEST), "a number of batches or a share of them, above 0, or null"
    ),
    "limit_val_batches": Argument(
        (*BATCHES, NoneType), Range(0, LARGEST), "a number of batches or a share of them, at least 0, or null"
    ),
    "overfit_batches": Argument(BATCHES, Range(0, LARGEST), "a number of batches or a share of them, at least 0"),
    "gradient_clip_val": Argument((int, float, NoneType), Range(0, LARGEST), "at least 0, and finite, or null"),
    "fast_dev_run": Argument((bool, int), Range(0, LARGEST), "true, false, or a number of batches, at least 0"),
    "num_nodes": Argument((int,), Range(1, LARGEST), "a number of hosts, at least 1"),
    "num_sanity_val_steps": Argument((int,), Range(-1, LARGEST), "a number of batches, at least 0, or -1 for all"),
    "enable_checkpointing": FLAG,
    "enable_progress_bar": FLAG,
    "enable_model_summary": FLAG,
    "inference_mode": FLAG,
    "detect_anomaly": FLAG,
    "benchmark": Argument((bool, NoneType), Range(), "true, false or null"),
    "deterministic": Argument((bool, str, NoneType), Range(), "true, false, warn or null"),
    "profiler": Argument(
        (str, dict, NoneType), Range(), "the name of one of Lightning's, an object with its _target_, or null"
    ),
    "_target_": Argument((str,), Range(), "the name of a class, as in pytorch_lightning.Trainer"),
}
"""Arguments that Lightning checks late or not at all."""

DURATION = r"\d+:\d{1,2}:\d{1,2}:\d{1,2}"
"""`trainer.max_time` as Lightning parses it."""

UNLIMITED = {
    "fast_dev_run": (False, 0),
    "overfit_batches": (0, 0.0),
    "limit_train_batches": (None, 1.0),
    "limit_val_batches": (None, 1.0),
}
"""Arguments that shorten a run, and the values that do not."""

KEPT = {
    "latest": {"filename": "step-{step:07d}", "auto_insert_metric_name": False, "monitor": "step", "mode": "max"},
    "best": {"filename": "best-{step:07d}", "auto_insert_metric_name": False},
}
"""Keys of the checkpoint callbacks by which other commands find checkpoints."""

BETTER_WHEN = {"val/ppl": "min"} | dict.fromkeys(("val/bleu", "val/bleu_none", "val/f1", "step", "epoch"), "max")
"""The mode of a checkpoint callback that monitors the metric."""

WANDB_MODES = ("auto", "online", "offline", "disabled", "shared")
"""Modes of W&B; auto leaves the choice to its environment, the login and the server."""

LONGEST_PROJECT, NO_PROJECT = 128, {*"/\\#?%:"}
"""The longest name of a project in W&B, and the characters that it must not have."""

TIMEOUTS = {"init_timeout": Range(above=0, most=LARGEST), "finish_timeout": Range(0, LARGEST)}
"""Seconds that W&B may take; finish_timeout=0: no limit."""

FOLLOWS_FROM_THE_RUN = {
    "id": "leave it out, it is the run_id of the record",
    "version": "leave it out, it is the run_id of the record",
    "resume": "leave it out, a resumed run is resumed in W&B too",
    "config": "leave it out, it is the whole configuration",
    "dir": "leave it out, W&B's files go to the run's directory",
    "save_dir": "leave it out, W&B's files go to the run's directory",
    "offline": "state logger.mode=offline instead",
}
"""Arguments of W&B that follow from the run, and the remedy."""


def trial_reason(trainer: Mapping[str, Any]) -> str | None:
    """The argument that makes a run a trial, as in "trainer.fast_dev_run=true"; None if the run is no trial.

    A trial tests whether a run works, or fits a few batches. It is never a result.
    """
    for name, unlimited in UNLIMITED.items():
        value = trainer.get(name, unlimited[0])
        if not any(value == each and type(value) is type(each) for each in unlimited):
            return f"trainer.{name}={str(value).lower() if isinstance(value, bool) else value}"
    return None


def validate_trainer(trainer: Mapping[str, Any]) -> None:
    """Check the arguments of Lightning's Trainer.

    Raises:
        UserError: naming the argument, its value and the remedy.
    """
    for name, value in trainer.items():
        if name in STATED_ELSEWHERE:
            raise UserError(f"trainer.{name}: {STATED_ELSEWHERE[name]}")
        if name in ARGUMENTS and not _is_allowed(value, ARGUMENTS[name]):
            raise UserError(f"trainer.{name}={value}: must be {ARGUMENTS[name].allowed}")
    strategy, deterministic = trainer.get("strategy"), trainer.get("deterministic")
    if isinstance(strategy, str) and any(word in strategy for word in STARTS_PROCESSES):
        raise UserError(f"trainer.strategy={strategy}: starts processes, which this command does: state auto or ddp")
    if isinstance(deterministic, str) and deterministic != "warn":
        raise UserError(f"trainer.deterministic={deterministic}: must be {ARGUMENTS['deterministic'].allowed}")
    longest = trainer.get("max_time")
    if longest is not None and not _is_duration(longest):
        raise UserError(
            f"trainer.max_time={longest}: state days:hours:minutes:seconds, as in 00:01:30:00 and more than 0, or null"
        )
    algorithm = trainer.get("gradient_clip_algorithm")
    if algorithm is not None and trainer.get("gradient_clip_val") is None:
        raise UserError(f"trainer.gradient_clip_algorithm={algorithm}: state trainer.gradient_clip_val as well")
    plugins = trainer.get("plugins")
    if plugins is not None and not (isinstance(plugins, list) and all(map(_names_its_target, plugins))):
        raise UserError(f"trainer.plugins={plugins}: state a list of objects, each with its _target_, or null")


def _is_allowed(value: object, argument: Argument) -> bool:
    if type(value) not in argument.types:
        return False
    return not isinstance(value, int | float) or argument.range.expected(value) is None


def _is_duration(value: object) -> bool:
    if isinstance(value, Mapping):
        parts = value.values()
        return all(type(part) in (int, float) and 0 <= part <= LARGEST for part in parts) and any(parts)
    return re.fullmatch(DURATION, str(value)) is not None and re.search("[1-9]", str(value)) is not None


def validate_callbacks(config: TrainConfig) -> None:
    """Check that every callback has a `_target_` and monitors a metric that the run logs.

    Raises:
        UserError: naming the callback, the key and the remedy.
    """
    for name, node in config.callbacks.items():
        if not _names_its_target(node):
            raise UserError(f"callbacks.{name}: has no _target_; state +callbacks.{name}._target_=<class>")
        if node["_target_"].endswith("ModelCheckpoint"):
            _validate_checkpoints(name, node)
    if not all(_logs_nothing(str(node["_target_"])) for node in config.callbacks.values()):
        return  # one of them may log the metric that another monitors
    known = _metrics(config)
    for name, node in config.callbacks.items():
        if node.get("monitor") not in (None, *known):
            raise UserError(f"callbacks.{name}.monitor={node['monitor']}: choose from {', '.join(known)}")


def _validate_checkpoints(name: str, node: Mapping[str, Any]) -> None:
    key = f"callbacks.{name}"
    if "dirpath" in node:
        raise UserError(f"{key}.dirpath: leave it out, checkpoints lie in the run directory")
    for argument, expected in KEPT.get(name, {}).items():
        if node.get(argument) != expected:
            raise UserError(
                f"{key}.{argument}={node.get(argument)}: other commands rely on {argument}={expected}; "
                "leave it out, or add a callback of your own"
            )
    if name in KEPT and node.get("save_top_k") == 0:
        raise UserError(f"{key}.save_top_k=0: no checkpoint would be kept; state 1 or more, or -1 for all")
    mode, better = node.get("mode"), BETTER_WHEN.get(str(node.get("monitor")))
    if better is not None and mode != better:
        raise UserError(f"{key}.mode={mode}: with monitor={node['monitor']} it keeps the worst; state {better}")
    for argument in ("every_n_train_steps", "every_n_epochs", "save_top_k"):
        value = node.get(argument)
        if value is not None and (type(value) is not int or not -1 <= value <= LARGEST):
            raise UserError(f"{key}.{argument}={value}: must be a whole number")


def _names_its_target(node: object) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("_target_"), str) and bool(node["_target_"].strip())


def _logs_nothing(target: str) -> bool:
    """Whether a callback is one of Lightning's that log no metric."""
    return target.startswith(("pytorch_lightning.callbacks.", "lightning.pytorch.callbacks.")) and not target.endswith(
        ("LearningRateMonitor", "LambdaCallback")
    )


def _metrics(config: TrainConfig) -> tuple[str, ...]:
    """The metrics that callbacks can monitor."""
    if not config.decoding.validation_sentences:
        return "step", "epoch", "val/ppl"
    if is_parsing(config.data):
        return "step", "epoch", "val/ppl", "val/f1"
    return "step", "epoch", "val/ppl", "val/bleu_none" if config.data.pretokenized else "val/bleu"


def validate_wandb(logger: Mapping[str, Any]) -> None:
    """Check the arguments of W&B; arguments of other trackers are not checked.

    Raises:
        UserError: naming the key, the value and the remedy.
    """
    if "_target_" in logger and not _names_its_target(logger):
        raise UserError(f"logger._target_={logger['_target_']}: state the name of a class, or logger=none")
    if not str(logger.get("_target_")).endswith("WandbLogger"):
        return
    if "api_key" in logger or "api_key" in (logger.get("settings") or {}):
        raise UserError("logger: an API key would be kept in the run's files: use `wandb login` or WANDB_API_KEY")
    for argument, instead in FOLLOWS_FROM_THE_RUN.items():
        if argument in logger:
            raise UserError(f"logger.{argument}: {instead}")
    if logger.get("mode") not in WANDB_MODES:
        raise UserError(f"logger.mode={logger.get('mode')}: choose from {', '.join(WANDB_MODES)}")
    _validate_place(logger.get("project"), logger.get("entity"))
    if logger.get("log_model", False) not in (False, True, "all"):
        raise UserError(f"logger.log_model={logger['log_model']}: choose from false, true (the best), all")
    _validate_numbers(logger)


def _validate_numbers(logger: Mapping[str, Any]) -> None:
    samples = logger.get("samples", 0)
    if type(samples) is not int or samples < 0:
        raise UserError(f"logger.samples={samples}: must be a number of sentences, at least 0 (0: no table)")
    for name, allowed in TIMEOUTS.items():
        seconds = logger.get(name)
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or allowed.expected(seconds) is not None:
            raise UserError(f"logger.{name}={seconds}: must be a number of seconds, {allowed.expected(-1)}")


def _validate_place(project: object, entity: object) -> None:
    if not _is_name(project) or len(project) > LONGEST_PROJECT or NO_PROJECT & {*project}:
        raise UserError(
            f"logger.project={project}: state a name of 1 to {LONGEST_PROJECT} characters without "
            f"{' '.join(sorted(NO_PROJECT))}"
        )
    if entity is not None and not _is_name(entity):
        raise UserError(f"logger.entity={entity}: state a user or team of W&B, or null for your account's default")


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
