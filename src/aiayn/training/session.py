"""Lightning's Trainer, set up so that a run can stop anywhere and resume exactly there."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, final

import torch
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint, Timer
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.environments import (  # type: ignore[attr-defined]  # Lightning exports it; its type stubs do not
    ClusterEnvironment,
    LightningEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)
from pytorch_lightning.plugins.io import CheckpointIO
from pytorch_lightning.strategies import DDPStrategy

from aiayn.config.instantiation import instantiate
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError, error_line
from aiayn.runs.directory import RunDirectory
from aiayn.system import files
from aiayn.system.plugins import note_source
from aiayn.training.callbacks import MissedValidation, StepCounter, StopOnSignal, TrainingBar, WeightsKeeper
from aiayn.training.checkpoint_io import UnusableCheckpointError, load_checkpoint, save_checkpoint
from aiayn.training.data_module import TranslationDataModule
from aiayn.training.lightning_internals import stop_broadcasts
from aiayn.training.module import TranslationModule
from aiayn.training.patience import Patience
from aiayn.training.process_group import ALONE, ProcessGroup

NOT_RESTORED = (AttributeError, LookupError, TypeError, ValueError)
"""Errors of Lightning and of callbacks that restore the state of training from content that they do not expect."""


class AtomicCheckpointIO(CheckpointIO):
    """Lightning's checkpoint files: written atomically, loaded with `weights_only=True`."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write a checkpoint; OSError if the disk refuses it."""
        assert storage_options is None
        save_checkpoint(checkpoint, Path(path))

    def load_checkpoint(self, path: Any, map_location: Any | None = None, weights_only: bool | None = None) -> Any:
        """Read a checkpoint of any run."""
        return load_checkpoint(Path(path), provenance=None, map_location=map_location)

    def remove_checkpoint(self, path: Any) -> None:
        """Delete a checkpoint."""
        Path(path).unlink(missing_ok=True)


@final
class TrainingSession:
    """The training of one attempt.

    `accumulation` is the number of a rank's micro-batches in an optimizer step. A patient session ignores a second
    signal, as from a scheduler that sends several. `by_srun`: Slurm started the ranks, not torchrun.

    Raises:
        UserError: Lightning refuses an argument or a callback.
    """

    def __init__(
        self,
        config: TrainConfig,
        directory: RunDirectory,
        *,
        accumulation: int,
        precision: object,
        group: ProcessGroup = ALONE,
        is_patient: bool = False,
        by_srun: bool = False,
    ) -> None:
        self._group = group
        self._directory, self.checkpoints = directory, directory.checkpoints
        self.max_steps = config.optimization.max_steps
        self._is_trial = bool(config.trainer.get("fast_dev_run"))
        self._saves = bool(config.trainer.get("enable_checkpointing", True))
        interval = min(config.optimization.validation_interval, self.max_steps)
        self._stop = StopOnSignal(group, validation_interval=interval, is_patient=is_patient or group.size > 1)
        self._counter, self._missed = StepCounter(), MissedValidation()
        patience = config.optimization.patience
        self._patience = None if patience is None else Patience(directory, patience=patience, group=group)
        arguments = {**config.trainer, "precision": precision}
        plugins = [instantiate(node, key="trainer.plugins") for node in arguments.pop("plugins", None) or []]
        if not any(isinstance(plugin, ClusterEnvironment) for plugin in plugins):
            plugins.append(_environment(group, by_srun=by_srun))
        if arguments["strategy"] == "auto" and group.size > 1:
            # The model's buffers are constants, equal on all ranks.
            arguments["strategy"] = DDPStrategy(
                timeout=timedelta(seconds=config.launch.timeout_seconds),
                broadcast_buffers=False,
                gradient_as_bucket_view=True,
            )
        if arguments["accelerator"] == "auto":  # Lightning's would be MPS on Apple silicon, which has no float64
            arguments["accelerator"] = "cuda" if torch.cuda.is_available() else "cpu"
        trainer = instantiate(
            {**arguments, "enable_progress_bar": False},
            key="trainer",
            max_steps=self.max_steps,
            max_epochs=-1,
            accumulate_grad_batches=accumulation,
            val_check_interval=interval * accumulation,
            check_val_every_n_epoch=None,
            use_distributed_sampler=False,
            default_root_dir=str(directory.path),
            logger=False,
            callbacks=list(self._callbacks(config, directory)),
            plugins=[AtomicCheckpointIO(), *plugins],
        )
        if not isinstance(trainer, Trainer):
            raise UserError(f"trainer._target_={config.trainer['_target_']}: is not a Trainer of Lightning")
        self._trainer = trainer
        stop_broadcasts(trainer)  # StopOnSignal does without

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
        """The signal that stopped this attempt."""
        return self._stop.received

    @property
    def ended_early_by(self) -> str | None:
        """The setting that ended training before its last step; None at its end, or after a signal."""
        if self.step >= self.max_steps or self._stop.received is not None:
            return None
        if self._is_trial:
            return "trainer.fast_dev_run"
        if self._patience is not None and self._patience.is_exhausted:
            waited, step = self._patience.waited, self._patience.best_step
            return f"optimization.patience={waited} (val/ppl is lowest at step {step:,})"
        callbacks = self._trainer.callbacks  # type: ignore[attr-defined]  # documented, and not declared
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
        """Train, and write a checkpoint of the last step; loggers are not used in a fast_dev_run.

        `validate_first` states whether the checkpoint's validation was missed, the same on all ranks.

        Raises:
            KeyboardInterrupt: a signal came before the first step.
            UnusableCheckpointError: training cannot resume from the checkpoint, and has not begun.
        """
        self._missed.is_due = validate_first
        if not self._is_trial:
            self._trainer.loggers = list(loggers)
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        try:
            self._trainer.fit(module, datamodule=batches, ckpt_path=None if resume_from is None else str(resume_from))
        except SystemExit as ended:
            # An interrupt before the first step, which Lightning turns into an exit; it ignores Ctrl-C from then on.
            if not isinstance(ended.__context__, KeyboardInterrupt):
                raise
            signal.signal(signal.SIGINT, on_ctrl_c)
            raise ended.__context__ from None
        except NOT_RESTORED as error:
            if resume_from is None or self._counter.has_begun:
                raise
            if isinstance(error, UserError):
                raise UnusableCheckpointError(str(error)) from error
            reason = error_line(error)
            raise UnusableCheckpointError(
                f"{resume_from}: training cannot resume from this checkpoint ({reason}); restore or remove it"
            ) from error
        self._stop.ignore_more()
        if self._saves:
            last = self.checkpoints / f"step-{self.step:07d}.ckpt"
            if not self._group.broadcast(files.exists(last)):  # saving is collective: the ranks must agree
                self._trainer.save_checkpoint(last)
            self._remove_orphaned(newest=last)

    def _remove_orphaned(self, *, newest: Path) -> None:
        """Remove checkpoints of earlier attempts that no callback has in its list, and more best ones than are kept.

        A kill after a new best checkpoint was written leaves the older one, too. The state to resume from may be from
        before, and knows the older one alone: the metrics decide.
        """
        callbacks = [each for each in self._trainer.checkpoint_callbacks if isinstance(each, ModelCheckpoint)]
        if not self._trainer.is_global_zero or any(each.monitor is None for each in callbacks):
            return  # without a monitor a callback keeps no list
        known = {Path(path).name for each in callbacks for path in (*each.best_k_models, each.last_model_path)}
        for path in self.checkpoints.glob("step-*.ckpt"):
            if path != newest and path.name not in known:
                path.unlink(missing_ok=True)
        numbers = [each.save_top_k for each in callbacks if each.monitor == "val/ppl"]
        if len(numbers) == 1 and numbers[0] > 0:
            perplexities = self._directory.validation_perplexities()
            best = {step: path for step, path in self._directory.steps("best").items() if step in perplexities}
            for step in sorted(best, key=lambda step: (perplexities[step], -step))[numbers[0] :]:
                best[step].unlink(missing_ok=True)

    def _callbacks(self, config: TrainConfig, directory: RunDirectory) -> Iterator[Callback]:
        """All callbacks in the order of their calls; Lightning puts those that write whole checkpoints last."""
        yield self._counter
        averaging = config.averaging
        if averaging.interval and self._saves and not self._is_trial:
            yield WeightsKeeper(directory, interval=averaging.interval, checkpoints=averaging.checkpoints)
        yield from (self._stop, self._missed)
        if self._patience is not None:
            yield self._patience
        if config.trainer.get("enable_progress_bar"):
            yield TrainingBar()
        yield from self._configured(config.callbacks)

    def _configured(self, settings: Mapping[str, Mapping[str, Any]]) -> Iterator[Callback]:
        for name, node in settings.items():
            is_checkpoint = str(node["_target_"]).endswith("ModelCheckpoint")
            if is_checkpoint and not self._saves:
                continue
            folder = {"dirpath": str(self.checkpoints)} if is_checkpoint else {}
            callback = instantiate(node, key=f"callbacks.{name}", **folder)
            if not isinstance(callback, Callback):
                raise UserError(f"callbacks.{name}: {node['_target_']} is not a callback of Lightning")
            note_source(type(callback), f"callbacks.{name}={node['_target_']}")
            yield callback


def _environment(group: ProcessGroup, *, by_srun: bool) -> ClusterEnvironment:
    """The starter of the ranks; Lightning would take a single process in a Slurm job for a rank."""
    if group.size == 1:
        return LightningEnvironment()
    # Lightning's own requeueing saves inside the signal handler, possibly in the middle of a step.
    return SLURMEnvironment(auto_requeue=False) if by_srun else TorchElasticEnvironment()
