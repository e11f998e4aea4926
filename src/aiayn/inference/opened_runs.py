"""Open one run for use, or several whose models predict as one: an ensemble."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from aiayn.config.command_schema import SearchOverridesConfig, TunedOverridesConfig
from aiayn.config.schema import ProcessConfig, TrainConfig
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.errors import UserError
from aiayn.inference.opened_run import OpenedRun, open_for_use
from aiayn.models.ensemble import Ensemble
from aiayn.runs.directory import named_runs
from aiayn.training.scoring import AnyModel


@dataclass(frozen=True)
class OpenedRuns:
    """Runs and their checkpoints; the first one says how to search, and whose corpus an evaluation is of."""

    members: Sequence[OpenedRun]

    @property
    def first(self) -> OpenedRun:
        """The run that was named first, or alone."""
        return self.members[0]

    @property
    def config(self) -> TrainConfig:
        """The first run's own, `decoding` with what was asked for differently."""
        return self.first.config

    @property
    def ensemble_name(self) -> str | None:
        """What tells this ensemble from all others, in whatever order it is named; None for a single run."""
        if len(self.members) == 1:
            return None
        parts = sorted(f"{run.record.run_id} {run.checkpoint_name}" for run in self.members)
        return f"ensemble{len(parts)}-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:8]}"

    def tokenizer(self) -> AnyTokenizer:
        """The tokenizer of all of them.

        Raises:
            UserError: one of them has another, or has none.
        """
        own, *others = (run.tokenizer() for run in self.members)
        for run, other in zip(self.members[1:], others, strict=True):
            if other.checksum != own.checksum:
                raise UserError(
                    f"run={run.directory.path}: has another vocabulary than {self.first.directory.path}; "
                    "name runs whose tokenizer.json is the same"
                )
        return own

    def model(self, *, vocabulary_size: int, device: torch.device) -> AnyModel:
        """The model of a single run, or the ensemble of all of them, in evaluation mode.

        Raises:
            UserError: the weights of one cannot be read or do not fit.
        """
        models = [run.model(vocabulary_size=vocabulary_size, device=device) for run in self.members]
        return models[0] if len(models) == 1 else Ensemble(models).eval()

    def longest(self, asked: int | None) -> int:
        """The most tokens of a sentence that every one of them reads; see `OpenedRun.longest`."""
        return min(run.longest(asked) for run in self.members)


def open_all(
    runs: object,
    *,
    checkpoint: str,
    launch: ProcessConfig,
    decoding: SearchOverridesConfig | TunedOverridesConfig | None = None,
) -> OpenedRuns:
    """Open what the user named.

    Args:
        runs: a run directory, or a list of them.
        checkpoint: last, best, average or an optimizer step, of each.
        launch: of this process.
        decoding: what to search differently.

    Raises:
        UserError: a run, a checkpoint or a setting cannot be used.
    """
    return OpenedRuns(
        [open_for_use(name, checkpoint=checkpoint, launch=launch, decoding=decoding) for name in named_runs(runs)]
    )
