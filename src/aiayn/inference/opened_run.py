"""Open a run that exists, to use its model without training it: evaluation, translation and scoring begin here."""

import dataclasses
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from aiayn.builders.training import build_model
from aiayn.config.command_schema import SearchOverridesConfig, TunedOverridesConfig
from aiayn.config.freeze import load_config
from aiayn.config.schema import DecodingConfig, ProcessConfig, TrainConfig
from aiayn.config.validation import validate_constrained, validate_decoding
from aiayn.data.preparation.prepared import find_prepared
from aiayn.data.vocabulary import AnyTokenizer, load_tokenizer
from aiayn.errors import UserError
from aiayn.models.translation_model import TranslationModel
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.record import Record, read_record
from aiayn.system.allocator import keep_memory
from aiayn.system.quiet import quiet_libraries
from aiayn.training.checkpoint_io import load_checkpoint

logger = logging.getLogger("aiayn")


@dataclass(frozen=True)
class OpenedRun:
    """A run and the checkpoint of it that is to be used; everything that takes time is loaded when asked for."""

    directory: RunDirectory
    record: Record
    config: TrainConfig
    """The run's own, `decoding` with what was asked for differently."""
    step: int
    """Optimizer step of the checkpoint, of an average the last one."""
    checkpoint: Path

    @property
    def checkpoint_name(self) -> str:
        """What files are called that are made of the checkpoint: step-<n>, or as the average is called."""
        return self.checkpoint.stem if self.checkpoint.stem.startswith("average-") else f"step-{self.step}"

    def tokenizer(self) -> AnyTokenizer:
        """The run's tokenizer: its own copy, or the prepared corpus's where the run is older than such copies.

        Raises:
            UserError: neither is there, or the vocabulary is not that of the weights.
        """
        path = self.directory.tokenizer
        if path.is_file():
            tokenizer = load_tokenizer(path)
        else:
            cache, fingerprint = Path(self.config.paths.cache), self.record.data_fingerprint
            data = find_prepared(cache, fingerprint) if fingerprint else None
            if data is None:
                raise UserError(
                    f"{path}: no such file, and paths.cache={cache} no longer holds the run's data {fingerprint}: "
                    "bring either back"
                )
            tokenizer = data.tokenizer
        entries, rows = tokenizer.vocabulary_size, self.record.vocabulary_rows
        if self.config.model.vocabulary_rows is None and rows not in (None, entries):
            raise UserError(f"{path}: has {entries} entries, but the run was trained with {rows}: bring its own back")
        return tokenizer

    def model(self, *, vocabulary_size: int, device: torch.device) -> TranslationModel[Any]:
        """The model with the checkpoint's weights, in evaluation mode.

        Raises:
            UserError: the weights cannot be read or do not fit.
        """
        model = build_model(self.config, vocabulary_size=vocabulary_size)
        load_weights(model, self.checkpoint, key="checkpoint", provenance=self.record.provenance)
        return model.eval().to(device)

    def longest(self, asked: int | None) -> int:
        """The most tokens of a sentence, end mark included: `model.max_positions`, or less where that is asked for.

        Learned positions end there. Sinusoids do not, but memory does.

        Raises:
            UserError: more is asked for, or too little for a token and its end mark.
        """
        limit = self.config.model.max_positions
        if asked is not None and not 2 <= asked <= limit:
            raise UserError(f"max_length={asked}: must be from 2 to the run's model.max_positions={limit}")
        return limit if asked is None else asked


def open_for_use(
    run: str,
    *,
    checkpoint: str,
    launch: ProcessConfig,
    decoding: SearchOverridesConfig | TunedOverridesConfig | None = None,
) -> OpenedRun:
    """Open a run as the user asked.

    Args:
        run: a run directory.
        checkpoint: last, best, average or an optimizer step.
        launch: of this process.
        decoding: what to search differently.

    Raises:
        UserError: the run, the checkpoint or a setting cannot be used.
    """
    quiet_libraries()
    if launch.keep_allocator_memory:
        keep_memory()
    directory = open_run(run)
    config, record = load_config(directory.config), read_record(directory.record)
    if decoding is not None:
        config.decoding = merged(config.decoding, decoding)
    validate_decoding(config.decoding)
    validate_constrained(config)
    step, path = directory.checkpoint(checkpoint)
    return OpenedRun(directory, record, config, step, path)


def merged(decoding: DecodingConfig, asked: SearchOverridesConfig | TunedOverridesConfig) -> DecodingConfig:
    """A run's own search with what was asked for differently; null keeps the run's."""
    stated = {key: value for key, value in dataclasses.asdict(asked).items() if value is not None}
    return dataclasses.replace(decoding, **stated)


def usable_device(name: str) -> torch.device:
    """The device that the user named.

    Args:
        name: auto (CUDA if there is any), cpu, cuda, or cuda:<n>.

    Raises:
        UserError: it is none of these, or not there.
    """
    there = torch.cuda.device_count()
    if name == "auto":
        return torch.device("cuda" if there else "cpu")
    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", name)
    if match is None:
        raise UserError(f"device={name}: choose from auto, cpu, cuda, cuda:<n>")
    if name != "cpu" and int(match[1] or 0) >= there:
        raise UserError(f"device={name}: torch finds {there} CUDA devices here; choose auto or cpu")
    return torch.device(name)


def load_weights(model: torch.nn.Module, path: Path, *, key: str, provenance: Mapping[str, str | None] | None) -> None:
    """Load a checkpoint's weights into a model.

    Args:
        model: of the same architecture.
        path: the checkpoint.
        key: the configuration key to blame.
        provenance: of the run that the checkpoint has to come from, as for `load_checkpoint`; None: from any.

    Raises:
        UserError: the file cannot be read, is another run's, or its weights have another shape.
    """
    fit_weights(model, model_weights(path, provenance=provenance), path, key=key)


def model_weights(path: Path, *, provenance: Mapping[str, str | None] | None) -> dict[str, Tensor]:
    """The weights of a checkpoint's model, by their names in it.

    Args:
        path: the checkpoint.
        provenance: of the run that it has to come from, as for `load_checkpoint`; None: from any.

    Raises:
        UserError: the file cannot be read, or is another run's.
    """
    state = load_checkpoint(path, provenance=provenance)["state_dict"]
    return {name.removeprefix("model."): value for name, value in state.items() if name.startswith("model.")}


def fit_weights(model: torch.nn.Module, weights: Mapping[str, Tensor], path: Path, *, key: str) -> None:
    """Give a model the weights of a checkpoint; one on the meta device is compared with them alone.

    Args:
        model: of the same architecture.
        weights: by their names.
        path: the checkpoint.
        key: the configuration key to blame.

    Raises:
        UserError: the weights have other names or shapes.
    """
    try:
        model.load_state_dict(weights, assign=any(weight.is_meta for weight in model.parameters()))
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise UserError(f"{key}={path}: its weights do not fit this model ({reason})") from None
