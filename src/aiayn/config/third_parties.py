"""What Lightning and W&B are given: arguments that follow from other keys, and values that they would not explain."""

import math
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from aiayn.config.data_schema import is_parsing
from aiayn.config.schema import TrainConfig
from aiayn.config.values import LARGEST
from aiayn.errors import UserError

WANDB_MODES = ("auto", "online", "offline", "disabled", "shared")
"""What W&B may be asked for; auto leaves it to its environment, the login and the server."""

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
    "sync_batchnorm": "leave it out, no model here has batch normalisation",
    "barebones": "state logger=none trainer.enable_checkpointing=false trainer.enable_progress_bar=false instead",
}
"""Arguments of Lightning's Trainer that follow from other keys, and what to do."""

LONGEST_PROJECT = 128
NO_PROJECT = {*"/\\#?%:"}
"""What W&B refuses in the name of a project: its length, and characters."""

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

ARGUMENTS: dict[str, tuple[tuple[type, ...], str]] = {
    "min_steps": ((int,), "a number of steps, at least 0, or null"),
    "log_every_n_steps": ((int,), "a number of steps, at least 0"),
    "limit_train_batches": ((int, float), "a number of batches or a share of them, more than 0, or null"),
    "limit_val_batches": ((int, float), "a number of batches or a share of them, at least 0, or null"),
    "overfit_batches": ((int, float), "a number of batches or a share of them, at least 0"),
    "gradient_clip_val": ((int, float), "at least 0, and finite, or null"),
    "fast_dev_run": ((bool, int), "true, false, or a number of batches, at least 0"),
    "enable_checkpointing": ((bool,), "true or false"),
    "enable_progress_bar": ((bool,), "true or false"),
    "num_nodes": ((int,), "a number of hosts, at least 1"),
    "enable_model_summary": ((bool,), "true or false"),
    "inference_mode": ((bool,), "true or false"),
    "detect_anomaly": ((bool,), "true or false"),
    "benchmark": ((bool,), "true, false or null"),
    "deterministic": ((bool, str), "true, false, warn or null"),
    "num_sanity_val_steps": ((int,), "a number of batches, at least 0, or -1 for all"),
    "profiler": ((str, dict), "the name of one of Lightning's, an object with its _target_, or null"),
    "_target_": ((str,), "the name of a class, as in pytorch_lightning.Trainer"),
}
"""Arguments of the Trainer whose values are judged here, with their types and what is allowed."""

DURATION = r"\d+:\d{1,2}:\d{1,2}:\d{1,2}"
"""How Lightning reads `trainer.max_time`."""

KEPT = {
    "latest": {"filename": "step-{step:07d}", "auto_insert_metric_name": False, "monitor": "step", "mode": "max"},
    "best": {"filename": "best-{step:07d}", "auto_insert_metric_name": False},
}
"""Keys of the callbacks that keep checkpoints, by which the rest of the program finds these."""

BETTER_WHEN = {
    "val/ppl": "min",
    "val/bleu": "max",
    "val/bleu_none": "max",
    "val/f1": "max",
    "step": "max",
    "epoch": "max",
}
"""Which values of a metric a checkpoint is kept for."""


def validate_trainer(trainer: Mapping[str, Any]) -> None:
    """Refuse arguments of Lightning's Trainer that follow from other keys, and values that it would not explain.

    Raises:
        UserError: naming the argument, its value and what to do.
    """
    for argument in trainer:
        if argument in STATED_ELSEWHERE:
            raise UserError(f"trainer.{argument}: {STATED_ELSEWHERE[argument]}")
    strategy = trainer.get("strategy")
    if isinstance(strategy, str) and any(word in strategy for word in STARTS_PROCESSES):
        raise UserError(
            f"trainer.strategy={strategy}: starts processes of its own, as this command does already: state auto or ddp"
        )
    for argument, (kinds, allowed) in ARGUMENTS.items():
        if argument in trainer and not _is_allowed(trainer[argument], kinds, allowed):
            raise UserError(f"trainer.{argument}={trainer[argument]}: must be {allowed}")
    if isinstance(word := trainer.get("deterministic"), str) and word != "warn":
        raise UserError(f"trainer.deterministic={word}: must be {ARGUMENTS['deterministic'][1]}")
    longest = trainer.get("max_time")
    if longest is not None and not _is_duration(longest):
        raise UserError(
            f"trainer.max_time={longest}: state days:hours:minutes:seconds, as in 00:01:30:00 and more than 0, or null"
        )
    if trainer.get("gradient_clip_algorithm") is not None and trainer.get("gradient_clip_val") is None:
        algorithm = trainer["gradient_clip_algorithm"]
        raise UserError(f"trainer.gradient_clip_algorithm={algorithm}: state trainer.gradient_clip_val as well")
    plugins = trainer.get("plugins")
    if plugins is not None and not (isinstance(plugins, list) and all(map(_names_its_target, plugins))):
        raise UserError(f"trainer.plugins={plugins}: state a list of objects, each with its _target_, or null")


def validate_callbacks(config: TrainConfig) -> None:
    """Refuse callbacks that are none, and those of Lightning that wait for a metric that no run has.

    Raises:
        UserError: naming the callback, the key and what to do.
    """
    for name, node in config.callbacks.items():
        if not _names_its_target(node):
            raise UserError(f"callbacks.{name}: has no _target_; state +callbacks.{name}._target_=<class>")
        if node["_target_"].endswith("ModelCheckpoint"):
            _validate_checkpoints(name, node)
    if not all(_logs_nothing(str(node["_target_"])) for node in config.callbacks.values()):
        return  # one of them may log what another waits for
    known = _metrics(config)
    for name, node in config.callbacks.items():
        if node.get("monitor") not in (None, *known):
            raise UserError(f"callbacks.{name}.monitor={node['monitor']}: choose from {', '.join(known)}")


def _validate_checkpoints(name: str, node: Mapping[str, Any]) -> None:
    if "dirpath" in node:
        raise UserError(f"callbacks.{name}.dirpath: leave it out, checkpoints lie in the run directory")
    for key, expected in KEPT.get(name, {}).items():
        if node.get(key) != expected:
            raise UserError(
                f"callbacks.{name}.{key}={node.get(key)}: other commands rely on {key}={expected}; "
                "leave it out, or add a callback of your own"
            )
    if name in KEPT and node.get("save_top_k") == 0:
        raise UserError(f"callbacks.{name}.save_top_k=0: no checkpoint would be kept; state 1 or more, or -1 for all")
    expected = BETTER_WHEN.get(str(node.get("monitor")))
    if expected is not None and node.get("mode") != expected:
        raise UserError(
            f"callbacks.{name}.mode={node.get('mode')}: with monitor={node['monitor']} it keeps the worst; "
            f"state {expected}"
        )
    for key in ("every_n_train_steps", "every_n_epochs", "save_top_k"):
        if node.get(key) is not None and (type(node[key]) is not int or not -1 <= node[key] <= LARGEST):
            raise UserError(f"callbacks.{name}.{key}={node[key]}: must be a whole number")


def _is_duration(value: object) -> bool:
    if isinstance(value, Mapping):
        parts = value.values()
        return all(type(part) in (int, float) and 0 <= part <= LARGEST for part in parts) and any(parts)
    return re.fullmatch(DURATION, str(value)) is not None and re.search("[1-9]", str(value)) is not None


def _is_allowed(value: object, kinds: tuple[type, ...], allowed: str) -> bool:
    if value is None:
        return allowed.endswith("null")
    if type(value) not in kinds:
        return False
    if not isinstance(value, int | float):
        return True
    least = 1 if "at least 1" in allowed else -1 if "-1" in allowed else 0
    return least <= value <= LARGEST and not (value == 0 and "more than 0" in allowed)


def _names_its_target(node: object) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("_target_"), str) and bool(node["_target_"].strip())


def _logs_nothing(target: str) -> bool:
    """Whether a callback is one of Lightning's that log no metric."""
    return re.fullmatch(r"(pytorch_lightning|lightning\.pytorch)\.callbacks\..*", target) is not None and not (
        target.endswith(("LearningRateMonitor", "LambdaCallback"))
    )


def _metrics(config: TrainConfig) -> tuple[str, ...]:
    """What a run logs for its callbacks."""
    if not config.decoding.validation_sentences:
        return "step", "epoch", "val/ppl"
    if is_parsing(config.data):
        return "step", "epoch", "val/ppl", "val/f1"
    return "step", "epoch", "val/ppl", "val/bleu_none" if config.data.pretokenized else "val/bleu"


def validate_wandb(logger: Mapping[str, Any]) -> None:
    """Refuse requests that W&B cannot follow; other trackers judge their own arguments.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    if "_target_" in logger and not _names_its_target(logger):
        raise UserError(f"logger._target_={logger['_target_']}: state the name of a class, or logger=none")
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
    _validate_place(logger)
    if logger.get("log_model", False) not in (False, True, "all"):
        raise UserError(f"logger.log_model={logger['log_model']}: choose from false, true (the best), all")
    samples = logger.get("samples", 0)
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 0:
        raise UserError(f"logger.samples={samples}: must be a number of sentences, at least 0 (0: no table)")
    _validate_timeouts(logger)


def _validate_place(logger: Mapping[str, Any]) -> None:
    project = logger.get("project")
    if not _is_name(project) or len(project) > LONGEST_PROJECT or NO_PROJECT & {*project}:
        raise UserError(
            f"logger.project={project}: state a name of 1 to {LONGEST_PROJECT} characters without "
            f"{' '.join(sorted(NO_PROJECT))}"
        )
    entity = logger.get("entity")
    if entity is not None and not _is_name(entity):
        raise UserError(f"logger.entity={entity}: state a user or team of W&B, or null for your account's default")


def _validate_timeouts(logger: Mapping[str, Any]) -> None:
    for name, lowest in (("init_timeout", "greater than 0"), ("finish_timeout", "at least 0 (0: as long as it takes)")):
        seconds = logger.get(name)
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not is_number or not 0 <= float(str(seconds)) < math.inf or (seconds == 0 and name == "init_timeout"):
            raise UserError(f"logger.{name}={seconds}: must be a number of seconds, {lowest}")


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
