"""Score a checkpoint of a run that exists."""

from aiayn.build.corpus import refuse_beyond_positions
from aiayn.build.training import build_search, device_of
from aiayn.config.command_schema import Engine, EvaluateConfig
from aiayn.config.errors import UserError
from aiayn.launch import processes
from aiayn.launch.averaging import steps_averaged
from aiayn.launch.disk import refusals_explained
from aiayn.launch.engines import ctranslate2_engine, refuse_engine
from aiayn.launch.opened_run import open_for_use
from aiayn.launch.preparation import prepare_data
from aiayn.launch.scoring import score_splits, scored_splits
from aiayn.runs.record import SplitScores
from aiayn.training.process_group import joined


def evaluate_run(request: EvaluateConfig) -> dict[str, SplitScores]:
    """Decode and score as asked; files go below the run's `evaluations`, its record is left alone.

    Ranks that torchrun or Slurm has started share the decoding; only the first one returns scores.

    Raises:
        UserError: the run, the checkpoint or a setting cannot be used.
        RunFailedError: another rank was lost.
    """
    splits = scored_splits(request.splits)
    refuse_engine(request)
    run = open_for_use(request.run, checkpoint=request.checkpoint, launch=request.launch, decoding=request.decoding)
    config = run.config
    data = prepare_data(config)
    if run.record.data_fingerprint != data.fingerprint:
        raise UserError(
            f"run={request.run}: trained on data {run.record.data_fingerprint}, "
            f"but the corpus now gives {data.fingerprint}"
        )
    refuse_beyond_positions(config, data)
    device = device_of(config, local_rank=processes.local_rank())
    model = run.model(vocabulary_size=data.tokenizer.vocabulary_size, device=device)
    averaged_steps = steps_averaged(run.checkpoint)
    engine = None
    if request.engine is Engine.ctranslate2:
        engine = ctranslate2_engine(run, data.tokenizer, request.quantization, device=device)
    rank, size, timeout = processes.rank(), processes.group_size(), request.launch.timeout_seconds
    with (
        refusals_explained(f"run={request.run}"),
        joined(rank=rank, size=size, device=device, timeout_seconds=timeout) as group,
    ):
        return score_splits(
            model,
            data,
            build_search(config.decoding),
            run.directory,
            splits=splits,
            checkpoint_step=run.step,
            averaged_steps=averaged_steps,
            device=device,
            limit=config.decoding.limit_sentences,
            group=group,
            engine=engine,
        )
