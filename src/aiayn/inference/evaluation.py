"""Score a checkpoint of an existing run, or an ensemble of several."""

import torch

from aiayn.builders.corpus import bleu_tokenizer_of, check_lengths_fit_positions
from aiayn.builders.models import device_of
from aiayn.builders.preparation import prepare_data
from aiayn.config.command_schema import EvaluateConfig
from aiayn.data.preparation.prepared import PreparedData
from aiayn.errors import UserError
from aiayn.inference.averaging import steps_averaged
from aiayn.inference.n_best import check_n_best
from aiayn.inference.opened_runs import OpenedRuns, open_all
from aiayn.inference.scoring import Scorer, parse_splits
from aiayn.runs.record import SplitScores, json_text
from aiayn.system import files, processes
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.training.process_group import joined


def evaluate_run(request: EvaluateConfig) -> dict[str, SplitScores]:
    """Decode and score; files go under the (first) run's `evaluations`, its record is unchanged.

    Ranks started by torchrun or Slurm share the decoding; only the first one returns scores.

    Raises:
        UserError: a run, the checkpoint or a setting cannot be used.
        RunFailedError: another rank was lost.
    """
    splits = parse_splits(request.splits)
    runs = open_all(
        request.run,
        checkpoint=request.checkpoint,
        launch=request.launch,
        trust=request.trust,
        decoding=request.decoding,
    )
    config, first = runs.config, runs.first
    check_n_best(request.n_best, beam_size=config.decoding.beam_size)
    tokenizer = bleu_tokenizer_of(config)
    data = training_data(runs)
    device = device_of(config, local_rank=processes.local_rank())
    if device.type == "cuda":
        torch.cuda.set_device(device)
    model = runs.model(vocabulary_size=data.tokenizer.vocabulary_size, device=device)
    averaged_steps = steps_averaged(first.checkpoint)
    rank, size, timeout = processes.rank(), processes.group_size(), request.launch.timeout_seconds
    with (
        disk_errors_explained(f"run={first.directory.path}"),
        joined(rank=rank, size=size, device=device, timeout_seconds=timeout) as group,
    ):
        scores = Scorer(
            model,
            data,
            config.decoding,
            first.directory,
            device,
            tokenizer,
            first.step,
            averaged_steps,
            limit=config.decoding.limit_sentences,
            group=group,
            ensemble=runs.ensemble_name,
            n_best=request.n_best,
        ).score(splits)
        if scores and runs.ensemble_name is not None:
            _write_members(runs, scores)
    return scores


def training_data(runs: OpenedRuns) -> PreparedData:
    """The prepared corpus of the first run.

    Raises:
        UserError: it has changed since training, a member has another tokenizer, or its sentences are too long.
    """
    first = runs.first
    if first.record.imported is not None and first.record.data_fingerprint is None:
        raise UserError(
            f"run={first.directory.path}: was imported without a test set; import it again with test.source=... and "
            "test.target=..., or take aiayn translate"
        )
    data = prepare_data(first.config, trained_on=first.record.data_fingerprint)
    if first.record.data_fingerprint != data.fingerprint:
        raise UserError(
            f"run={first.directory.path}: trained on data {first.record.data_fingerprint}, "
            f"but the corpus now gives {data.fingerprint}; restore it, or name its cache in paths.cache"
        )
    if len(runs.members) > 1:
        runs.tokenizer()
    for run in runs.members:
        check_lengths_fit_positions(run.config, data)
    return data


def _write_members(runs: OpenedRuns, scores: dict[str, SplitScores]) -> None:
    """List the members of an ensemble beside its scores."""
    members = [
        {"run": str(run.directory.path.resolve()), "run_id": run.record.run_id, "checkpoint": run.checkpoint_name}
        for run in runs.members
    ]
    folder = (runs.first.directory.path / next(iter(scores.values())).hypotheses).parent
    files.write_text(folder / "members.json", json_text({"members": members}))
