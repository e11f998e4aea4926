"""`aiayn translate` is a filter: one line out for each line in, whatever the lines and however they come."""

import io
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.commands.front_end import main
from aiayn.config.command_schema import TranslateConfig
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import BeamSearchConfig, EndsAmong
from aiayn.data.preparation.prepared import PreparedData, find_prepared
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.inference.opened_runs import open_for_use, usable_device
from aiayn.inference.translation import Translator
from aiayn.runs.record import read_record

TEXT = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=30)
WORDS = st.lists(
    st.sampled_from(["the", "dog", "sees", "a", "cat", "7", "“ships”", "für", "ﬁsh", "水", "⟨eos⟩"]), max_size=12
)
LINES = st.lists(
    TEXT | WORDS.map(" ".join) | st.sampled_from(["", "  ", "\t", "\r", "a\x0bb\x0cc\u2028d", "\N{NO-BREAK SPACE}"])
)


class Said(NamedTuple):
    code: int
    out: bytes
    err: str


Filter = Callable[..., Said]


@pytest.fixture
def translate(
    trained_run: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> Filter:
    """`aiayn translate` in this process, on weights that tell sentences apart."""
    monkeypatch.chdir(tmp_path)

    def call(given: bytes, *words: str, run: Path = trained_run) -> Said:
        capsysbinary.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main(["translate", f"run={run}", "checkpoint=1", *words])
        out, err = capsysbinary.readouterr()
        return Said(code, out, err.decode())

    return call


@pytest.fixture(scope="session")
def translator(trained_run: Path) -> Translator:
    request = to_dataclass(compose_command("translate", [f"run={trained_run}", "checkpoint=1"]), TranslateConfig)
    run = open_for_use(request.run, checkpoint="1", launch=request.launch)
    tokenizer, device = run.tokenizer(), usable_device("cpu")
    search = BeamSearchConfig(
        beam_size=3,
        length_penalty_alpha=0.6,
        max_extra_length=4,
        batch_tokens=60,
        ends_among=EndsAmong.candidates,
        constrained=False,
    )
    model = run.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    return Translator(model, tokenizer, search, device, max_length=40, n_best=2)


@pytest.fixture(scope="session")
def data(trained_run: Path, shared_cache: Path) -> PreparedData:
    """The prepared corpus of the run."""
    fingerprint = read_record(trained_run / "run.json").data_fingerprint
    assert fingerprint
    found = find_prepared(shared_cache, fingerprint)
    assert found
    return found


def test_it_gives_the_hypotheses_of_evaluate(translate: Filter, trained_run: Path, data: PreparedData) -> None:
    sources = "".join(f"{line}\n" for line in data.split("test").source_lines())
    assert main(["evaluate", f"run={trained_run}", "checkpoint=1", "splits=test"]) == 0
    (hypotheses,) = trained_run.glob("evaluations/step-0000001-*/test.hypotheses.txt")
    assert len(set(hypotheses.read_text().splitlines())) > 6, "with one answer to everything, order would not show"
    for window in (5, 1024):
        assert translate(sources.encode(), f"window={window}") == Said(0, hypotheses.read_bytes(), "")


@settings(max_examples=30)
@given(LINES)
def test_a_line_has_the_same_hypotheses_whatever_its_neighbours(translator: Translator, lines: list[str]) -> None:
    together = translator.translate(lines)
    for line, hypotheses in zip(lines, together, strict=True):
        (alone,) = translator.translate([line])
        assert [each.tokens for each in hypotheses] == [each.tokens for each in alone]
        assert [each.score for each in hypotheses] == pytest.approx([each.score for each in alone], rel=1e-4)
        assert (hypotheses == []) is not bool(line.strip())
        text = translator.text(hypotheses)
        assert "\n" not in text
        assert "\r" not in text


@pytest.mark.parametrize(
    ("end", "is_ended", "window"), [(b"\n", True, 1024), (b"\n", False, 3), (b"\r\n", True, 1), (b"\r\n", False, 3)]
)
def test_each_line_in_is_a_line_out(translate: Filter, end: bytes, is_ended: bool, window: int) -> None:
    lines = ["the dog", "", "a\x0bb\x0cc\u2028d\x85e", "\u3000 \t", "lone\rreturn", "水", "ﬁn"]
    said = translate(end.join(line.encode() for line in lines) + end * is_ended, f"window={window}")
    assert (said.code, said.err) == (0, "")
    *texts, rest = said.out.decode().split("\n")
    assert rest == ""
    assert len(texts) == len(lines)
    assert [texts[number] for number, line in enumerate(lines) if not line.strip()] == ["", ""]
    assert sum(map(bool, texts)) >= 3, "the model says something of most lines"


def test_of_nothing_comes_nothing(translate: Filter) -> None:
    assert translate(b"") == Said(0, b"", "")
    assert translate(b"\n") == Said(0, b"\n", "")


def test_n_best_hypotheses_are_json_lines(translate: Filter) -> None:
    search = ("decoding.beam_size=4", "decoding.max_extra_length=40")  # room enough for several to end
    said = translate("the dog\n\nein “Schiff”\n".encode(), "n_best=2", *search)
    rows = [json.loads(line) for line in said.out.decode().splitlines()]
    assert [(row["line"], row["source"]) for row in rows] == [(1, "the dog"), (2, ""), (3, "ein “Schiff”")]
    counts = [len(row["hypotheses"]) for row in rows]
    assert counts[1] == 0
    assert max(counts) == 2
    assert min(counts[::2]) >= 1, "fewer than asked for where fewer ended"
    assert "“Schiff”" in said.out.decode(), "readable, not escaped"
    best = translate("the dog\n\nein “Schiff”\n".encode(), *search).out.decode().split("\n")[:-1]
    assert [row["hypotheses"][0]["text"] if row["hypotheses"] else "" for row in rows] == best
    for row in rows:
        scores = [each["score"] for each in row["hypotheses"]]
        assert scores == sorted(scores, reverse=True)
        for each in row["hypotheses"]:
            assert each["score"] == pytest.approx(each["log_probability"] / ((5 + each["tokens"]) / 6) ** 0.6)


def test_a_long_line_is_translated_in_part_and_named(translate: Filter) -> None:
    said = translate(b"a\n\n" + b"dog " * 40 + b"\nb\n", "max_length=20", "window=2")
    assert (said.code, said.out.count(b"\n")) == (0, 4)
    (warning,) = said.err.splitlines()
    assert warning.startswith("line 3: ")
    assert "at most 20 " in warning


def test_lines_before_bad_bytes_are_translated(translate: Filter) -> None:
    whole = translate(b"the dog\na cat\n")
    for window in (2, 1024):
        said = translate(b"the dog\na cat\ncaf\xe9\nmore\n", f"window={window}")
        assert (said.code, said.out) == (2, whole.out)
        assert said.err.startswith("aiayn: standard input, line 3: not UTF-8 ")
        assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["window=0"], "window=0: must be at least 1"),
        (["n_best=0"], "n_best=0: must be at least 1"),
        (["n_best=3"], "n_best=3: must be at most decoding.beam_size=2"),
        (["max_length=1"], "max_length=1: must be from 2 to the run's model.max_positions=1024"),
        (["max_length=1025"], "max_length=1025: must be from 2 to"),
        (["device=tpu"], "device=tpu: choose from auto, cpu, cuda, cuda:<n>"),
        (["decoding.beam_size=0"], "decoding.beam_size=0: must be at least 1"),
        (["checkpoint=7"], "checkpoint=7: "),
        (["run=nowhere"], "run=nowhere: not a run directory"),
        (["decoding.limit_sentences=3"], "decoding.limit_sentences: no such key"),
    ],
)
def test_mistakes_are_one_line(translate: Filter, words: list[str], complaint: str) -> None:
    said = translate(b"a\n", *words)
    assert (said.code, said.out) == (2, b"")
    assert said.err.startswith(f"aiayn: {complaint}")
    assert said.err.count("\n") == 1


@pytest.fixture
def moved_run(trained_run: Path, shared_cache: Path, tmp_path: Path) -> Path:
    """The run in another place, where its cache is not."""
    copy = tmp_path / "moved"
    shutil.copytree(trained_run, copy)
    config = copy / "config.yaml"
    config.write_text(config.read_text().replace(str(shared_cache), str(tmp_path / "no-cache")))
    return copy


def test_a_run_is_used_without_its_corpus(translate: Filter, moved_run: Path) -> None:
    assert translate(b"the dog\n", run=moved_run) == translate(b"the dog\n")
    (moved_run / "tokenizer.json").unlink()
    said = translate(b"the dog\n", run=moved_run)
    assert (said.code, said.out) == (2, b"")
    assert "tokenizer.json: no such file" in said.err


def test_another_vocabulary_than_the_weights_is_refused(translate: Filter, moved_run: Path) -> None:
    SubwordTokenizer.train(["a few words"], vocabulary_size=265).save(moved_run / "tokenizer.json")
    said = translate(b"the dog\n", run=moved_run)
    assert (said.code, said.out) == (2, b"")
    assert "tokenizer.json: has " in said.err
    assert "trained with 400" in said.err


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(trained_run: Path, tmp_path: Path) -> Iterator[Start]:
    """`python -m aiayn translate` as a shell would start it; killed at the end if it still runs."""
    started: list[subprocess.Popen[bytes]] = []

    def call(*words: str, stdin: int | IO[bytes] = subprocess.PIPE, stdout: int | IO[bytes] = -1) -> Any:
        process = subprocess.Popen(
            [sys.executable, "-m", "aiayn", "translate", f"run={trained_run}", "checkpoint=1", *words],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", "LC_ALL": "C", "PYTHONUTF8": "0"},
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_pipe_gives_what_the_command_gives(start: Start, translate: Filter) -> None:
    text = "the dog “sees”\n\na cat\r\nlast".encode() * 50
    out, err = start().communicate(text, timeout=120)
    assert (out, err) == (translate(text).out, b"")


@pytest.mark.slow
def test_each_window_is_answered_before_more_is_asked_and_a_reader_that_leaves_ends_it_quietly(
    start: Start, translate: Filter
) -> None:
    process = start("window=2")
    assert process.stdin
    assert process.stdout
    for text in (b"the dog\na cat\n", b"\na ship\n"):
        process.stdin.write(text)
        process.stdin.flush()
        answer = process.stdout.readline() + process.stdout.readline()
        assert answer == translate(text).out
    process.stdout.close()
    with suppress(BrokenPipeError):
        process.stdin.write(b"the dog\n" * 99)
        process.stdin.flush()
    assert process.stderr
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_a_traceback(start: Start, number: signal.Signals) -> None:
    process = start("window=1")
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"the dog\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(number)
    assert process.stderr
    assert process.stderr.read() == b"aiayn: interrupted\n"
    assert process.wait(timeout=60) == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line(start: Start) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start(stdout=full)
        _, err = process.communicate(b"the dog\n", timeout=120)
    assert err.startswith(b"aiayn: standard output cannot be written ")
    assert err.count(b"\n") == 1
    assert process.returncode == 1


@pytest.mark.slow
def test_on_a_terminal_every_line_is_answered_at_once(start: Start, translate: Filter) -> None:
    terminal, typed_at = pty.openpty()
    process = start(stdin=typed_at)
    os.close(typed_at)
    try:
        assert process.stdout
        for text in (b"the dog\n", b"\n", b"a cat\n"):
            os.write(terminal, text)
            assert process.stdout.readline() == translate(text).out
        os.write(terminal, b"\x04")  # Ctrl-D
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 0
    finally:
        os.close(terminal)
