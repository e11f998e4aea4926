"""Text files that cannot be trained on are answered in one line that names them."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.errors import UserError

CommandLine = Callable[..., Any]

SIDES = [
    (split, side, f"{split}.{language}")
    for split in ("train", "dev", "test")
    for side, language in (("source", "en"), ("target", "de"))
]
WORDS = ["train", "data=text_files", *(f"data.{split}.{side}={name}" for split, side, name in SIDES), "logger=none"]
WORDS += ["tokenizer.vocabulary_size=300", "optimization.max_steps=1"]

GOOD = b"a dog runs\nthe cat sleeps\na bird\n"


def write(folder: Path, changes: dict[str, bytes | None]) -> None:
    for _, _, name in SIDES:
        content = changes.get(name, GOOD)
        if content is not None:
            (folder / name).write_bytes(content)


def check(said: Any, answer: str) -> None:
    assert (said.code, said.out) == (2, ""), said.err
    assert said.err.startswith(f"aiayn: {answer}")
    assert said.err.count("\n") == 1, said.err


def test_a_folder_that_hydra_would_take_for_a_reference_is_one_line(aiayn: CommandLine, tmp_path: Path) -> None:
    write(tmp_path, {})
    check(aiayn(*WORDS, r"paths.runs=a\${b}"), f"paths.runs={tmp_path}/a${{b}}: Hydra reads ${{")
    assert not list(tmp_path.glob("a*"))


def test_a_corpus_that_cannot_be_used_is_one_line(aiayn: CommandLine, tmp_path: Path) -> None:
    write(tmp_path, {"train.de": GOOD + b"and more\n"})
    train = tmp_path / "train"
    check(aiayn(*WORDS), f"data.train: {train}.en has 3 lines and {train}.de has 4; they must be aligned line by line")
    assert not list(tmp_path.glob("runs/**/*.ckpt"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_what_may_not_be_read_or_written_is_one_line(aiayn: CommandLine, tmp_path: Path) -> None:
    write(tmp_path, {})
    (tmp_path / "dev.en").chmod(0)
    check(aiayn(*WORDS), f"data.dev.source: {tmp_path}/dev.en cannot be read (Permission denied)")
    (tmp_path / "locked").mkdir(mode=0o500)
    for words in (["paths.runs=locked/runs"], ["paths.cache=locked/cache"]):
        said = aiayn(*WORDS, *words)
        assert (said.code, said.err.count("\n")) == (2, 1)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.lists(st.binary(max_size=60) | st.text(max_size=20).map(str.encode), min_size=4, max_size=4),
    packed=st.none() | st.sampled_from([25, 1000]),
)
def test_any_bytes_are_prepared_or_refused_in_one_line(
    content: list[bytes], packed: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    for name, each in zip(("train.en", "train.de", "dev.en", "dev.de"), content, strict=True):
        (folder / name).write_bytes(each if packed is None else gzip.compress(each)[:packed])
    train, dev = (SplitFiles(str(folder / f"{split}.en"), str(folder / f"{split}.de")) for split in ("train", "dev"))
    corpus = TextFilesCorpus(
        files={"train": train, "dev": dev, "test": dev}, source_language="en", target_language="de"
    )
    refusal = None
    try:
        prepare(corpus, settings=PreparationSettings(vocabulary_size=300, max_length=50), cache=folder / "cache")
    except UserError as error:
        refusal = str(error)
    assert refusal is None or (refusal.startswith("data") and "\n" not in refusal), refusal


def test_a_record_that_cannot_be_read_is_named_and_not_the_output(aiayn: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").symlink_to("/proc/self/mem")  # a file that reading fails on, for root too
    said = aiayn("report", "run", "run=run")
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "output=" not in said.err
