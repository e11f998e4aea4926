"""The starting point of training: the newest whole checkpoint of the run, or another run's weights (`init_from`).

On CPUs, a resumed run ends as an uninterrupted one (`tests/integration/test_resume.py`), by five properties:

1. To Lightning the run is one epoch: `TrainingLoader` has the length max_steps x accumulation, also in a resumed run.
2. The stream is a pure function: `TrainingStream` started at step k yields the same as one started at 0 from k on.
3. Dropout is seeded before every micro-batch from (seed, step, micro-batch, rank). No random state is stored.
4. Counters are in the checkpoint, summed over ranks, so any number of ranks can resume. `StepCounter` finishes them
   before checkpoint callbacks see the step's end.
5. A validation that a kill prevented is repeated before training continues (`MissedValidation`). One that was done but
   is newer than the checkpoint is counted by `Patience` from the metrics.

Lines of metrics.jsonl past the checkpoint's step are dropped; W&B continues under the same id.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from aiayn.builders.models import create_model
from aiayn.config.schema import TrainConfig
from aiayn.data.vocabulary import AnyTokenizer, load_tokenizer
from aiayn.errors import UserError
from aiayn.inference.weights import fit_weights, read_weights
from aiayn.registry import run_elsewhere
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.record import Record, read_record
from aiayn.system import files
from aiayn.training.checkpoint_content import has_training_state
from aiayn.training.checkpoint_io import ForeignCheckpointError, UnusableCheckpointError, load_checkpoint

logger = logging.getLogger("aiayn")

KEY = "init_from"


def newest_whole_checkpoint(directory: RunDirectory, record: Record) -> tuple[int, Path] | None:
    """The optimizer step and file of the checkpoint to resume from, if there is one.

    A checkpoint whose content is damaged, checksums included, is renamed to `<name>.damaged` with a warning. One of
    weights alone, without a state of training, is passed over: training does not resume from it.

    Raises:
        UserError: a file may not be read; no file is renamed.
        UnusableCheckpointError: no checkpoint is whole, or the newest one is another run's; no file is renamed.
    """
    found = [(step, kind, path) for kind in ("best", "step") for step, path in directory.steps(kind).items()]
    damaged: list[tuple[Path, UserError]] = []
    passed_over: list[Path] = []
    for step, _, path in sorted(found, reverse=True):  # of one step, "step" before "best"
        files.require_readable(path)
        try:  # reads all and keeps no tensor
            content = load_checkpoint(path, provenance=record.provenance, map_location="meta")
        except ForeignCheckpointError:
            raise
        except UserError as error:
            damaged.append((path, error))
            continue
        if not has_training_state(content):
            passed_over.append(path)
        else:
            for bad, reason in damaged:
                renamed = bad.replace(bad.with_name(f"{bad.name}.damaged"))
                logger.warning("%s; renamed to %s; resuming from %s", reason, renamed.name, path.name)
            if passed_over:
                weights = ", ".join(each.name for each in passed_over)
                logger.info("resuming from %s: weights alone, without the state of training, in %s", path.name, weights)
            return step, path
    if damaged:
        raise UnusableCheckpointError(
            f"{damaged[0][1]}, and all {len(damaged)} checkpoints there are damaged: restore one, or start anew with "
            "force=true"
        )
    if passed_over:
        logger.warning("%s: starting anew, since no checkpoint holds the state of training", directory.checkpoints)
    return None


def misses_validation(directory: RunDirectory, step: int, *, interval: int) -> bool:
    """Whether the validation due after this step is not in the metrics: the run was killed in it."""
    return step > 0 and step % interval == 0 and step not in directory.validation_perplexities()


def start_weights(config: TrainConfig) -> Path | None:
    """The checkpoint that `init_from` names, checked against the run's model; None without that key."""
    if config.init_from is None:
        return None
    path, provenance = Path(config.init_from), None
    if run_elsewhere(config.init_from) or files.is_dir(path, key=KEY):
        directory = open_run(config.init_from, key=KEY)
        if not (directory.steps() or directory.is_published):
            raise UserError(f"{KEY}={config.init_from}: {directory.checkpoints} has no checkpoint; name another run")
        path = directory.checkpoint("last")[1]
        provenance = read_record(directory.record).provenance
    elif not files.is_file(path):
        raise UserError(f"{KEY}={config.init_from}: no such run directory or checkpoint; correct the path")
    try:
        weights = read_weights(path, provenance=provenance)
    except UserError as error:
        raise UserError(f"{KEY}={error}; name another run directory or checkpoint") from None
    _check_architecture(config, path, weights)
    return path


def _check_architecture(config: TrainConfig, path: Path, weights: Mapping[str, Tensor]) -> None:
    """Compare names and shapes; before the corpus is prepared, the vocabulary size is taken from the checkpoint."""
    with torch.device("meta"):
        rows = config.model.vocabulary_rows or _rows(config, weights)
        model = create_model(config.model, rows=rows)
    fit_weights(model, weights, path, key=KEY)


def _rows(config: TrainConfig, weights: Mapping[str, Tensor]) -> int:
    """Rows of the checkpoint's output layer, or 1 if it has none of that name."""
    model = create_model(config.model, rows=1)
    names = [name for name, weight in model.named_parameters() if weight is model.output_weight]
    return len(weights[names[0]]) if names and names[0] in weights and weights[names[0]].dim() else 1


def check_vocabulary(path: Path, tokenizer: AnyTokenizer) -> None:
    """Compare the tokenizer with that of the checkpoint's run, if the checkpoint lies in a run directory."""
    folder = path.parent if RunDirectory(path.parent).is_published else path.parent.parent
    theirs = RunDirectory(folder).tokenizer
    if files.is_file(theirs) and load_tokenizer(theirs).checksum != tokenizer.checksum:
        raise UserError(
            f"{KEY}={path}: its run has another vocabulary ({theirs}), and each row of its embeddings stands for "
            "another token: take the same data and tokenizer"
        )
