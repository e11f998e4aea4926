"""Arguments of Lightning and W&B: those that follow from other keys, and values that they would not explain in time."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from aiayn.config.data_schema import DataConfig, ParsedDataConfig
from aiayn.config.schema import DecodingConfig, TrainConfig
from aiayn.config.values import LARGEST, Count, Range, WholeNumber, check_value
from aiayn.errors import UserError
from aiayn.system import files

STARTS_PROCESSES = ("spawn", "fork", "notebook")
"""Parts of names of Lightning's strategies that start processes of their own, which would not be ended."""

BATCHES = Annotated[float, Range(0, LARGEST)]
ARGUMENTS: dict[str, Any] = {
    "min_steps": WholeNumber | None,
    "log_every_n_steps": WholeNumber,
    "limit_train_batches": Annotated[float, Range(above=0, most=LARGEST)] | None,
    "limit_val_batches": BATCHES | None,
    "overfit_batches": BATCHES,
    "gradient_clip_val": BATCHES | None,
    "fast_dev_run": bool | WholeNumber,
    "num_nodes": Count,
    **dict.fromkeys(("enable_checkpointing", "enable_progress_bar"), bool),
    "accelerator": Literal["auto", "cpu", "gpu", "cuda"],
}
"""Arguments that this program reads, too."""

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

WANDB: dict[str, Any] = {
    "project": str,
    "entity": str | None,
    "mode": Literal["auto", "online", "offline", "disabled", "shared"],
    "log_model": bool | Literal["all"],
    "samples": WholeNumber,
    "init_timeout": Annotated[float, Range(above=0, most=LARGEST)],
    "finish_timeout": Annotated[float, Range(0, LARGEST)],
}
"""Arguments of W&B; mode=auto leaves the choice to its environment, the login and the server; times are in seconds."""

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
    """Check the arguments of Lightning's Trainer."""
    if not _names_its_target(trainer):
        raise UserError("trainer: has no _target_; state trainer._target_=<class>")
    for name, value in trainer.items():
        if name in ARGUMENTS:
            check_value(f"trainer.{name}", value, ARGUMENTS[name])
        elif isinstance(value, Mapping) and name != "max_time" and not _names_its_target(value):
            raise UserError(f"trainer.{name}={value}: an object needs its _target_")
    strategy = trainer.get("strategy")
    if isinstance(strategy, str) and any(word in strategy for word in STARTS_PROCESSES):
        raise UserError(
            f"trainer.strategy={strategy}: starts processes, but the command itself does so; state auto or ddp"
        )
    algorithm = trainer.get("gradient_clip_algorithm")
    if algorithm is not None and trainer.get("gradient_clip_val") is None:
        raise UserError(f"trainer.gradient_clip_algorithm={algorithm}: state trainer.gradient_clip_val as well")
    plugins = trainer.get("plugins")
    if plugins is not None and not (isinstance(plugins, list) and all(map(_names_its_target, plugins))):
        raise UserError(f"trainer.plugins={plugins}: state a list of objects, each with its _target_, or null")


def validate_callbacks(config: TrainConfig) -> None:
    """Check that every callback has a `_target_` and monitors a metric that the run logs."""
    for name, node in config.callbacks.items():
        if not _names_its_target(node):
            raise UserError(f"callbacks.{name}: has no _target_; state +callbacks.{name}._target_=<class>")
        if node["_target_"].endswith("ModelCheckpoint"):
            _validate_checkpoints(name, node)
    if not all(_logs_nothing(str(node["_target_"])) for node in config.callbacks.values()):
        return  # one of them may log the metric that another monitors
    known = monitored_metrics(config.decoding, config.data)
    for name, node in config.callbacks.items():
        if node.get("monitor") not in (None, *known):
            raise UserError(f"callbacks.{name}.monitor={node['monitor']}: choose from {', '.join(known)}")


def _validate_checkpoints(name: str, node: Mapping[str, Any]) -> None:
    key = f"callbacks.{name}"
    if not files.is_inside(str(node.get("filename") or "checkpoint")):
        raise UserError(f"{key}.filename={node['filename']}: leads out of the run's checkpoints; state a name")
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


def _names_its_target(node: object) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("_target_"), str)


def _logs_nothing(target: str) -> bool:
    """Whether a callback is one of Lightning's that log no metric."""
    return target.startswith(("pytorch_lightning.callbacks.", "lightning.pytorch.callbacks.")) and not target.endswith(
        ("LearningRateMonitor", "LambdaCallback")
    )


def monitored_metrics(decoding: DecodingConfig, data: DataConfig) -> tuple[str, ...]:
    """The metrics that callbacks can monitor."""
    if not decoding.validation_sentences:
        return "step", "epoch", "val/ppl"
    if isinstance(data, ParsedDataConfig):
        return "step", "epoch", "val/ppl", "val/f1"
    return "step", "epoch", "val/ppl", "val/bleu_none" if data.pretokenized else "val/bleu"


def logs_to_wandb(logger: Mapping[str, Any]) -> bool:
    """Whether the `logger` group names W&B's logger."""
    return str(logger.get("_target_")).endswith("WandbLogger")


def validate_wandb(logger: Mapping[str, Any]) -> None:
    """Check that a tracker has a `_target_`, and the arguments of W&B; those of other trackers are not checked."""
    if logger and not _names_its_target(logger):
        raise UserError("logger: has no _target_; state logger._target_=<class>, or logger=none for no tracker")
    if not logs_to_wandb(logger):
        return
    for argument, instead in FOLLOWS_FROM_THE_RUN.items():
        if argument in logger:
            raise UserError(f"logger.{argument}: {instead}")
    for argument, hint in WANDB.items():
        if argument in logger or argument not in ("log_model", "samples"):
            check_value(f"logger.{argument}", logger.get(argument), hint)
