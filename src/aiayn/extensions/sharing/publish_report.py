"""`aiayn publish`: a run as a folder for others, with a model card; and its upload to the hub."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from aiayn.config.outputs import new_output
from aiayn.errors import UserError
from aiayn.extensions.sharing import hub
from aiayn.extensions.sharing.model_card import model_card
from aiayn.extensions.sharing.publishing import open_to_publish, publishable, scores_of, write_published
from aiayn.extensions.sharing.schema import PublishConfig
from aiayn.inference.opened_runs import OpenedRun
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.public import check_public
from aiayn.runs.record import read_record
from aiayn.runs.weights_file import published_weights
from aiayn.system import files
from aiayn.system.resource_errors import disk_errors_explained

CARD = "README.md"


def publish_run(config: PublishConfig) -> Iterator[str]:
    """Write the folder, upload it, or both.

    Yields:
        The path of the folder, and the address of the repository, each when it is done.

    Raises:
        UserError: the run, the checkpoint or a setting cannot be used, or the folder exists.
        RunFailedError: the hub fails; a folder that was written stays, and the same command uploads it.
    """
    directory = open_run(config.run)
    if directory.is_published:
        if config.output is not None or config.repository is None:
            raise UserError(f"run={config.run}: is published already; state repository=<user>/<name> and no output")
        yield hub.upload(directory.path, config.repository, private=config.private)
        return
    record = publishable(directory, name=config.run)
    run = open_to_publish(config.run, record, checkpoint=config.checkpoint, launch=config.launch, trust=config.trust)
    if config.output is None:
        assert config.repository is not None, "check() refuses this"
        with tempfile.TemporaryDirectory(prefix="aiayn-publish-") as scratch:
            folder = Path(scratch)
            _write(run, folder, runs=Path(config.paths.runs), repository=config.repository)
            yield hub.upload(folder, config.repository, private=config.private)
        return
    output = Path(config.output).expanduser()
    if config.repository is None or not _holds(output, run):
        output = new_output(config.output)
        with disk_errors_explained(f"output={config.output}"), files.new_folder(output) as folder:
            _write(run, folder, runs=Path(config.paths.runs), repository=config.repository)
    yield str(output)
    if config.repository is not None:
        yield hub.upload(output, config.repository, private=config.private)


def _holds(folder: Path, run: OpenedRun) -> bool:
    """Whether a folder has this checkpoint of this run, of an earlier call whose upload failed."""
    published = RunDirectory(folder)
    if not (published.is_published and files.is_file(published.record) and files.is_file(folder / CARD)):
        return False
    is_same_run = read_record(published.record).run_id == run.record.run_id
    return is_same_run and published_weights(published.weights).checkpoint == run.checkpoint_name


def _write(run: OpenedRun, folder: Path, *, runs: Path, repository: str | None) -> None:
    """Fill an empty folder."""
    scores, published = scores_of(run), RunDirectory(folder)
    write_published(run, scores, folder)
    files.write_text(folder / CARD, model_card(run, read_record(published.record), runs=runs, repository=repository))
    check_public(folder, (CARD, published.config.name, published.record.name))
