"""One optimizer step of a module by Lightning, on the CPU."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor
from torch.utils.data import DataLoader

from aiayn.data.batches.collation import TranslationBatch
from aiayn.system.quiet import NOISE
from aiayn.training.module import TranslationModule


class TrainingStep(Callback):
    """A step on micro-batches: the last one's loss, the step's gradients, and the weights before and after.

    Gradients and weights have the names of the model's parameters.
    """

    def __init__(
        self, module: TranslationModule, batches: Sequence[TranslationBatch], folder: Path, *, precision: Any = None
    ) -> None:
        """`precision` is Lightning's; None: float32."""
        self.loss = math.nan
        self.gradients: dict[str, Tensor] = {}
        self.before = _weights(module)
        trainer = Trainer(
            accelerator="cpu",
            precision=precision,
            max_steps=1,
            accumulate_grad_batches=len(batches),
            limit_val_batches=0,
            callbacks=[self],
            default_root_dir=folder,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        loader: DataLoader[TranslationBatch] = DataLoader(batches, batch_size=None)  # type: ignore[arg-type]  # a list
        with warnings.catch_warnings():
            for message in NOISE:
                warnings.filterwarnings("ignore", message)
            trainer.fit(module, loader, loader)  # the second one is not used, but Lightning wants one
        self.after = _weights(module)

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Any) -> None:
        named = pl_module.get_submodule("model").named_parameters()
        self.gradients = {name: weight.grad.clone() for name, weight in named if weight.grad is not None}

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.loss = float(outputs["loss"])


def _weights(module: TranslationModule) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in module.model.named_parameters()}
