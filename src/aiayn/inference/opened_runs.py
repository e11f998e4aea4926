"""Existing runs opened for use: one, or several whose models predict together as an ensemble."""

import dataclasses
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from aiayn.builders.models import build_model
from aiayn.config.command_schema import OverridesConfig
from aiayn.config.freeze import load_config
from aiayn.config.schema import DecodingConfig, ProcessConfig, TrainConfig
from aiayn.config.trust import check_links, check_plugins, is_own
from aiayn.config.validation import validate_bleu, validate_constrained
from aiayn.data.preparation.prepared import holds_prepared
from aiayn.data.vocabulary import AnyTokenizer, load_tokenizer
from aiayn.errors import UserError
from aiayn.inference.weights import load_weights
from aiayn.models.ensemble import Ensemble
from aiayn.models.translation_model import TranslationModel
from aiayn.runs.directory import RunDirectory, named_runs, open_run
from aiayn.runs.record import Record, read_record
from aiayn.runs.weights_file import published_weights
from aiayn.system import files, machine
from aiayn.system.allocator import keep_memory
from aiayn.system.gpu import configure_gpus
from aiayn.system.quiet import quiet_libraries
from aiayn.training.scoring import AnyModel


@dataclass(frozen=True)
class OpenedRun:
    """A run and one of its checkpoints; tokenizer and model are loaded on request."""

    directory: RunDirectory
    record: Record
    config: TrainConfig
    """The run's own, with the requested changes of `decoding`."""
    step: int
    """Of the checkpoint; of an average, the last one."""
    checkpoint: Path

    @property
    def checkpoint_name(self) -> str:
        """Part of the names of derived files: step-<n>, or average-..."""
        if self.directory.is_published:
            return published_weights(self.checkpoint).checkpoint
        return self.checkpoint.stem if self.checkpoint.stem.startswith("average-") else f"step-{self.step}"

    def tokenizer(self) -> AnyTokenizer:
        """The run's tokenizer; UserError if it is missing, or its vocabulary is not that of the weights."""
        path = self.directory.tokenizer
        if not files.is_file(path):
            raise UserError(f"{path}: no such file; restore it")
        tokenizer = load_tokenizer(path)
        entries, rows = tokenizer.vocabulary_size, self.record.vocabulary_rows
        if self.config.model.vocabulary_rows is None and rows not in (None, entries):
            raise UserError(f"{path}: has {entries} entries, but the run was trained with {rows}; restore the original")
        return tokenizer

    def model(self, *, vocabulary_size: int, device: torch.device) -> TranslationModel[Any]:
        """The model with the checkpoint's weights, in evaluation mode; UserError if they do not fit."""
        model = build_model(self.config, vocabulary_size=vocabulary_size)
        load_weights(model, self.checkpoint, key="checkpoint", provenance=self.record.provenance)
        return model.eval().to(device)

    def max_length(self, requested: int | None) -> int:
        """The most tokens of a sentence, end mark included: `model.max_positions`, or fewer if requested.

        Learned positions end there; for sinusoids the limit bounds memory.
        """
        limit = self.config.model.max_positions
        if requested is not None and not 2 <= requested <= limit:
            raise UserError(f"max_length={requested}: must be from 2 to the run's model.max_positions={limit}")
        return limit if requested is None else requested


@dataclass(frozen=True)
class OpenedRuns:
    """One run, or the members of an ensemble; the first one's search settings and corpus apply."""

    members: Sequence[OpenedRun]

    @property
    def first(self) -> OpenedRun:
        """The run that was named first."""
        return self.members[0]

    @property
    def config(self) -> TrainConfig:
        """The first run's."""
        return self.first.config

    @property
    def ensemble_name(self) -> str | None:
        """A name of this set of checkpoints, independent of their order; None for a single run."""
        if len(self.members) == 1:
            return None
        parts = sorted(f"{run.record.run_id} {run.checkpoint_name}" for run in self.members)
        return f"ensemble{len(parts)}-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:8]}"

    def tokenizer(self) -> AnyTokenizer:
        """The tokenizer of all members; UserError if one is missing or differs."""
        own, *others = (run.tokenizer() for run in self.members)
        for run, other in zip(self.members[1:], others, strict=True):
            if other.checksum != own.checksum:
                raise UserError(
                    f"run={run.directory.path}: has another vocabulary than {self.first.directory.path}; "
                    "name runs whose tokenizer.json is the same"
                )
        return own

    def model(self, *, vocabulary_size: int, device: torch.device) -> AnyModel:
        """The model of a single run, or the ensemble, in evaluation mode."""
        models = [run.model(vocabulary_size=vocabulary_size, device=device) for run in self.members]
        for run, model in zip(self.members, models, strict=True):
            if model.target_start != models[0].target_start:
                raise UserError(
                    f"run={run.directory.path}: its decoder starts with {model.target_start}, that of "
                    f"{self.first.directory.path} with {models[0].target_start}; name runs with one model.decoder_start"
                )
        return models[0] if len(models) == 1 else Ensemble(models).eval()

    def max_length(self, requested: int | None) -> int:
        """The most tokens that every member reads."""
        return min(run.max_length(requested) for run in self.members)


def open_for_use(
    run: str,
    *,
    checkpoint: str,
    launch: ProcessConfig,
    trust: bool = False,
    decoding: OverridesConfig | None = None,
) -> OpenedRun:
    """Open a run directory with a checkpoint (last, best, average or a step) and changes of its search settings.

    `trust`: the user trusts the run's plugged-in classes, as those of runs below the folder runs are trusted anyway.
    From then on, this process uses TensorFloat-32 if the run was trained with it.

    Raises:
        UserError: the run, the checkpoint or a setting cannot be used.
    """
    quiet_libraries()
    if launch.keep_allocator_memory:
        keep_memory()
    directory = open_run(run)
    config, record = load_config(directory.config), read_record(directory.record)
    if decoding is not None:
        config.decoding = merge_decoding(config.decoding, decoding)
    trust = trust or is_own(directory.path)
    check_plugins(config, directory.config, trust=trust)
    if not trust:
        check_links(directory.path)
        config.paths.cache = _cache_to_use(config.paths.cache, record.data_fingerprint)
    validate_constrained(config)
    validate_bleu(config)
    step, path = directory.checkpoint(checkpoint)
    configure_gpus(tf32=bool(record.tf32))
    return OpenedRun(directory, record, config, step, path)


def _cache_to_use(stated: str, fingerprint: str | None) -> str:
    """The cache that a configuration of others states if the run's data is there; else one's own, to prepare it in."""
    is_there = fingerprint is not None and holds_prepared(Path(stated), fingerprint)
    return stated if is_there else os.environ.get("AIAYN_CACHE", "cache")


def open_all(
    runs: object,
    *,
    checkpoint: str,
    launch: ProcessConfig,
    trust: bool = False,
    decoding: OverridesConfig | None = None,
) -> OpenedRuns:
    """Open a run directory, or a list of them, as `open_for_use` does; the first one decides on TensorFloat-32."""
    opened = OpenedRuns(
        [
            open_for_use(name, checkpoint=checkpoint, launch=launch, trust=trust, decoding=decoding)
            for name in named_runs(runs)
        ]
    )
    configure_gpus(tf32=bool(opened.first.record.tf32))
    return opened


def merge_decoding(decoding: DecodingConfig, overrides: OverridesConfig) -> DecodingConfig:
    """A run's search settings with overrides; null keeps the run's value."""
    stated = {key: value for key, value in dataclasses.asdict(overrides).items() if value is not None}
    return dataclasses.replace(decoding, **stated)


def usable_device(name: str) -> torch.device:
    """The device named auto (CUDA if available), cpu, cuda or cuda:<n>; UserError if there is none."""
    available = torch.cuda.device_count()
    if name == "auto":
        return torch.device("cuda" if available else "cpu")
    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if match is None:
        raise UserError(f"device={name}: choose from auto, cpu, cuda, cuda:<n>")
    if name != "cpu" and int(match[1] or 0) >= available:
        known = ", ".join(machine.device_names(available))
        raise UserError(f"device={name}: torch finds no such device here; choose from {known}")
    return torch.device(name)
