"""Lightning's Trainer, set up so that a run can stop anywhere and go on exactly there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, final

from pytorch_lightning import Callback, Trainer
from pytorch_lightning.loggers import Logger
from pytorch_lightning.strategies import DDPStrategy

from aiayn.training.callbacks import StepCounter, StopOnSignal, TrainingBar
from aiayn.training.checkpoint_io import AtomicCheckpointIO
from aiayn.training.data_module import TranslationDataModule
from aiayn.training.leaves import make
from aiayn.training.module import TranslationModule


@dataclass(frozen=True)
class Budget:
    """How long a run trains, and how often it looks up."""

    max_steps: int
    """Optimizer steps."""
    accumulation: int
    """Micro-batches a rank makes for one optimizer step."""
    validation_interval: int
    """Optimizer steps between two validations."""


@final
class TrainingSession:
    """One go at a run.

    Args:
        settings: the Trainer's `_target_` and arguments, `precision` and `strategy` already concrete or "auto".
        callbacks: more of them, by name, each with its `_target_`; checkpoints go to `checkpoints`.
        budget: steps, accumulation, validation.
        loggers: the trackers.
        checkpoints: the folder of checkpoints.
        world_size: processes in all.
        timeout_seconds: how long one rank waits for another.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        callbacks: Mapping[str, Mapping[str, Any]],
        budget: Budget,
        loggers: Sequence[Logger],
        checkpoints: Path,
        world_size: int,
        timeout_seconds: int,
    ) -> None:
        self.checkpoints = checkpoints
        self._stop = StopOnSignal()
        arguments = dict(settings)
        plugins = [make(node, key="trainer.plugins") for node in arguments.pop("plugins", None) or []]
        if arguments["strategy"] == "auto" and world_size > 1:
            arguments["strategy"] = DDPStrategy(timeout=timedelta(seconds=timeout_seconds))
        bar: list[Callback] = [TrainingBar()] if arguments.get("enable_progress_bar") else []
        trainer = make(
            {**arguments, "enable_progress_bar": False},
            key="trainer",
            max_steps=budget.max_steps,
            max_epochs=-1,
            accumulate_grad_batches=budget.accumulation,
            val_check_interval=min(budget.validation_interval, budget.max_steps) * budget.accumulation,
            check_val_every_n_epoch=None,
            use_distributed_sampler=False,
            default_root_dir=str(checkpoints.parent),
            logger=list(loggers),
            callbacks=[StepCounter(), self._stop, *bar, *_callbacks(callbacks, checkpoints)],
            plugins=[AtomicCheckpointIO(), *plugins],
        )
        assert isinstance(trainer, Trainer)
        self._trainer = trainer

    @property
    def step(self) -> int:
        """Optimizer steps done."""
        return self._trainer.global_step

    @property
    def precision(self) -> str:
        """As Lightning names it, such as 32-true or bf16-mixed."""
        return str(self._trainer.precision)

    @property
    def stopped_by(self) -> str | None:
        """The signal that ended this go before its time, or None."""
        return None if self._stop.received is None else self._stop.received.name

    def fit(self, module: TranslationModule, batches: TranslationDataModule, *, resume_from: Path | None) -> None:
        """Train, from a checkpoint where one is given, and leave a checkpoint of the last step."""
        self._trainer.fit(module, datamodule=batches, ckpt_path=None if resume_from is None else str(resume_from))
        last = self.checkpoints / f"step-{self.step:07d}.ckpt"
        if not last.exists():
            self._trainer.save_checkpoint(last)


def _callbacks(settings: Mapping[str, Mapping[str, Any]], checkpoints: Path) -> list[Callback]:
    """The configured callbacks."""
    made = []
    for name, node in settings.items():
        folder = {"dirpath": str(checkpoints)} if str(node["_target_"]).endswith("ModelCheckpoint") else {}
        made.append(make(node, key=f"callbacks.{name}", **folder))
    return made
