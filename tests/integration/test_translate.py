"""`aiayn translate` is a filter: one line out for each line in, whatever the lines and however they come."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest
from commands import AIAYN, Say
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import SEARCH

from aiayn.commands.front_end import main
from aiayn.config.command_schema import TranslateConfig
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.inference.opened_runs import open_for_use, usable_device
from aiayn.inference.translation import Translator

TEXT = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=30)
WORDS = st.lists(
    st.sampled_from(["the", "dog", "sees", "a", "cat", "7", "“ships”", "für", "ﬁsh", "水", "⟨eos⟩"]), max_size=12
)
LINES = st.lists(
    TEXT | WORDS.map(" ".join) | st.sampled_from(["", "  ", "\t", "\r", "a\x0bb\x0cc\u2028d", "\N{NO-BREAK SPACE}"]),
    max_size=8,
)

Translate = Callable[..., Any]


@pytest.fixture
def translate(trained_run: Path, say: Say) -> Translate:
    """`aiayn translate` in this process, on weights that tell sentences apart."""

    def call(given: str | bytes, *words: str, run: Path = trained_run) -> Any:
        of_run = {"run": f"run={run}", "checkpoint": "checkpoint=1"}
        stated = {word.partition("=")[0]: word for word in words}
        return say("translate", *(of_run | stated).values(), given=given)

    return call


@pytest.fixture(scope="session")
def translator(trained_run: Path) -> Translator:
    request = to_dataclass(compose_command("translate", [f"run={trained_run}", "checkpoint=1"]), TranslateConfig)
    run = open_for_use(request.run, checkpoint="1", launch=request.launch)
    tokenizer, device = run.tokenizer(), usable_device("cpu")
    search = replace(SEARCH, max_extra_length=4, batch_tokens=60)
    model = run.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    return Translator(model, tokenizer, search, device, max_length=40, n_best=2)


def test_it_gives_the_hypotheses_of_evaluate(
    translate: Translate, trained_run: Path, trained_data: PreparedData
) -> None:
    sources = "".join(f"{line}\n" for line in trained_data.split("test").source_lines())
    assert main(["evaluate", f"run={trained_run}", "checkpoint=1", "splits=test"]) == 0
    (hypotheses,) = trained_run.glob("evaluations/step-0000001-*/test.hypotheses.txt")
    assert len(set(hypotheses.read_text().splitlines())) > 6, "with one answer to everything, order would not show"
    for window in (5, 1024):
        assert translate(sources, f"window={window}") == (0, hypotheses.read_text(), "")


@settings(max_examples=8)
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
def test_each_line_in_is_a_line_out(translate: Translate, end: bytes, is_ended: bool, window: int) -> None:
    lines = ["the dog", "", "a\x0bb\x0cc\u2028d\x85e", "\u3000 \t", "lone\rreturn", "水", "ﬁn"]
    said = translate(end.join(line.encode() for line in lines) + end * is_ended, f"window={window}")
    assert (said.code, said.err) == (0, "")
    assert len(said.lines) == len(lines)
    assert [said.lines[number] for number, line in enumerate(lines) if not line.strip()] == ["", ""]
    assert sum(map(bool, said.lines)) >= 3, "the model says something of most lines"


@pytest.mark.parametrize("nothing", ["", "\n"])
def test_of_nothing_comes_nothing(translate: Translate, nothing: str) -> None:
    assert translate(nothing) == (0, nothing, "")


def test_n_best_hypotheses_are_json_lines(translate: Translate) -> None:
    search = ("decoding.beam_size=4", "decoding.max_extra_length=40")  # room enough for several to end
    text = "the dog\n\nein “Schiff”\n"
    said = translate(text, "n_best=2", *search)
    rows = [json.loads(line) for line in said.lines]
    assert [(row["line"], row["source"]) for row in rows] == [(1, "the dog"), (2, ""), (3, "ein “Schiff”")]
    counts = [len(row["hypotheses"]) for row in rows]
    assert counts[1] == 0
    assert max(counts) == 2
    assert min(counts[::2]) >= 1, "fewer than asked for where fewer ended"
    assert "“Schiff”" in said.out, "readable, not escaped"
    best = translate(text, *search).lines
    assert [row["hypotheses"][0]["text"] if row["hypotheses"] else "" for row in rows] == best
    for row in rows:
        scores = [each["score"] for each in row["hypotheses"]]
        assert scores == sorted(scores, reverse=True)
        for each in row["hypotheses"]:
            assert each["score"] == pytest.approx(each["log_probability"] / ((5 + each["tokens"]) / 6) ** 0.6)


def test_a_long_line_is_translated_in_part_and_named(translate: Translate) -> None:
    said = translate("a\n\n" + "dog " * 40 + "\nb\n", "max_length=20", "window=2")
    assert (said.code, len(said.lines)) == (0, 4)
    (warning,) = said.err.splitlines()
    assert warning.startswith("line 3: ")
    assert "at most 20 " in warning


def test_lines_before_bad_bytes_are_translated(translate: Translate) -> None:
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
        (["n_best=3"], "n_best=3: must be at most decoding.beam_size=2"),
        (["max_length=1"], "max_length=1: must be from 2 to the run's model.max_positions=1024"),
        (["device=tpu"], "device=tpu: choose from auto, cpu, cuda, cuda:<n>"),
        (["decoding.beam_size=0"], "decoding.beam_size=0: must be at least 1"),
        (["checkpoint=7"], "checkpoint=7: "),
        (["run=nowhere"], "run=nowhere: not a run directory"),
        (["decoding.limit_sentences=3"], "decoding.limit_sentences: no such key"),
    ],
)
def test_mistakes_are_one_line(translate: Translate, words: list[str], complaint: str) -> None:
    assert translate("a\n", *words).refuses_by(complaint)


@pytest.fixture
def moved_run(trained_run: Path, shared_cache: Path, tmp_path: Path) -> Path:
    """The run in another place, where its cache is not."""
    copy = tmp_path / "moved"
    shutil.copytree(trained_run, copy)
    config = copy / "config.yaml"
    config.write_text(config.read_text().replace(str(shared_cache), str(tmp_path / "no-cache")))
    return copy


def test_a_run_is_used_without_its_corpus(translate: Translate, moved_run: Path) -> None:
    assert translate(b"the dog\n", run=moved_run) == translate(b"the dog\n")
    (moved_run / "tokenizer.json").unlink()
    said = translate(b"the dog\n", run=moved_run)
    assert (said.code, said.out) == (2, "")
    assert "tokenizer.json: no such file" in said.err


def test_another_vocabulary_than_the_weights_is_refused(translate: Translate, moved_run: Path) -> None:
    SubwordTokenizer.train(["a few words"], vocabulary_size=265).save(moved_run / "tokenizer.json")
    said = translate(b"the dog\n", run=moved_run)
    assert (said.code, said.out) == (2, "")
    assert "tokenizer.json: has " in said.err
    assert "trained with 400" in said.err


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(trained_run: Path, tmp_path: Path) -> Iterator[Start]:
    """`python -m aiayn translate` as a shell would start it; killed at the end if it still runs."""
    started: list[subprocess.Popen[bytes]] = []

    def call(*words: str, stdin: int | IO[bytes] = subprocess.PIPE) -> Any:
        process = subprocess.Popen(
            [*AIAYN, "translate", f"run={trained_run}", "checkpoint=1", *words],
            cwd=tmp_path,
            env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.long
def test_each_window_is_answered_before_more_is_asked_and_a_reader_that_leaves_ends_it_quietly(
    start: Start, translate: Translate
) -> None:
    process = start("window=2")
    assert process.stdin
    assert process.stdout
    for text in ("the dog “sees”\na cat\r\n", "\na ship\n"):
        process.stdin.write(text.encode())
        process.stdin.flush()
        answer = process.stdout.readline() + process.stdout.readline()
        assert answer.decode() == translate(text).out
    process.stdout.close()
    with suppress(BrokenPipeError):
        process.stdin.write(b"the dog\n" * 99)
        process.stdin.flush()
    assert process.stderr
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1


@pytest.mark.long
def test_on_a_terminal_every_line_is_answered_at_once_and_a_signal_ends_it_without_a_traceback(
    start: Start, translate: Translate
) -> None:
    terminal, typed_at = pty.openpty()
    process = start(stdin=typed_at)
    os.close(typed_at)
    assert process.stdout
    for text in ("the dog\n", "\n", "a cat\n"):
        os.write(terminal, text.encode())
        assert process.stdout.readline().decode() == translate(text).out
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60) == (b"", b"aiayn: interrupted\n")
    assert process.returncode == 1
    os.close(terminal)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line(
    translate: Translate, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        code, _, err = translate("the dog\n")
        monkeypatch.undo()
        with suppress(OSError):
            full.close()
    assert err.startswith("aiayn: standard output cannot be written ")
    assert err.count("\n") == 1
    assert code == 1
