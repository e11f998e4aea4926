"""Finished runs of the lab, kept as plain files until their study is published: without checkpoints, to be committed.

The scores of sentences, nine tenths of a run, are compressed. `restore` makes run directories that reports read.
"""

import lzma
from collections.abc import Iterable
from pathlib import Path

from aiayn.errors import UserError
from aiayn.extensions.lab.publication import run_contents
from aiayn.extensions.lab.registrations import FOLDER, registered_names, registration_files
from aiayn.reports.reported_runs import finished_run
from aiayn.runs.search import run_directories
from aiayn.system import files

MOST_BYTES = 10 * 2**20
"""Of all that is kept."""

SENTENCES, PACKED = ".sentences.jsonl", ".xz"
"""The end of the names of files with the scores of sentences, and what follows where they are compressed."""


def keep(names: Iterable[str], runs: Path, kept: Path, most_bytes: int = MOST_BYTES) -> None:
    """Keep all frozen plans, and of the named runs below `runs` those that have finished.

    Raises:
        UserError: a run cannot be read or published, or all kept files would have more than `most_bytes`.
    """
    for study in registered_names(runs):
        for path in registration_files(runs, study):
            files.write_text(kept / FOLDER / path.name, files.read_text(path))
    for name in names:
        if files.exists(kept / name) or (run := finished_run(runs / name)) is None:
            continue
        with files.new_folder(kept / name) as folder:
            for inside, text in run_contents(run, "dev"):
                if inside.endswith(SENTENCES):
                    files.write_bytes(folder / f"{inside}{PACKED}", lzma.compress(text.encode(), preset=9))
                else:
                    files.write_text(folder / inside, text)
            if (size := sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())) > most_bytes:
                raise UserError(f"{kept}: would have {size / 2**20:.1f} MiB, too much to be committed; publish a study")


def restore(kept: Path, runs: Path) -> None:
    """Make the run directories and frozen plans of what is kept, where they are missing below `runs`."""
    for path in files.listed(kept / FOLDER):
        if not files.exists(runs / FOLDER / path.name):
            files.write_text(runs / FOLDER / path.name, files.read_text(path))
    for directory in run_directories(kept) if files.is_dir(kept) else ():
        name = directory.path.relative_to(kept)
        if files.exists(runs / name):
            continue
        with files.new_folder(runs / name) as folder:
            for path in filter(files.is_file, directory.path.rglob("*")):
                content, target = path.read_bytes(), folder / path.relative_to(directory.path)
                if path.suffix == PACKED:
                    content, target = lzma.decompress(content), target.with_suffix("")
                files.write_bytes(target, content)
