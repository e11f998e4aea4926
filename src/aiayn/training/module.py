"""The LightningModule: training and validation steps, optimizer, metrics, counters.

The loss of an optimizer step is the smoothed cross entropy summed over its target tokens, divided by their number over
all micro-batches and ranks; a mean per micro-batch would weigh tokens of short micro-batches more. The number is
planned on the host with the batch (`step_target_tokens`), so ranks need not communicate. Lightning divides by the
accumulation and DDP averages over ranks; `training_step` multiplies by both.

`val/ppl` is exp(sum of unsmoothed NLL / tokens) over all ranks. Every sentence is on exactly one rank; ranks without
sentences make passes of weight zero, since others wait for them. `val/bleu` is computed in the same hook; a search
draws no random numbers, so it does not change training.
"""

import dataclasses
import math
import time
from typing import Any

import numpy as np
import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from aiayn.config.schema import OptimizationConfig, SmoothedClasses
from aiayn.data.batches.collation import TranslationBatch
from aiayn.errors import RunFailedError
from aiayn.evaluation.perplexity import perplexity
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.system.torch_internals import keep_graphs_whole
from aiayn.training.checkpoint_content import check_fit, check_optimizer_state
from aiayn.training.lightning_internals import optimizer_steps, set_batches
from aiayn.training.loss import TokenLosses, output_losses
from aiayn.training.meter import AttemptCounters, Meter, Progress
from aiayn.training.schedule import learning_rate
from aiayn.training.validation_sample import ValidationSample


class TranslationModule(LightningModule):
    """Trains a model on token batches.

    The loss of a micro-batch is its sum over target tokens divided by the target tokens of the whole optimizer step, so
    that the update does not depend on the number of micro-batches and ranks. `provenance` is kept in every checkpoint.
    Every validation decodes `sample`. `is_compiled` is for Transformers alone.
    """

    def __init__(
        self,
        *,
        model: TranslationModel[Any],
        recipe: OptimizationConfig,
        seed: int,
        log_interval: int,
        provenance: dict[str, str],
        is_compiled: bool = False,
        sample: ValidationSample | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        classes, self._d_model = model.output_weight.shape
        # Smoothing over the wrong classes alone, eps / (V - 1) each, is the same as eps V / (V - 1) shared by all.
        factor = classes / (classes - 1) if recipe.smoothed_classes is SmoothedClasses.wrong else 1
        self._label_smoothing = recipe.label_smoothing * factor
        self._recipe = recipe
        self._seed = seed
        self._log_interval = log_interval
        self._provenance = provenance
        self._states = model.states
        self._is_compiled = is_compiled and isinstance(model, Transformer)
        if self._is_compiled:
            keep_graphs_whole()
            # With dynamic sizes, one graph serves all batches instead of one per shape.
            self._states = torch.compile(model.states, dynamic=True)
        self.progress = Progress()
        self.spent = AttemptCounters()
        self.latest_metrics: dict[str, float] = {}
        self._sample = sample
        self._meter = Meter()
        self._window: dict[str, float] | None = None
        self._validation = torch.zeros(2, dtype=torch.float64)
        self._started = 0.0
        self._validation_started = 0.0
        self._validated_before = 0.0
        self._began_at = 0.0

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Adam with the paper's schedule."""
        optimizer = self._adam()
        scheduler = LambdaLR(optimizer, lambda steps_done: self._rate(steps_done + 1))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step", "frequency": 1}}

    def _adam(self) -> torch.optim.Adam:
        recipe = self._recipe
        betas = recipe.adam_beta1, recipe.adam_beta2
        return torch.optim.Adam(self.parameters(), lr=1.0, betas=betas, eps=recipe.adam_epsilon, fused=True)

    def _rate(self, step: int) -> float:
        recipe = self._recipe
        return learning_rate(
            step, d_model=self._d_model, warmup_steps=recipe.warmup_steps, factor=recipe.learning_rate_factor
        )

    def on_train_start(self) -> None:
        """Start the clocks, and restore the checkpoint's window."""
        self._meter.reset(self.device)
        if self._window is not None:
            # It holds the sums of all ranks, which are summed over ranks again when they are logged.
            self._meter.restore(self._window, with_losses=self.global_rank == 0)
            self._window = None
        self._began_at = self.progress.seconds
        self._started = time.perf_counter() - self.progress.seconds
        self._validated_before = self.spent.validation_seconds  # by MissedValidation

    def on_train_end(self) -> None:
        """Stop the clock."""
        self._read_clock()

    def _read_clock(self) -> None:
        self.progress.seconds = time.perf_counter() - self._started
        validated = self.spent.validation_seconds - self._validated_before
        self.spent.training_seconds = self.progress.seconds - self._began_at - validated

    def on_train_batch_start(self, batch: TranslationBatch, batch_idx: int) -> None:
        """Seed dropout from (seed, step, micro-batch, rank), so that a resumed run draws the same masks."""
        entropy = np.random.SeedSequence((self._seed, batch.step, batch_idx, self.global_rank))
        torch.manual_seed(int(entropy.generate_state(1, np.uint64)[0]))

    def training_step(self, batch: TranslationBatch) -> Tensor:
        """The micro-batch's share of the optimizer step's loss, a scalar."""
        losses = self._losses(batch)
        self._meter.add_losses(smoothed=losses.smoothed, nll=losses.nll)
        # Undoes the divisions by Lightning (accumulation) and by DDP (ranks): the loss is a sum over the step.
        shares = self.trainer.accumulate_grad_batches * self.trainer.world_size
        return losses.smoothed * (shares / batch.step_target_tokens)

    def _losses(self, batch: TranslationBatch) -> TokenLosses:
        """Losses summed over the real target tokens."""
        return output_losses(
            self._states(batch.source, batch.target_input),
            self.model.output_weight,
            batch.target_output,
            label_smoothing=self._label_smoothing,
            bias=self.model.output_bias,
            is_compiled=self._is_compiled,
        )

    def finish_step(self, batch: TranslationBatch) -> None:
        """Count an optimizer step, given its last micro-batch, and log at every `log_interval`-th."""
        self.progress.source_tokens += batch.step_source_tokens
        self.progress.target_tokens += batch.step_target_tokens
        self.spent.source_tokens += batch.step_source_tokens
        self.spent.target_tokens += batch.step_target_tokens
        self._read_clock()
        self._meter.add_step(source_tokens=batch.step_source_tokens, target_tokens=batch.step_target_tokens)
        step = self.trainer.global_step
        if step in (1, self.trainer.max_steps) or step % self._log_interval == 0:
            self._log_training(step)

    def _log_training(self, step: int) -> None:
        losses = self._over_ranks(self._meter.losses)
        metrics = {**self._meter.metrics(losses), "train/lr": self._rate(step), "train/seconds": self.progress.seconds}
        self._meter.reset(self.device)
        for logger in self.loggers:
            logger.log_metrics(metrics, step)
        self.latest_metrics.update(metrics)
        self._check_divergence(metrics["train/loss"], step)

    def _over_ranks(self, sums: Tensor) -> Tensor:
        """The sums over all ranks; `sums` is not changed."""
        total = self.trainer.strategy.reduce(sums.clone(), reduce_op="sum")
        assert isinstance(total, Tensor)
        return total

    def _check_divergence(self, loss: float, step: int) -> None:
        if not math.isfinite(loss):
            raise RunFailedError(f"the training loss is {loss} at step {step}: lower optimization.learning_rate_factor")
        if self.progress.first_loss is None:
            self.progress.first_loss = loss
        if loss > self._recipe.divergence_factor * self.progress.first_loss:
            raise RunFailedError(
                f"the training loss is {loss:.2f} at step {step} after {self.progress.first_loss:.2f} at the start: "
                "the run diverged; lower optimization.learning_rate_factor or raise optimization.warmup_steps"
            )

    def on_validation_epoch_start(self) -> None:
        """Start a new validation."""
        self._validation_started = time.perf_counter()
        self._validation = torch.zeros(2, dtype=torch.float64, device=self.device)

    def validation_step(self, batch: TranslationBatch) -> None:
        """Add the unsmoothed likelihood and the tokens of a batch."""
        nll = self._losses(batch).nll
        self._validation += torch.stack([nll.double(), nll.new_tensor(batch.step_target_tokens, dtype=torch.float64)])

    def on_validation_epoch_end(self) -> None:
        """`val/ppl`, exp(sum of NLL / sum of tokens) over all ranks, and the sample's score."""
        nll, tokens = self._over_ranks(self._validation).cpu().numpy()
        metrics = {"val/ppl": perplexity(np.array([nll]), np.array([tokens]))}
        if self._sample is not None and math.isfinite(metrics["val/ppl"]):  # otherwise the model cannot be searched
            metrics[self._sample.metric] = self._sample.score(self.model, device=self.device)
        # For the checkpoint callbacks; equal on all ranks. Lightning would log it a step late.
        self.log_dict(metrics, logger=False, sync_dist=True)
        for logger in self.loggers:
            logger.log_metrics(metrics, self.trainer.global_step)
        self.latest_metrics.update(metrics)
        self.spent.validation_seconds += time.perf_counter() - self._validation_started

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add counters and provenance as plain values; a collective operation."""
        checkpoint["aiayn"] = {
            "progress": dataclasses.asdict(self.progress),
            "window": self._meter.state(self._over_ranks(self._meter.losses)),
            "provenance": self._provenance,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the counters; ValueError, TypeError or LookupError if the content is not this module's."""
        check_fit(self, checkpoint["state_dict"])
        check_optimizer_state(self._adam(), checkpoint["optimizer_states"][0])
        own = checkpoint["aiayn"]
        counters = [value for name, value in own["progress"].items() if (name, value) != ("first_loss", None)]
        if not all(isinstance(value, int | float) for value in counters):
            raise ValueError("its counters of progress are no numbers")
        if optimizer_steps(checkpoint) != checkpoint["global_step"]:
            raise ValueError("global_step is not the number of optimizer steps")
        if [schedule["last_epoch"] for schedule in checkpoint["lr_schedulers"]] != [checkpoint["global_step"]]:
            raise ValueError("global_step is not the step of the learning rate's schedule")
        Meter().restore(own["window"], with_losses=True)  # raises here what it would raise later
        self.progress, self._window = Progress(**own["progress"]), own["window"]
        set_batches(checkpoint, checkpoint["global_step"] * self.trainer.accumulate_grad_batches)
