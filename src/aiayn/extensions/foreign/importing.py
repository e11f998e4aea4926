"""A run directory made from a checkpoint of another library."""

import dataclasses
import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from aiayn.builders.models import create_model
from aiayn.builders.preparation import prepare_data
from aiayn.config.compose import compose_command
from aiayn.config.data_schema import SplitFilesConfig
from aiayn.config.freeze import frozen_text, plain, to_dataclass
from aiayn.config.identity import configuration_hash
from aiayn.config.outputs import new_output
from aiayn.config.schema import GivenTokenizerConfig, IdentityConfig, PieceMarker, TrainConfig
from aiayn.config.values import check_values
from aiayn.data.corpora.corpus import SPLITS
from aiayn.errors import UserError
from aiayn.extensions.foreign.fairseq import read_fairseq
from aiayn.extensions.foreign.marian import read_marian
from aiayn.extensions.foreign.model import ForeignModel
from aiayn.extensions.foreign.schema import ImportConfig
from aiayn.inference.weights import fit_weights
from aiayn.models.translation_model import count_parameters
from aiayn.runs import provenance
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import ImportedFrom, Record, Status, new_record
from aiayn.system import files
from aiayn.system.quiet import quiet_libraries
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.training.checkpoint_io import save_checkpoint

IMPORTED = "imported"
"""The scale and the profile of fidelity of an imported model, and the first part of its experiment's name."""

NO_FILES = "none"
"""The name of the data of a model that was imported without a test set."""


def import_model(request: ImportConfig) -> Path:
    """Make the run directory.

    The model, its vocabulary and its search are those of the checkpoint. Settings of training are not read: the frozen
    configuration has the paper's instead.

    Raises:
        UserError: the checkpoint cannot be read, is of another structure, or the output exists.
    """
    quiet_libraries()
    output, checkpoint = new_output(request.output), Path(request.checkpoint).expanduser()
    stated = request.source_language, request.target_language
    model = read_marian(checkpoint) if files.is_dir(checkpoint) else read_fairseq(checkpoint, stated=stated)
    origin = ImportedFrom(model.library, str(model.weights_file.absolute()), _sha256(model.weights_file))
    with disk_errors_explained(f"output={request.output}"), files.new_folder(output) as folder:
        directory = RunDirectory(folder)
        model.tokenizer.save(directory.tokenizer)
        config = _configuration(request, model, origin)
        parameters = _check_shapes(config, model, checkpoint)
        record = _record(request, config, model, origin)
        record.parameters, record.vocabulary_rows = parameters, model.tokenizer.vocabulary_size
        record.data_fingerprint = _prepared(request, config, folder=folder, output=output)
        files.write_text(
            directory.config, frozen_text(_with_vocabulary(config, output.absolute() / directory.tokenizer.name))
        )
        directory.checkpoints.mkdir()
        content = {
            "state_dict": {f"model.{name}": weight.float().clone() for name, weight in model.weights.items()},
            "global_step": model.step,
            "aiayn": {"provenance": record.provenance},
        }
        save_checkpoint(content, directory.checkpoints / f"step-{model.step:07d}.ckpt")
        record.write(directory.record)
    return output


def _configuration(request: ImportConfig, model: ForeignModel, origin: ImportedFrom) -> TrainConfig:
    """The frozen configuration of a run with this model."""
    languages = request.source_language or model.languages[0], request.target_language or model.languages[1]
    marker = PieceMarker(model.tokenizer.marker)
    sides = [f"data.{split}.{side}=[]" for split in SPLITS for side in ("source", "target")]
    config = to_dataclass(
        compose_command("train", ["data=text_files", "tokenizer=given", "logger=none", *sides]), TrainConfig
    )
    _fill(config.model, model.model)
    _fill(config.decoding, model.decoding)
    _fill(config.tokenizer, {"marker": marker, "vocabulary_size": model.tokenizer.vocabulary_size})
    config.paths.cache = str(Path(request.paths.cache).expanduser().absolute())
    test = _files(request)
    _fill(
        config.data,
        {
            "name": NO_FILES if test is None else Path(test.source).name,
            "source_language": languages[0],
            "target_language": languages[1],
            "max_length": config.model.max_positions,
            "pretokenized": marker is PieceMarker.subword_nmt,  # before the merges, words are Moses' tokens
            **({} if test is None else dict.fromkeys(SPLITS, test)),  # a corpus has three splits
        },
    )
    experiment = f"{IMPORTED}/{model.library}"
    config.identity = IdentityConfig(
        experiment=experiment,
        scale=IMPORTED,
        fidelity=IMPORTED,
        sweep=None,
        difference="",
        sources="",
        typed={},
        hash=configuration_hash(plain(config), fidelity=IMPORTED, sources=origin.sha256),
        name=new_output(request.output).name,
        title=experiment,
    )
    check_values(config)
    return config


def _fill(part: Any, values: Mapping[str, Any]) -> None:
    """Set fields of a part of the configuration; each exists."""
    for name, value in values.items():
        assert hasattr(part, name), name
        setattr(part, name, value)


def _files(request: ImportConfig) -> SplitFilesConfig | None:
    """The files of the test set, as absolute paths; None if none is stated."""
    sides = request.test.source, request.test.target
    if sides == (None, None):
        return None
    for side, name in zip(sides, ("source", "target"), strict=True):
        if side is None or not isinstance(side, str):
            raise UserError(f"test.{name}={side}: state a file for each side, or neither")
    source, target = (str(Path(side).expanduser().absolute()) for side in sides)
    return SplitFilesConfig(source=source, target=target)


def _prepared(request: ImportConfig, config: TrainConfig, *, folder: Path, output: Path) -> str | None:
    """Bring the test set into the cache, in the ids of the tokenizer in `folder`: its fingerprint, None without a set.

    Raises:
        UserError: the files cannot be used; the message names `output`, which `folder` is renamed to.
    """
    if request.test.source is None:
        return None
    try:
        return prepare_data(_with_vocabulary(config, RunDirectory(folder).tokenizer)).fingerprint
    except UserError as error:
        raise UserError(f"test.source={request.test.source}: {error}".replace(str(folder), str(output))) from None


def _with_vocabulary(config: TrainConfig, path: Path) -> TrainConfig:
    """The configuration of a corpus in the ids of a saved tokenizer."""
    assert isinstance(config.tokenizer, GivenTokenizerConfig), "imported models have a given tokenizer"
    return dataclasses.replace(config, tokenizer=dataclasses.replace(config.tokenizer, vocabulary=str(path)))


def _check_shapes(config: TrainConfig, model: ForeignModel, checkpoint: Path) -> int:
    """The number of parameters; UserError if the weights are not those of the model that was described."""
    rows, entries = len(model.weights["embedding.weight"]), model.tokenizer.vocabulary_size
    if rows != entries:
        raise UserError(
            f"checkpoint={checkpoint}: {model.vocabulary_file} makes a vocabulary of {entries} entries, but the "
            f"embeddings have {rows} rows; replace the file by that of this model"
        )
    with torch.device("meta"):
        own = create_model(config.model, rows=rows)
    fit_weights(own, model.weights, checkpoint, key="checkpoint")
    return count_parameters(own)


def _record(request: ImportConfig, config: TrainConfig, model: ForeignModel, origin: ImportedFrom) -> Record:
    """The record of a model that was not trained here."""
    stated = {
        "checkpoint": request.checkpoint,
        "output": request.output,
        "source_language": request.source_language,
        "target_language": request.target_language,
        "test.source": request.test.source,
        "test.target": request.test.target,
    }
    words = [f"{key}={value}" for key, value in stated.items() if value is not None]
    record = new_record(config, command=shlex.join(["aiayn", "import", *words]), status=Status.imported)
    record.message = f"from {model.library}: {origin.file}"
    record.versions = provenance.versions()
    record.commit, record.dirty, record.patch, _ = provenance.code_version()
    record.steps, record.ended, record.imported = model.step, record.started, origin
    return record


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
