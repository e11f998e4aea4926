"""Lightning's Trainer, set up so that a run can stop anywhere and resume exactly there."""

import inspect
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, final

from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint, Timer
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.environments import (  # type: ignore[attr-defined]  # which Lightning does export
    ClusterEnvironment,
    LightningEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)
from pytorch_lightning.strategies import DDPStrategy

from aiayn.config.instantiation import instantiate
from aiayn.errors import UserError
from aiayn.training.averaging import WeightsKeeper
from aiayn.training.callbacks import MissedValidation, StepCounter, StopOnSignal, TrainingBar
from aiayn.training.checkpoint_io import AtomicCheckpointIO
from aiayn.training.data_module import TranslationDataModule
from aiayn.training.module import TranslationModule
from aiayn.training.process_group import ALONE, ProcessGroup


def trainer_arguments() -> set[str]:
    """The names of the arguments of the installed Lightning's Trainer."""
    return set(inspect.signature(Trainer).parameters)


@dataclass(frozen=True)
class Budget:
    """The length of a training run, and its intervals."""

    max_steps: int
    """Optimizer steps."""
    accumulation: int
    """Micro-batches of a rank in one optimizer step."""
    validation_interval: int
    """Optimizer steps between two validations."""
    averaged_checkpoints: int = 0
    """Number of checkpoints averaged at the end."""
    averaging_interval: int = 1
    """Optimizer steps between two of them."""


@final
class TrainingSession:
    """The training of one attempt.

    Args:
        settings: the Trainer's `_target_` and arguments, `precision` and `strategy` already concrete or "auto".
        callbacks: configured callbacks by name, each with its `_target_`.
        budget: steps, accumulation, validation.
        checkpoints: the folder of checkpoints.
        group: the ranks that train together.
        is_patient: whether to ignore a second signal, as from a scheduler or launcher that sends several.
        by_srun: whether Slurm started the ranks, not torchrun.
        timeout_seconds: how long one rank waits for another.

    Raises:
        UserError: Lightning refuses an argument or a callback.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        callbacks: Mapping[str, Mapping[str, Any]],
        budget: Budget,
        checkpoints: Path,
        timeout_seconds: int,
        group: ProcessGroup = ALONE,
        is_patient: bool = False,
        by_srun: bool = False,
    ) -> None:
        self._group = group
        self.checkpoints = checkpoints
        self.max_steps = budget.max_steps
        self._is_trial = bool(settings.get("fast_dev_run"))
        self._saves = bool(settings.get("enable_checkpointing", True))
        self._stop = StopOnSignal(group, is_patient=is_patient or group.size > 1)
        self._missed = MissedValidation()
        arguments = dict(settings)
        plugins = [instantiate(node, key="trainer.plugins") for node in arguments.pop("plugins", None) or []]
        if not any(isinstance(plugin, ClusterEnvironment) for plugin in plugins):
            plugins.append(_environment(group, by_srun=by_srun))
        if arguments["strategy"] == "auto" and group.size > 1:
            arguments["strategy"] = DDPStrategy(timeout=timedelta(seconds=timeout_seconds))
        bar: list[Callback] = [TrainingBar()] if arguments.get("enable_progress_bar") else []
        keepers = self._keepers(budget)
        trainer = instantiate(
            {**arguments, "enable_progress_bar": False},
            key="trainer",
            max_steps=budget.max_steps,
            max_epochs=-1,
            accumulate_grad_batches=budget.accumulation,
            val_check_interval=min(budget.validation_interval, budget.max_steps) * budget.accumulation,
            check_val_every_n_epoch=None,
            use_distributed_sampler=False,
            default_root_dir=str(checkpoints.parent),
            logger=False,
            callbacks=[StepCounter(), *keepers, self._stop, self._missed, *bar, *self._configured(callbacks)],
            plugins=[AtomicCheckpointIO(), *plugins],
        )
        if not isinstance(trainer, Trainer):
            raise UserError(f"trainer._target_={settings['_target_']}: is not a Trainer of Lightning")
        self._trainer = trainer

    @property
    def step(self) -> int:
        """Optimizer steps done."""
        return self._trainer.global_step

    @property
    def precision(self) -> str:
        """In Lightning's notation, such as 32-true or bf16-mixed."""
        return str(self._trainer.precision)

    @property
    def stopped_by(self) -> signal.Signals | None:
        """The signal that stopped this attempt, or None."""
        return self._stop.received

    @property
    def ended_early_by(self) -> str | None:
        """The setting, not a signal, that ended training before its last step; None if it reached its end."""
        if self.step >= self.max_steps or self._stop.received is not None:
            return None
        if self._is_trial:
            return "trainer.fast_dev_run"
        callbacks = vars(self._trainer)["callbacks"]  # not declared by Lightning
        timers = [callback for callback in callbacks if isinstance(callback, Timer)]
        if any((left := timer.time_remaining()) is not None and left <= 0 for timer in timers):
            return "trainer.max_time"
        return "a callback"

    def fit(
        self,
        module: TranslationModule,
        batches: TranslationDataModule,
        *,
        loggers: Sequence[Logger],
        resume_from: Path | None,
        validate_first: bool = False,
    ) -> None:
        """Train, and write a checkpoint of the last step.

        Args:
            module: the model and its optimization.
            batches: the data.
            loggers: not used in a fast_dev_run.
            resume_from: a checkpoint.
            validate_first: whether the checkpoint's validation was missed; the same on all ranks.
        """
        self._missed.is_due = validate_first
        if not self._is_trial:
            self._trainer.loggers = list(loggers)
        self._trainer.fit(module, datamodule=batches, ckpt_path=None if resume_from is None else str(resume_from))
        self._stop.ignore_more()
        if self._saves:
            last = self.checkpoints / f"step-{self.step:07d}.ckpt"
            if not self._group.broadcast(last.exists()):  # saving is collective: the ranks must agree
                self._trainer.save_checkpoint(last)
            self._remove_orphaned(newest=last)

    def _remove_orphaned(self, *, newest: Path) -> None:
        """Remove checkpoints of earlier attempts that no callback has in its list."""
        callbacks = [each for each in self._trainer.checkpoint_callbacks if isinstance(each, ModelCheckpoint)]
        if not self._trainer.is_global_zero or any(each.monitor is None for each in callbacks):
            return  # without a monitor a callback keeps no list
        known = {Path(path).name for each in callbacks for path in (*each.best_k_models, each.last_model_path)}
        for path in self.checkpoints.glob("step-*.ckpt"):
            if path != newest and path.name not in known:
                path.unlink(missing_ok=True)

    def _keepers(self, budget: Budget) -> list[Callback]:
        """The callback that keeps the weights to average, if configured."""
        if not budget.averaged_checkpoints or self._is_trial or not self._saves:
            return []
        interval, checkpoints = budget.averaging_interval, budget.averaged_checkpoints
        return [WeightsKeeper(self.checkpoints, interval=interval, checkpoints=checkpoints)]

    def _configured(self, settings: Mapping[str, Mapping[str, Any]]) -> list[Callback]:
        """The configured callbacks."""
        made: list[Callback] = []
        for name, node in settings.items():
            is_checkpoint = str(node["_target_"]).endswith("ModelCheckpoint")
            if self._saves or not is_checkpoint:
                folder = {"dirpath": str(self.checkpoints)} if is_checkpoint else {}
                callback = instantiate(node, key=f"callbacks.{name}", **folder)
                if not isinstance(callback, Callback):
                    raise UserError(f"callbacks.{name}: {node['_target_']} is not a callback of Lightning")
                made.append(callback)
        return made


def _environment(group: ProcessGroup, *, by_srun: bool) -> ClusterEnvironment:
    """The starter of the ranks; Lightning would guess, and take a single process in a Slurm job for a rank."""
    if group.size == 1:
        return LightningEnvironment()
    # Lightning's own requeueing saves inside the signal handler, possibly in the middle of a step.
    return SLURMEnvironment(auto_requeue=False) if by_srun else TorchElasticEnvironment()
