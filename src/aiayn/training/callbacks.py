"""What accompanies a training run: the progress bar, and the way to stop it without loss."""

import logging
import math
import signal
import threading
import time
from types import FrameType
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer

from aiayn.data.batches.collation import TranslationBatch
from aiayn.system.progress import Bar, Shown, has_bars, shown
from aiayn.training.module import TranslationModule
from aiayn.training.process_group import ALONE, Number, ProcessGroup

logger = logging.getLogger("aiayn")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""What ends training with a checkpoint; SIGUSR1 is how Slurm announces that its time is up."""


class StepCounter(Callback):
    """Lets the module count and log each optimizer step before any other callback sees its end.

    Lightning calls a module's own hook after the callbacks': a checkpoint would be written without its last step.
    """

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: TranslationBatch, batch_idx: int
    ) -> None:
        """Finish the step after its last micro-batch."""
        assert isinstance(pl_module, TranslationModule)
        if (batch_idx + 1) % trainer.accumulate_grad_batches == 0:
            pl_module.finish_step(batch)


class MissedValidation(Callback):
    """Makes up for a validation that a kill prevented, before training goes on.

    A checkpoint is written at the end of its step and before the validation that is due there; Lightning takes that for
    done when it resumes.
    """

    def __init__(self) -> None:
        self.is_due = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Validate the weights that the run resumes from."""
        if self.is_due:
            trainer.validating = True
            trainer.fit_loop.epoch_loop.val_loop.run()
            trainer.training = True


class StopOnSignal(Callback):
    """On a signal finish the optimizer step and stop, all ranks after the same one.

    A signal may reach one rank or all, at any moment. At the end of every step the ranks begin to ask each other for
    one, and read the answer at the end of the next: no step waits for it, and none is done by some ranks only.

    Args:
        group: the ranks of the run.
        is_patient: whether the first signal is all that counts. Otherwise the second one ends the process at once.
    """

    def __init__(self, group: ProcessGroup = ALONE, *, is_patient: bool = False) -> None:
        self.received: signal.Signals | None = None
        """What all ranks stop for."""
        self._group = group
        self._is_patient = is_patient
        self._heard: int = 0
        self._answer: Number | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take the signals over, where Python allows it."""
        if threading.current_thread() is threading.main_thread():
            heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._previous = {number: signal.signal(number, self._receive) for number in heeded}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._heard = self._heard or number
        if not self._is_patient:
            self._restore()

    def on_train_batch_end(self, trainer: Trainer, *arguments: Any) -> None:
        """Stop at the end of an optimizer step, so that a checkpoint holds whole steps."""
        done = trainer.fit_loop.epoch_loop.batch_progress.current.ready
        if done % trainer.accumulate_grad_batches:
            return
        number = self._agreed()
        if number:
            self.received = signal.Signals(number)
            trainer.should_stop = True
            interval = trainer.val_check_batch
            if interval and done % interval:
                trainer.limit_val_batches = 0  # Lightning would validate out of turn before it stops

    def _agreed(self) -> int:
        """The number of the signal that all ranks now stop for, or 0."""
        if self._group.size == 1:
            return self._heard
        number = 0 if self._answer is None else self._answer()
        self._answer = self._group.highest(self._heard)
        return number

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the signals back, before Lightning gives back its own: later, its handlers would be left behind."""
        if self._answer is not None:
            self._answer()
        self._restore()
        self.ignore_more()

    def ignore_more(self) -> None:
        """Where the first signal is all that counts, let no further one come between it and the last checkpoint.

        Launchers send several, and each rank may notice by itself that its command has died. To be called again when
        Lightning has given back the handlers that it found.
        """
        if self._is_patient and self.received and threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                signal.signal(number, lambda *_: None)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """The same where training ends by an error."""
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}


class TrainingBar(Callback):
    """Loss, perplexity, tokens/s, learning rate and time left on standard error; where that is a file, plain lines."""

    PLAIN_INTERVAL = 30.0
    """Seconds between two lines where standard error is not a terminal."""

    def __init__(self) -> None:
        self._bars: list[Bar] = []
        self._spoke = 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Open the bar where the run stands."""
        self._bars = [Bar("train", total=trainer.max_steps, done=trainer.global_step, stays=True)]

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *arguments: Any) -> None:
        """Show the step and the metrics logged last."""
        assert isinstance(pl_module, TranslationModule)
        step, total = trainer.global_step, trainer.max_steps
        if has_bars():
            self._bars[0].reach(step, _brief(pl_module.latest_metrics))
        elif shown() is Shown.all and (time.monotonic() - self._spoke > self.PLAIN_INTERVAL or step == total):
            self._spoke = time.monotonic()
            logger.info("train: step %d/%d %s", step, total, _brief(pl_module.latest_metrics))

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let validation have the place of the bar."""
        batches = sum(trainer.num_val_batches)
        self._bars.append(Bar("validate", total=int(batches) if math.isfinite(batches) else None, unit=" batches"))

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, *arguments: Any) -> None:
        """Count its batches."""
        self._bars[-1].advance()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the place back."""
        self._bars.pop().close()

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Leave the finished bar standing."""
        while self._bars:
            self._bars.pop().close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """The same where training ends by an error."""
        self.teardown(trainer, pl_module, "fit")


def _brief(metrics: dict[str, float]) -> str:
    """The metrics, those first that a narrow terminal should not cut."""
    formats = {
        "train/loss": "loss {:.3f}",
        "train/ppl": "ppl {:.4g}",
        "val/ppl": "val {:.4g}",
        "val/bleu": "bleu {:.1f}",
        "val/bleu_none": "bleu {:.1f}",
        "train/tokens_per_second": "{:,.0f} tok/s",
        "train/lr": "lr {:.0e}",
    }
    return " ".join(text.format(metrics[key]) for key, text in formats.items() if key in metrics)
