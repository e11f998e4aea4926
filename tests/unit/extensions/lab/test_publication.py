"""A publication recomputes the page, and contains nothing else of the runs."""

import io
import json
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.commands.front_end import main
from aiayn.errors import UserError
from aiayn.extensions.lab import publication

MakeRun = Callable[..., Path]
FLAT = {900: 8.0, 1000: 8.0}


@pytest.fixture
def runs(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rows with two seeds, in `runs` below the working directory."""
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        make_run(
            "base",
            seed=seed,
            curve=FLAT,
            command="aiayn train sweeps=table3 paths.runs=/lab",
            commit="a" * 40,
            dirty=False,
        )
        make_run("a_h1", seed=seed, nll=2.2, match=0.6, curve=FLAT)
    folder = tmp_path / "runs"
    (next(folder.glob("*/base/*")) / "run.log").write_text("a log")
    return folder


@pytest.mark.parametrize("words", [["table3"], ["comparison", "only.experiment=table3/*"]], ids=lambda words: words[0])
@pytest.mark.parametrize("place", ["runs", "{here}/runs", "../{here.name}/runs"])
def test_a_page_is_made_again_from_its_publication_alone(
    place: str, words: list[str], runs: Path, tmp_path: Path
) -> None:
    place = place.format(here=tmp_path)
    assert main(["report", *words, f"paths.runs={place}", "publish=published"]) == 0
    page = (tmp_path / "published" / "README.md").read_text(encoding="utf-8")
    shutil.rmtree(runs)
    assert main(["report", *words, "from=published", "output=again.md"]) == 0
    assert (tmp_path / "again.md").read_text(encoding="utf-8") == page
    assert "## Per seed" in page
    assert "| table3/base | 2 | 12,345 |" in page
    assert f"| {'a' * 12} |" in page
    assert "`aiayn train sweeps=table3`" in page


def test_the_same_runs_make_the_same_file_without_logs_and_paths(runs: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["report", "table3", f"publish={name}"]) == 0
    content = (tmp_path / "one" / "runs.tar.xz").read_bytes()
    assert content == (tmp_path / "two" / "runs.tar.xz").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(content))) as archive:
        names = {Path(name).name for name in archive.getnames()}
        texts = [archive.extractfile(name).read().decode() for name in archive.getnames()]  # type: ignore[union-attr]
    assert names == {"run.json", "config.yaml", "metrics.jsonl", "dev.sentences.jsonl"}
    assert not any(str(tmp_path) in text for text in texts)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["from=nowhere"], "from=nowhere: no runs.tar.xz there"),
        (["from=torn"], "from=torn: runs.tar.xz cannot be unpacked"),
        (["from=torn/runs.tar.xz"], "from=torn/runs.tar.xz: not a folder; state the one that has runs.tar.xz"),
        (["publish=out", "output=page.md"], "publish=out: writes page and data of runs"),
        (["publish=no/folder"], "there is no folder no"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], complaint: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del runs
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "runs.tar.xz").write_bytes(b"torn")
    assert main(["report", "table3", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line


def test_a_file_with_a_secret_is_not_published(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run("base", curve=FLAT, command="aiayn train +init_from=hub?token=abcdefgh12345678")
    assert main(["report", "table3", "publish=published"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "run.json: would contain a text like a secret (token=abcdef...); not published: remove it" in line
    assert not (tmp_path / "published").exists()


@pytest.mark.parametrize("entry", ["../outside.txt", "/tmp/outside.txt", "runs/../../outside.txt"])
def test_an_archive_cannot_write_outside_its_folder(
    entry: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del runs
    (tmp_path / "bad").mkdir()
    with tarfile.open(tmp_path / "bad" / "runs.tar.xz", "w:xz") as archive:
        archive.addfile(tarfile.TarInfo(entry), io.BytesIO())
    assert main(["report", "table3", "from=bad"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"cannot be unpacked ({entry!r} is no file of a publication)" in line


def repacked(folder: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Change the files of a publication's archive; None leaves one out."""
    with tarfile.open(folder / "runs.tar.xz") as archive:
        content = {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]
    with tarfile.open(folder / "runs.tar.xz", "w:xz") as archive:
        for name, old in content.items():
            if (new := change(name, old)) is not None:
                entry = tarfile.TarInfo(name)
                entry.size = len(new)
                archive.addfile(entry, io.BytesIO(new))


def test_what_others_publish_is_refused_in_one_line(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "table3", "publish=good"]) == 0
    capsys.readouterr()
    outside: Any = {"dev": {"hypotheses": "../../../x"}}
    changes: dict[str, Callable[[str, bytes], bytes | None]] = {
        "has 0 sentences": lambda name, old: b"" if name.endswith(".sentences.jsonl") else old,
        "its record states others": lambda name, old: old.replace(b'"dev"', b'"test"') if "run.json" in name else old,
        "hypotheses=": lambda name, old: changed_scores(old, outside) if "run.json" in name else old,
    }
    for said, change in changes.items():
        shutil.copytree(tmp_path / "good", tmp_path / "sent", dirs_exist_ok=True)
        repacked(tmp_path / "sent", change)
        assert main(["report", "table3", "from=sent"]) == 2, said
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("aiayn: from=sent: ")
        assert said in line


def changed_scores(record: bytes, changes: dict[str, Any]) -> bytes:
    content = json.loads(record)
    for split, fields in changes.items():
        content["scores"][split] |= fields
    return json.dumps(content).encode()


@pytest.mark.parametrize("kind", ["many zeros", "sparse", "sparse map", "link", "NUL", "below a file", "negative size"])
def test_unpacking_is_bounded_and_makes_plain_files_alone(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sent").mkdir()
    entry, content = tarfile.TarInfo("runs/x"), io.BytesIO()
    if kind == "many zeros":
        entry.size, content = publication.MOST_BYTES + 1, Zeros()
    if kind == "sparse":
        entry.type = tarfile.GNUTYPE_SPARSE
    if kind == "link":
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
    if kind == "NUL":
        entry.pax_headers = {"path": "runs/a\0b"}
    if kind == "sparse map":
        entry.pax_headers = {"GNU.sparse.map": "a,b"}
    if kind == "negative size":  # of two blocks: the header and one more
        entry.pax_headers = {"size": "-1024"}
    with (
        lzma.open(tmp_path / "sent" / "runs.tar.xz", "w", preset=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.addfile(entry, content)
        if kind == "below a file":
            archive.addfile(tarfile.TarInfo("runs/x/y"))
    assert main(["report", "table3", "from=sent"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "runs.tar.xz cannot be unpacked (" in line


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "from=sent: runs.tar.xz is not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "from=sent: runs.tar.xz is not a file"),
        (lambda path: tarfile.open(path, "w:xz").close(), "from=sent: runs.tar.xz has no folder runs"),
    ],
)
def test_an_archive_that_is_none_is_named(
    make: Callable[[Path], None], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sent").mkdir()
    make(tmp_path / "sent" / "runs.tar.xz")
    assert main(["report", "table3", "from=sent"]) == 2
    assert capsys.readouterr().err.startswith(f"aiayn: {said}")


HEADERS = st.dictionaries(
    st.sampled_from(["path", "size", "mtime", "uid", "hdrcharset", "linkpath", "GNU.sparse.map", "GNU.sparse.size"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.integers(-2000, 2000).map(str),
)


@settings(deadline=None)
@given(HEADERS, st.lists(st.tuples(st.integers(0, 2047), st.integers(0, 255)), max_size=5))
def test_an_edited_archive_is_unpacked_or_refused(headers: dict[str, str], edits: list[tuple[int, int]]) -> None:
    packed, entry = io.BytesIO(), tarfile.TarInfo("runs/x")
    entry.pax_headers, entry.size = headers, 3
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(entry, io.BytesIO(b"abc"))
    content = bytearray(packed.getvalue())
    for place, byte in edits:
        content[place] = byte
    for start in range(0, 2048, 512):  # with the right checksums, so that the rest of a header is read
        block = content[start : start + 512]
        content[start + 148 : start + 156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:]) + 256)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "runs.tar.xz").write_bytes(lzma.compress(content, preset=0))
        try:
            with publication.unpacked(Path(folder), "from=sent"):
                assert Path("runs").is_dir()
        except UserError as error:
            assert str(error).startswith("from=sent: ")  # noqa: PT017 (it need not be raised)


class Zeros(io.BytesIO):
    """As many as are read."""

    def read(self, size: int | None = -1) -> bytes:
        return bytes(size or 0)


def test_a_page_of_others_is_not_overwritten(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del runs
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("my own page")
    assert main(["report", "table3", "publish=mine"]) == 2
    assert capsys.readouterr().err.startswith("aiayn: publish=mine: has a README.md that is no publication's")
    assert (tmp_path / "mine" / "README.md").read_text() == "my own page"
    for _ in range(2):
        assert main(["report", "table3", "publish=other"]) == 0, "its own page is replaced"


def test_sentences_that_are_not_those_of_the_record_are_refused(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = runs.glob("table3/base/*seed1*/evaluations/*/dev.sentences.jsonl")
    path.write_text(path.read_text().replace('"nll": ', '"nll": 9', 1))
    assert main(["report", "table3", "publish=published"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("aiayn: publish=published: runs/table3/base/")
    assert "dev.sentences.jsonl has a perplexity of " in line
    assert [path.name for path in tmp_path.iterdir() if "published" in path.name] == [], "nothing is left"


@pytest.mark.parametrize(("noun", "key"), [("table3", "only.like"), ("comparison", "against")])
def test_the_run_that_others_are_compared_with_is_found_in_the_publication(
    noun: str, key: str, runs: Path, tmp_path: Path
) -> None:
    (chosen,) = runs.glob("table3/base/*seed1*")
    assert main(["report", noun, f"{key}={chosen}", f"paths.runs={runs}", "publish=published"]) == 0
    page = (tmp_path / "published" / "README.md").read_text(encoding="utf-8")
    words = [f"{key}=runs/{chosen.relative_to(runs)}", "from=published", "output=again.md"]
    assert main(["report", noun, *words]) == 0
    assert (tmp_path / "again.md").read_text(encoding="utf-8") == page
    assert str(tmp_path) not in page


def test_a_table_without_runs_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    assert main(["report", "table3", "publish=out"]) == 2
    assert "publish=out: the report has no run; nothing was published" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_other_reports_publish_nothing(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del runs
    for word in ("publish=out", "from=out"):
        assert main(["report", "cost", word]) == 2
        assert f"{word}: is for report comparison, " in capsys.readouterr().err
