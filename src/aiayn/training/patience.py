"""Early stopping by patience: training ends when the perplexity on the development set no longer falls."""

import math
from typing import Any, final

from pytorch_lightning import Callback, LightningModule, Trainer

from aiayn.runs.directory import RunDirectory
from aiayn.training.module import TranslationModule
from aiayn.training.process_group import ALONE, ProcessGroup


@final
class Patience(Callback):
    """Ends training after `patience` validations in a row without a new lowest `val/ppl`.

    An equal perplexity is no improvement. Its state is part of every checkpoint. A checkpoint that was written before
    the validation due at its step does not count it yet: a resumed run takes the perplexity from the metrics, unless
    `MissedValidation` does the validation again. The first rank decides for all.
    """

    def __init__(self, directory: RunDirectory, *, patience: int, group: ProcessGroup = ALONE) -> None:
        self._directory = directory
        self._patience = patience
        self._group = group
        self._lowest = math.inf
        self._counted_step = 0
        self.best_step = 0
        """The step of the lowest perplexity; 0 before the first validation."""
        self.waited = 0
        """Validations since then."""

    @property
    def is_exhausted(self) -> bool:
        """Whether training ends here."""
        return self.waited >= self._patience

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count the validation that the checkpoint lacks, and end a run that was killed after its last step."""
        step = trainer.global_step
        if step > self._counted_step:
            logged = self._directory.validation_perplexities() if self._group.is_leader else {}
            if (ppl := self._group.broadcast(logged.get(step))) is not None:
                self.count(step, ppl)
        trainer.should_stop = trainer.should_stop or self.is_exhausted

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count a validation, before the callbacks that write checkpoints."""
        assert isinstance(pl_module, TranslationModule)
        if not trainer.sanity_checking:
            self.count(trainer.global_step, self._group.broadcast(pl_module.latest_metrics["val/ppl"]))
            trainer.should_stop = trainer.should_stop or self.is_exhausted

    def count(self, step: int, ppl: float) -> None:
        """Count the validation after a step."""
        self._counted_step = step
        if ppl < self._lowest:
            self._lowest, self.best_step, self.waited = ppl, step, 0
        else:
            self.waited += 1

    def state_dict(self) -> dict[str, Any]:
        """The counters, as plain values."""
        return {
            "lowest": self._lowest,
            "counted_step": self._counted_step,
            "best_step": self.best_step,
            "waited": self.waited,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the counters."""
        self._lowest, self._counted_step = state_dict["lowest"], state_dict["counted_step"]
        self.best_step, self.waited = state_dict["best_step"], state_dict["waited"]
