"""`aiayn replay`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from aiayn.errors import RunFailedError, UserError
from aiayn.extensions.sharing.schema import ReplayConfig, ReplayMode

if TYPE_CHECKING:
    from aiayn.config.schema import TrainConfig
    from aiayn.extensions.sharing.replays import RecordedRun


def check(config: ReplayConfig) -> None:
    """Refuse a seed that nothing would read."""
    if config.mode is ReplayMode.score and config.seed is not None:
        raise UserError(f"seed={config.seed}: is for mode=train; scoring has no seed")


def main(config: ReplayConfig) -> None:
    """Do a recorded run again and print the verdict.

    Raises:
        RunFailedError: the replay is different.
    """
    from aiayn.extensions.sharing.replays import open_record

    run = open_record(config.record)
    replay = _replayed(run, config)
    from aiayn.extensions.sharing.replay_report import Outcome, compared, document, lead
    from aiayn.reports.formats import show

    has_trained = config.mode is ReplayMode.train
    found = compared(run, replay, runs=Path(config.paths.runs), has_trained=has_trained)
    show(document(run, replay, found), None)
    if found.verdict is Outcome.different:
        raise RunFailedError(lead(run, found))


def _replayed(run: "RecordedRun", config: ReplayConfig) -> "RecordedRun":
    """The run done again, as the command says."""
    composed = None if run.has_config else _composed(run)
    from aiayn.extensions.sharing.replaying import check_data, reinstated, rescore, train_replay, with_seed

    settings = reinstated(run, composed, output=config.output, paths=config.paths, trust=config.trust)
    check_data(run, settings, trains=config.mode is ReplayMode.train)
    if config.seed is not None:
        with_seed(settings, config.seed)
    return rescore(run, settings) if config.mode is ReplayMode.score else train_replay(run, settings)


def _composed(run: "RecordedRun") -> "TrainConfig":
    """The configuration of the recorded command."""
    from aiayn.commands.composing import typed_configuration

    config: TrainConfig = typed_configuration("train", _words(run))
    return config


def _words(run: "RecordedRun") -> list[str]:
    """The overrides of the recorded command, without those that could run code or read this machine's variables."""
    place = f"{run.directory.record}: no config.yaml is beside it, and its command"
    try:
        program, verb, *words = shlex.split(run.record.command)
    except ValueError:  # quotes that do not end, or fewer than two words
        program = verb = ""
    if (program, verb) != ("aiayn", "train"):
        raise UserError(f"{place} is no `aiayn train`; add the file")
    for word in words:
        is_hydras = word.lstrip("+~").startswith("hydra") and word != "hydra.mode=RUN"
        if word.startswith("-") or is_hydras or "${" in word:
            raise UserError(f"{place} has {word}; add the file")
    return words
