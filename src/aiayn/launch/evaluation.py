"""Score a checkpoint of a run that exists."""

import dataclasses

from aiayn import build
from aiayn.config.errors import UserError
from aiayn.config.freeze import thaw
from aiayn.config.schema import DecodingConfig, EvaluateConfig
from aiayn.config.validation import validate_decoding
from aiayn.launch.allocator import keep_memory
from aiayn.launch.preparation import prepare_data
from aiayn.launch.quiet import quiet_libraries
from aiayn.launch.scoring import score_splits, scored_splits
from aiayn.launch.worker import load_weights
from aiayn.runs.directory import open_run
from aiayn.runs.record import SplitScores, read_record


def evaluate_run(request: EvaluateConfig) -> dict[str, SplitScores]:
    """Decode and score as asked; files go below the run's `evaluations`, its record is left alone.

    Raises:
        UserError: the run, the checkpoint or a setting cannot be used.
    """
    quiet_libraries()
    if request.launch.keep_allocator_memory:
        keep_memory()
    directory = open_run(request.run)
    config = thaw(directory.config)
    record = read_record(directory.record)
    splits = scored_splits(request.splits)
    config.decoding = _merged(config.decoding, request)
    validate_decoding(config.decoding)
    step, checkpoint = directory.checkpoint(request.checkpoint)
    data = prepare_data(config)
    if record.data_fingerprint != data.fingerprint:
        raise UserError(
            f"run={request.run}: trained on data {record.data_fingerprint}, but the corpus now gives {data.fingerprint}"
        )
    build.refuse_beyond_positions(config, data)
    model = build.build_model(config, vocabulary_size=data.tokenizer.vocabulary_size)
    load_weights(model, checkpoint, key="checkpoint")
    return score_splits(
        model,
        data,
        build.build_search(config.decoding),
        directory,
        splits=splits,
        checkpoint_step=step,
        device=build.scoring_device(config),
        limit=config.decoding.limit_sentences,
    )


def _merged(decoding: DecodingConfig, request: EvaluateConfig) -> DecodingConfig:
    """The run's own search with what was asked for differently."""
    asked = {key: value for key, value in dataclasses.asdict(request.decoding).items() if value is not None}
    return dataclasses.replace(decoding, **asked)
