"""The LightningDataModule: streams of token batches for this rank."""

from collections.abc import Callable, Iterable, Iterator
from typing import final

import torch
from pytorch_lightning import LightningDataModule, Trainer

from aiayn.data.batches.batching import EvaluationStream, TrainingStream
from aiayn.data.batches.collation import TranslationBatch
from aiayn.data.batches.prefetch import prefetch

_PREFETCHED = 4
"""Batches prepared ahead for a GPU: one of 25,000 tokens takes 0.6 ms, not negligible beside its step."""


@final
class TranslationDataModule(LightningDataModule):
    """The batches of one run for the trainer's rank.

    `training` and `validation` make the streams. Both are given `rank` and `world_size`, `training` also
    `accumulation`, `start_step` and `max_steps`.
    """

    def __init__(self, *, training: Callable[..., TrainingStream], validation: Callable[..., EvaluationStream]) -> None:
        super().__init__()
        self._training, self._validation = training, validation

    def train_dataloader(self) -> "TrainingLoader":
        """The micro-batches of this rank from the trainer's current step."""
        trainer = self.trainer
        assert trainer is not None
        stream = self._training(
            accumulation=trainer.accumulate_grad_batches,
            start_step=trainer.global_step,
            max_steps=trainer.max_steps,
            **_place(trainer),
        )
        return TrainingLoader(stream, trainer)

    def val_dataloader(self) -> EvaluationStream:
        """The development set, each sentence on exactly one rank."""
        assert self.trainer is not None
        return self._validation(**_place(self.trainer))


def _place(trainer: Trainer) -> dict[str, int]:
    return {"rank": trainer.global_rank, "world_size": trainer.world_size}


@final
class TrainingLoader:
    """A training stream as a resumable loader for Lightning, to which the whole run is one epoch.

    The length is that of the whole run, also in a resumed one. The state is the optimizer step alone.
    """

    def __init__(self, stream: TrainingStream, trainer: Trainer) -> None:
        self.stream = stream
        self._trainer = trainer

    def __len__(self) -> int:
        return self._trainer.max_steps * self._trainer.accumulate_grad_batches

    def __iter__(self) -> Iterator[TranslationBatch]:
        device = self._trainer.strategy.root_device
        if device.type != "cuda":
            return iter(self.stream)  # preparing a batch takes a few thousandths of a step on a CPU
        return prefetch(_pinned(self.stream, device), depth=_PREFETCHED)

    def state_dict(self) -> dict[str, int]:
        """The optimizer steps done."""
        return {"step": self._trainer.global_step}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Check that the stream starts at the restored step."""
        assert state["step"] == self._trainer.global_step, f"{state} but the trainer is at {self._trainer.global_step}"


def _pinned(batches: Iterable[TranslationBatch], device: torch.device) -> Iterator[TranslationBatch]:
    """The batches in pinned memory; to be run in the thread that prepares them."""
    torch.cuda.set_device(device)  # of each thread; pinning by another rank's GPU would take memory there
    for batch in batches:
        yield batch.pin_memory()
