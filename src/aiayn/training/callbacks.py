"""Callbacks of a training run."""

import logging
import math
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, final

from pytorch_lightning import Callback, LightningModule, Trainer

from aiayn.data.batches.collation import TranslationBatch
from aiayn.runs.directory import RunDirectory
from aiayn.system.progress import Bar, Shown, has_bars, shown
from aiayn.system.signals import INTERRUPTING, ignore_signals, in_main_thread, raised_signal
from aiayn.training.averaging import averaged_steps
from aiayn.training.lightning_internals import validate_in_training
from aiayn.training.module import TranslationModule
from aiayn.training.process_group import ALONE, ProcessGroup

logger = logging.getLogger("aiayn")


class StepCounter(Callback):
    """Lets the module count and log each optimizer step before other callbacks run.

    Lightning calls the module's own hook after the callbacks: a checkpoint would not count its last step.
    """

    def __init__(self) -> None:
        self.has_begun = False
        """Whether training has begun; a checkpoint to resume from has been restored by then."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Note that training begins."""
        self.has_begun = True

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: TranslationBatch, batch_idx: int
    ) -> None:
        """Finish the step after its last micro-batch."""
        assert isinstance(pl_module, TranslationModule)
        if (batch_idx + 1) % trainer.accumulate_grad_batches == 0:
            pl_module.finish_step(batch)


class MissedValidation(Callback):
    """Does a validation that a kill prevented, before training resumes.

    A checkpoint is written before the validation due at its step, which Lightning skips when it resumes.
    """

    def __init__(self) -> None:
        self.is_due = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Validate the weights that the run resumes from."""
        if self.is_due:
            validate_in_training(trainer)


class StopOnSignal(Callback):
    """Stops after the current optimizer step on a signal, on all ranks after the same step.

    A signal may reach one rank or all, at any time. At the end of a step the ranks begin an all-reduce of the received
    signal, and read its result at the end of the next, so no step waits for it. If patient, further signals are
    ignored; otherwise the second one ends the process. `validation_interval` is in optimizer steps.
    """

    def __init__(self, group: ProcessGroup = ALONE, *, validation_interval: int, is_patient: bool = False) -> None:
        self.received: signal.Signals | None = None
        """The signal for which all ranks stop."""
        self._group = group
        self._validation_interval = validation_interval
        self._is_patient = is_patient
        self._signal: int = 0
        self._agreement: Callable[[], int] | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Set the signal handlers, in the main thread; a signal whose interrupt was swallowed counts, too."""
        self._signal = raised_signal()
        if in_main_thread():
            handled = [number for number in INTERRUPTING if signal.getsignal(number) is not signal.SIG_IGN]
            self._previous = {number: signal.signal(number, self._receive) for number in handled}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._signal = self._signal or number
        if not self._is_patient:
            self._restore()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: object, batch_idx: int
    ) -> None:
        """Stop at the end of an optimizer step, so that checkpoints hold whole steps."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        number = self._agreed()
        if number:
            self.received = signal.Signals(number)
            trainer.should_stop = True
            if trainer.global_step % self._validation_interval:
                trainer.limit_val_batches = 0  # otherwise Lightning validates before it stops

    def _agreed(self) -> int:
        if self._group.size == 1:
            return self._signal
        number = 0 if self._agreement is None else self._agreement()
        self._agreement = self._group.all_reduce_max(self._signal)
        return number

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Restore the handlers before Lightning restores those that it found."""
        if self._agreement is not None:
            self._agreement()
        self._restore()
        self.ignore_more()

    def ignore_more(self) -> None:
        """If patient, ignore further signals until the last checkpoint is written.

        Call again after Lightning has restored its handlers: launchers send several signals.
        """
        if self._is_patient and self.received:
            ignore_signals()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Restore the handlers."""
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}


class TrainingBar(Callback):
    """Loss, perplexity, tokens/s, learning rate and time left on a terminal; else a plain line now and then."""

    PLAIN_INTERVAL = 30.0
    """Seconds between two plain lines."""

    def __init__(self) -> None:
        self._bars: list[Bar] = []
        self._last_line = 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Open the bar."""
        self._bars = [Bar("train", total=trainer.max_steps, done=trainer.global_step, stays=True)]

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *arguments: Any) -> None:
        """Show the step and the latest metrics."""
        assert isinstance(pl_module, TranslationModule)
        step, total = trainer.global_step, trainer.max_steps
        if has_bars():
            self._bars[0].reach(step, _brief(pl_module.latest_metrics))
        elif shown() is Shown.all and (time.monotonic() - self._last_line > self.PLAIN_INTERVAL or step == total):
            self._last_line = time.monotonic()
            logger.info("train: step %d/%d %s", step, total, " ".join(_brief(pl_module.latest_metrics)))

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Open a second bar."""
        batches = sum(trainer.num_val_batches)
        self._bars.append(Bar("validate", total=int(batches) if math.isfinite(batches) else None, unit=" batches"))

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, *arguments: Any) -> None:
        """Advance it."""
        self._bars[-1].advance()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Close it."""
        self._bars.pop().close()

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Close the bars."""
        while self._bars:
            self._bars.pop().close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Close the bars."""
        self.teardown(trainer, pl_module, "fit")


def _brief(metrics: dict[str, float]) -> list[str]:
    """The metrics in words, the most important first: a narrow terminal has no room for all."""
    formats = {
        "train/loss": "loss {:.3f}",
        "train/ppl": "ppl {:.4g}",
        "val/ppl": "val {:.4g}",
        "val/bleu": "bleu {:.1f}",
        "val/bleu_none": "bleu {:.1f}",
        "train/tokens_per_second": "{:,.0f} tok/s",
        "train/lr": "lr {:.0e}",
    }
    return [text.format(metrics[key]) for key, text in formats.items() if key in metrics]


@final
class WeightsKeeper(Callback):
    """Writes `weights-<n>.ckpt` at the steps to be averaged, and removes those no longer needed.

    The kept steps follow from the current one, also in a resumed run. Lightning calls this before the callbacks that
    write whole checkpoints, so the weights due until any checkpoint are on disk.
    """

    def __init__(self, directory: RunDirectory, *, interval: int, checkpoints: int) -> None:
        self._directory = directory
        self._interval = interval
        self._checkpoints = checkpoints

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the files of a killed attempt from steps that will be repeated."""
        if trainer.is_global_zero:
            self._remove(lambda step: step > trainer.global_step)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: object, batch_idx: int
    ) -> None:
        """Write the weights if the step is due; a collective operation."""
        step = trainer.global_step
        wanted = averaged_steps(
            step, max_steps=trainer.max_steps, interval=self._interval, checkpoints=self._checkpoints
        )
        if (batch_idx + 1) % trainer.accumulate_grad_batches or step not in wanted:
            return
        trainer.save_checkpoint(self._directory.checkpoints / f"weights-{step:07d}.ckpt", weights_only=True)
        if trainer.is_global_zero:
            self._remove(lambda step: step not in wanted)

    def _remove(self, is_unwanted: Callable[[int], bool]) -> None:
        for step, path in self._directory.steps("weights").items():
            if is_unwanted(step):
                path.unlink(missing_ok=True)
