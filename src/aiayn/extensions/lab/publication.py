"""Published results, which others can recompute: a page, and beside it the data of its runs.

`runs.tar.xz` holds reduced run directories: the record without private parts, the configuration, the curves on dev, and
the scores of each sentence of the split that the page is about. Reports read them like runs.
"""

import io
import json
import lzma
import math
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import IO

import yaml

from aiayn.config.freeze import frozen_content
from aiayn.config.outputs import output_folder
from aiayn.config.report_schema import ReportConfig
from aiayn.errors import UserError
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.evaluation.significance import perplexities, sentence_columns
from aiayn.extensions.lab.registrations import (
    FOLDER,
    leading_studies,
    read_registration,
    registered_names,
    registration_files,
)
from aiayn.reports.formats import documents_collected, markdown
from aiayn.reports.reported_runs import ReportedRun, finished_run
from aiayn.runs.evaluations import Evaluation
from aiayn.runs.public import check_public_text, public_config, public_record
from aiayn.runs.record import json_text, read_record
from aiayn.runs.search import name_below, run_directories
from aiayn.system import files
from aiayn.system.documents import parse_json, read_json
from aiayn.system.resource_errors import disk_errors_explained

ARCHIVE = "runs.tar.xz"
"""Name of the archive beside the page, in the folder of a publication."""

RUNS = "runs"
"""The folder of runs in the archive."""

MOST_BYTES = 512 * 2**20
"""The largest content of an archive: twenty times that of the largest published one."""

SHOWN = 100
"""Letters of a folder's name in that of its copy in the making."""

PIECE = 2**20
"""Bytes unpacked at once."""

AGREEMENT = 1e-3
"""Relative tolerance between the perplexity of published sentences and that of the record."""

_DAMAGE = (
    *(tarfile.TarError, lzma.LZMAError, OSError, EOFError),
    *(ValueError, LookupError, ArithmeticError, RecursionError),  # of numbers and names in a header
)
"""What unpacking an archive of others may raise."""

DIGITS = 5
"""Digits after the point of a sentence's likelihood: more than its precision in float32."""


def publish(config: ReportConfig, report: Callable[[ReportConfig], None]) -> None:
    """Pack the runs of a report, write its page from the packed ones, and print the page's path.

    Archive and page are made beside the folder, and moved into it when both are whole.

    Args:
        config: of the report, with `publish`; changed to that of the report on the packed runs.
        report: makes the report of a configuration.

    Raises:
        UserError: a file of a run is missing or damaged, or the folder has a page of others.
    """
    assert config.publish is not None
    folder, below = output_folder(config.publish, key="publish"), Path(config.paths.runs)
    page = folder / "README.md"
    if files.exists(page) and not files.is_file(folder / ARCHIVE):
        raise UserError(f"publish={folder}: has a {page.name} that is no publication's; state another folder")
    prefix = f".{folder.name[:SHOWN]}."
    with disk_errors_explained(f"publish={folder}"), files.writing(folder.parent):
        partial = tempfile.TemporaryDirectory(dir=folder.parent, prefix=prefix, suffix=".partial")
    with partial as place:
        made = Path(place).absolute()
        try:
            with documents_collected() as documents:
                report(config)
            evidence = documents[0].evidence
            assert evidence is not None, "publish= is for reports that have it"
            pack(evidence.runs, evidence.split, below=below, folder=made)
        except UserError as error:
            raise UserError(str(error).replace(str(made), str(folder))) from None
        config.publish, config.published, config.wandb = None, str(made), False
        config.only.like, config.against = (_packed_path(path, below) for path in (config.only.like, config.against))
        with published_runs(config, f"publish={folder}"), documents_collected() as documents:
            report(config)
        files.write_text(made / page.name, markdown(documents[0]))
        files.make_folder(folder)
        for name in (ARCHIVE, page.name):
            (made / name).replace(folder / name)
    print(page)  # noqa: T201


def _packed_path(run: str | None, below: Path) -> str | None:
    """The path of a run directory in the archive."""
    name = None if run is None else name_below(below, Path(run))
    return None if name is None else f"{RUNS}/{name}"


def pack(runs: Sequence[ReportedRun], split: str, *, below: Path, folder: Path) -> None:
    """Write the data of runs into a folder, which is made if it is missing.

    Args:
        runs: those that a report counts or names.
        split: whose sentences it is computed from.
        below: the folder of runs.
        folder: to write to, which exists.

    Raises:
        UserError: a file of a run is missing or damaged, or its configuration or record has a secret.
    """
    if not runs:
        raise UserError(f"publish={folder}: the report has no run; nothing was published")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, text in sorted(_contents(runs, split, below)):
            content = text.encode(errors=files.NO_UTF8)
            entry = tarfile.TarInfo(path)  # without times and owners, so that the same runs make the same file
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    files.write_bytes(folder / ARCHIVE, lzma.compress(packed.getvalue(), preset=9))


def _contents(runs: Sequence[ReportedRun], split: str, below: Path) -> Iterator[tuple[str, str]]:
    """The files of the archive: their paths and texts; frozen plans of the runs, and what told their power, too."""
    own = {str(run.path.relative_to(below)) for run in runs}
    plans = {name: read_registration(below, name).plan for name in registered_names(below)}
    studies = {name: plan for name, plan in plans.items() if own & plan.runs.keys()}
    named = {plan.terms.power_from for plan in studies.values()}
    sources = {name: plan for name, plan in plans.items() if name in named}
    for name in {**studies, **sources}:
        for path in registration_files(below, name):
            yield f"{RUNS}/{FOLDER}/{path.name}", path.read_text(encoding="utf-8")
    others = [*(plan.pilots for plan in studies.values()), *(plan.runs for plan in sources.values())]
    found = [run for name in sorted({*own}.union(*others) - own) if (run := finished_run(below / name)) is not None]
    for run in {run.path.resolve(): run for run in (*runs, *found)}.values():
        folder = f"{RUNS}/{run.path.relative_to(below)}"
        yield from ((f"{folder}/{path}", text) for path, text in run_contents(run, split))


def run_contents(run: ReportedRun, split: str) -> Iterator[tuple[str, str]]:
    """The files of a reduced run directory: their paths in it, and their texts.

    Raises:
        UserError: a file of the run is missing or damaged, or its configuration or record has a secret.
    """
    directory = run.entry.directory
    record = json_text(public_record(read_json(directory.record)))
    content = yaml.safe_dump(public_config(frozen_content(directory.config)), sort_keys=False)
    for path, text in ((directory.record, record), (directory.config, content)):
        check_public_text(str(path), text)
        yield path.name, text
    yield directory.metrics.name, _lines(_curve(run))
    if directory.sweeps:
        yield directory.sweeps_file.name, "".join(f"{name}\n" for name in directory.sweeps)
    if split in run.record.scores:
        sentences = Evaluation(directory, run.record, run.record.scores, str(run.path)).sentences_path(split)
        yield str(sentences.relative_to(directory.path)), _lines(_rounded(sentences))


def _curve(run: ReportedRun) -> Iterator[dict[str, float | int | None]]:
    for step, values in run.entry.directory.metric_rows():
        validated = {key: value for key, value in values.items() if key.startswith("val/")}
        if validated:
            yield {"step": step, **validated}


def _rounded(sentences: Path) -> Iterator[dict[str, object]]:
    for number, line in enumerate(sentences.read_text(encoding="utf-8").splitlines(), 1):
        row = parse_json(line, f"{sentences}:{number}")
        yield row if row["nll"] is None else row | {"nll": round(row["nll"], DIGITS)}


def _lines(rows: Iterable[dict[str, object]] | Iterable[dict[str, float | int | None]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@contextmanager
def published_runs(config: ReportConfig, word: str) -> Iterator[None]:
    """Unpack the publication in the folder `config.published`, and let the report read its runs.

    Meanwhile the working directory is that of the unpacked runs, and paths are relative to it. The report is about the
    study of the publication, if there is exactly one.

    Args:
        config: of the report; its folder of runs and its study are changed.
        word: the user's, for messages.

    Raises:
        UserError: there is no publication, or it is damaged.
    """
    assert config.published is not None
    with unpacked(Path(config.published), word):
        config.paths.runs = RUNS
        studies, leading = registered_names(Path(RUNS)), leading_studies(Path(RUNS))
        if config.study is None and len(leading) == 1:
            config.study = leading[0]
        if config.study is not None and config.study not in studies:
            raise UserError(f"study={config.study}: not in this publication; it has {', '.join(studies) or 'none'}")
        yield


@contextmanager
def unpacked(folder: Path, name: str) -> Iterator[None]:
    """Unpack a publication, and work beside its folder `RUNS`; messages begin with `name`, those of the work too.

    Raises:
        UserError: there is no publication, or it is damaged; or that of the work.
    """
    archive = folder / ARCHIVE
    if files.exists(folder) and not files.is_dir(folder):
        raise UserError(f"{name}: not a folder; state the one that has {ARCHIVE}")
    if not files.exists(archive):
        raise UserError(f"{name}: no {ARCHIVE} there; aiayn report ... publish=<folder> writes one")
    if not files.is_file(archive):  # a pipe would wait for its writer
        raise UserError(f"{name}: {ARCHIVE} is not a file; fetch it again")
    files.require_readable(archive)
    with tempfile.TemporaryDirectory(prefix="aiayn-published-") as scratch:
        try:
            with tempfile.TemporaryFile() as plain:
                _decompress(archive, plain)
                with tarfile.open(fileobj=plain, mode="r:") as packed:
                    _unpack(packed, Path(scratch))
        except _DAMAGE as error:
            raise UserError(f"{name}: {ARCHIVE} cannot be unpacked ({error}); fetch it again") from None
        if not files.is_dir(Path(scratch) / RUNS):
            raise UserError(f"{name}: {ARCHIVE} has no folder {RUNS}; fetch it again")
        with chdir(scratch):
            try:
                _check_sentences()
                yield
            except UserError as error:
                raise UserError(f"{name}: {error}") from None


def _decompress(archive: Path, plain: IO[bytes]) -> None:
    """Write the archive's content to a file and return to its beginning; ReadError if it is larger than any is."""
    with archive.open("rb") as packed, lzma.open(packed) as content:
        while piece := content.read(PIECE):
            plain.write(piece)
            if plain.tell() > MOST_BYTES:
                raise tarfile.ReadError(f"it unpacks to more than {MOST_BYTES // 2**20} MiB")
    plain.seek(0)


def _unpack(packed: tarfile.TarFile, folder: Path) -> None:
    """Write the regular files of an archive below a folder; ReadError if a path leads out of it."""
    unpacked_bytes = 0
    for entry in packed:
        is_plain = entry.isreg() and not entry.issparse()  # a sparse file may be larger than its archive
        # With a negative size, the next header would be this one again.
        is_ours = is_plain and entry.size >= 0 and files.is_inside(entry.name)
        content = packed.extractfile(entry) if is_ours else None
        if content is None:
            raise tarfile.ReadError(f"{entry.name!r} is no file of a publication")
        unpacked_bytes += entry.size
        if unpacked_bytes > MOST_BYTES:
            raise tarfile.ReadError(f"it unpacks to more than {MOST_BYTES // 2**20} MiB")
        target = folder / entry.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())


def _check_sentences() -> None:
    """Compare the perplexity of each run's sentences with its record's."""
    runs = run_directories(Path(RUNS))
    for directory, path in [(run, path) for run in runs for path in run.evaluations.glob("*/*.sentences.jsonl")]:
        split = path.name.partition(".")[0]
        rows, scores = read_sentence_scores(path), read_record(directory.record).scores
        if split not in scores or len(rows) != scores[split].sentences or not sum(row.tokens for row in rows):
            raise UserError(
                f"{path} has {len(rows)} sentences, and its record states others; one of the two was changed"
            )
        stated, found = scores[split].ppl, float(perplexities(sentence_columns(rows).sum(axis=0)))
        if not math.isclose(found, stated, rel_tol=AGREEMENT):
            raise UserError(
                f"{path} has a perplexity of {found:.4f}, its record {stated:.4f}; one of the two was changed"
            )
