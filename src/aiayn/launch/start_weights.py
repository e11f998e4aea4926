"""The weights of another run that a new one starts from (`init_from`): found and judged before anything takes time."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from aiayn.builders.architecture import architecture_of
from aiayn.builders.training import made_model
from aiayn.config.schema import TrainConfig
from aiayn.data.vocabulary import AnyTokenizer, load_tokenizer
from aiayn.errors import UserError
from aiayn.inference.weights import fit_weights, read_weights
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.record import read_record

KEY = "init_from"


def start_weights(config: TrainConfig) -> Path | None:
    """The checkpoint that a new run starts from, or None.

    Raises:
        UserError: there is none where `init_from` says, or its weights are not those of the run's model.
    """
    if config.init_from is None:
        return None
    path, provenance = Path(config.init_from), None
    if path.is_dir():
        directory = open_run(config.init_from, key=KEY)
        if not directory.steps():
            raise UserError(f"{KEY}={config.init_from}: {directory.checkpoints} has no checkpoint")
        path = directory.checkpoint("last")[1]
        provenance = read_record(directory.record).provenance
    elif not path.is_file():
        raise UserError(f"{KEY}={config.init_from}: no such run directory or checkpoint")
    try:
        weights = read_weights(path, provenance=provenance)
    except UserError as error:
        raise UserError(f"{KEY}={error}; name another run directory or checkpoint") from None
    _refuse_another_architecture(config, path, weights)
    return path


def _refuse_another_architecture(config: TrainConfig, path: Path, weights: Mapping[str, Tensor]) -> None:
    """Compare names and shapes. Before the corpus is prepared, the rows of the vocabulary are taken as they are."""
    with torch.device("meta"):
        rows = config.model.vocabulary_rows or _rows(config, weights)
        model = made_model(architecture_of(config.model), rows=rows)
    fit_weights(model, weights, path, key=KEY)


def _rows(config: TrainConfig, weights: Mapping[str, Tensor]) -> int:
    """Rows of the checkpoint's output layer, or 1 where it has none of that name."""
    model = made_model(architecture_of(config.model), rows=1)
    names = [name for name, weight in model.named_parameters() if weight is model.output_weight]
    return len(weights[names[0]]) if names and names[0] in weights and weights[names[0]].dim() else 1


def refuse_another_vocabulary(path: Path, tokenizer: AnyTokenizer) -> None:
    """Refuse weights whose run had another vocabulary, where the checkpoint lies in a run directory that tells.

    Raises:
        UserError: naming the checkpoint and the run's tokenizer.
    """
    theirs = RunDirectory(path.parent.parent).tokenizer
    if theirs.is_file() and load_tokenizer(theirs).checksum != tokenizer.checksum:
        raise UserError(
            f"{KEY}={path}: its run has another vocabulary ({theirs}), and each row of its embeddings stands for "
            "another token: take the same data and tokenizer"
        )
