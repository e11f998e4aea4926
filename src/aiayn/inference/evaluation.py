"""Score a checkpoint of a run that exists, or the ensemble of several."""

from aiayn.builders.corpus import refuse_beyond_positions
from aiayn.builders.preparation import prepare_data
from aiayn.builders.training import build_search, device_of
from aiayn.config.command_schema import Engine, EvaluateConfig
from aiayn.data.preparation.prepared import PreparedData
from aiayn.errors import UserError
from aiayn.inference.averaging import steps_averaged
from aiayn.inference.engines import ctranslate2_engine, refuse_engine, torch_engine
from aiayn.inference.n_best import refuse_n_best
from aiayn.inference.opened_runs import OpenedRuns, open_all
from aiayn.inference.scoring import score_splits, scored_splits
from aiayn.runs.record import SplitScores, json_text
from aiayn.system import files, processes
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.training.process_group import joined


def evaluate_run(request: EvaluateConfig) -> dict[str, SplitScores]:
    """Decode and score as asked; files go below the (first) run's `evaluations`, its record is left alone.

    Ranks that torchrun or Slurm has started share the decoding; only the first one returns scores.

    Raises:
        UserError: a run, the checkpoint or a setting cannot be used.
        RunFailedError: another rank was lost.
    """
    splits = scored_splits(request.splits)
    refuse_engine(request)
    runs = open_all(request.run, checkpoint=request.checkpoint, launch=request.launch, decoding=request.decoding)
    config = runs.config
    refuse_n_best(request.n_best, beam_size=config.decoding.beam_size)
    data = trained_data(runs)
    device = device_of(config, local_rank=processes.local_rank())
    model = runs.model(vocabulary_size=data.tokenizer.vocabulary_size, device=device)
    averaged_steps = steps_averaged(runs.first.checkpoint)
    search, engine = build_search(config.decoding), None
    if request.engine is Engine.ctranslate2:
        engine = ctranslate2_engine(runs.first, data.tokenizer, request.quantization, device=device)
    elif runs.ensemble_name is not None:
        engine = torch_engine(model, data.tokenizer, search, device=device, name=runs.ensemble_name)
    rank, size, timeout = processes.rank(), processes.group_size(), request.launch.timeout_seconds
    with (
        disk_errors_explained(f"run={runs.first.directory.path}"),
        joined(rank=rank, size=size, device=device, timeout_seconds=timeout) as group,
    ):
        scores = score_splits(
            model,
            data,
            search,
            runs.first.directory,
            splits=splits,
            checkpoint_step=runs.first.step,
            averaged_steps=averaged_steps,
            device=device,
            limit=config.decoding.limit_sentences,
            group=group,
            engine=engine,
            n_best=request.n_best,
        )
        if scores and runs.ensemble_name is not None:
            _write_members(runs, scores)
    return scores


def trained_data(runs: OpenedRuns) -> PreparedData:
    """The corpus of the first run, as long as it is what the run was trained on and every model can read it.

    Raises:
        UserError: it has changed, or the tokenizer of another run is not its own.
    """
    first = runs.first
    data = prepare_data(first.config)
    if first.record.data_fingerprint != data.fingerprint:
        raise UserError(
            f"run={first.directory.path}: trained on data {first.record.data_fingerprint}, "
            f"but the corpus now gives {data.fingerprint}"
        )
    if len(runs.members) > 1:
        runs.tokenizer()
    for run in runs.members:
        refuse_beyond_positions(run.config, data)
    return data


def _write_members(runs: OpenedRuns, scores: dict[str, SplitScores]) -> None:
    """Say beside an ensemble's scores whose they are."""
    members = [
        {"run": str(run.directory.path.resolve()), "run_id": run.record.run_id, "checkpoint": run.checkpoint_name}
        for run in runs.members
    ]
    folder = (runs.first.directory.path / next(iter(scores.values())).hypotheses).parent
    files.write_text(folder / "members.json", json_text({"members": members}))
