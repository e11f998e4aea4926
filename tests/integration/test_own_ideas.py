"""Attention, positions and models of the user's own, from a folder on PYTHONPATH, through real commands."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import AIAYN, SECONDS, Said, Say, signal_at
from run_files import assert_same_end, only_run, runs_below
from tiny import TINY

from aiayn.runs.record import Status, read_record

IDEAS = """
import torch
from torch import Tensor, nn
from aiayn.models.attention import AttentionFunction
from aiayn.models.positions import PositionalEncoding
from aiayn.models.transformer import Transformer


class Cosine(AttentionFunction):
    def __init__(self, *, num_heads: int, d_k: int, temperature: float = 10.0) -> None:
        super().__init__()
        self.temperature = nn.Parameter(torch.full((num_heads, 1, 1), temperature))

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        query, keys = (nn.functional.normalize(each, dim=-1) for each in (query, keys))
        return self.temperature * torch.matmul(query, keys.transpose(-1, -2))


class Ramp(PositionalEncoding):
    def __init__(self, *, max_positions: int, d_model: int, slope: float) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.full((d_model,), slope / max_positions))

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        return embedded + positions.unsqueeze(-1) * self.direction


class Small(Transformer):
    def __init__(self, *, d_model: int, heads: int = 2, **given) -> None:
        super().__init__(d_model=d_model, d_ff=24, num_heads=heads, d_k=8, d_v=8, **given)


class Leaky(Cosine):
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return super().scores(query, keys - keys.mean(dim=-2, keepdim=True))


class Abstract(AttentionFunction):
    pass


class Raising(Cosine):
    def __init__(self, *, num_heads: int, d_k: int) -> None:
        raise IndexError("no head")
"""

ATTENTION = ("model.attention=my_ideas:Cosine", "+model.attention_arguments.temperature=5.0")
POSITIONS = ("model.positions=my_ideas:Ramp", "+model.positions_arguments.slope=0.5")
MODEL = ("model=plugin", "model.target=my_ideas:Small", "+model.arguments.heads=4")

Call = Callable[..., Said]


def called(folder: Path, *words: str, given: str = "", ideas: Path | None = None) -> Said:
    """A command in a process of its own, which finds the ideas in the folder `ideas`, or in `folder`."""
    path = os.pathsep.join([str(ideas or folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*AIAYN, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def tiny(*words: str) -> tuple[str, ...]:
    """The words of a tiny run; a model of one's own has no keys of a Transformer's parts."""
    kept = [
        word for word in TINY if "model=plugin" not in words or not word.startswith(("model.d_ff", "model.num_heads"))
    ]
    return ("train", *kept, "logger=none", *words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_ideas.py").write_text(IDEAS)
    return tmp_path


@pytest.fixture
def aiayn(folder: Path) -> Call:
    def call(*words: str, given: str = "") -> Said:
        return called(folder, *words, given=given)

    return call


@pytest.fixture(scope="module")
def importable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the ideas, which commands in this process find."""
    folder = tmp_path_factory.mktemp("importable")
    (folder / "my_ideas.py").write_text(IDEAS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder
    sys.modules.pop("my_ideas", None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the ideas and one run with the attention; tests only read it."""
    folder = tmp_path_factory.mktemp("ideas")
    (folder / "my_ideas.py").write_text(IDEAS)
    said = called(folder, *tiny(*ATTENTION))
    assert said.code == 0, said.err
    return folder


@pytest.mark.long
def test_a_run_is_trained_scored_and_shown(trained: Path) -> None:
    run = only_run(trained / "runs")
    record = read_record(run / "run.json")
    assert record.status is Status.finished
    assert set(record.scores) == {"dev", "test"}
    stated = (run / "config.yaml").read_text()
    assert "attention: my_ideas:Cosine" in stated
    assert "temperature: 5.0" in stated
    for words in (["status"], ["report", "comparison"], ["report", "table3"], ["report", "sharpness", "sentences=5"]):
        said = called(trained, *words)
        assert said.code == 0, said.err
        assert "base" in said.out


@pytest.mark.long
def test_an_interrupted_run_resumes_exactly(trained: Path, tmp_path: Path) -> None:
    interrupted = called(tmp_path, *tiny(*ATTENTION), signal_at(7), ideas=trained)
    assert interrupted.code == 1, interrupted.err
    run = only_run(tmp_path / "runs")
    stopped = read_record(run / "run.json")
    assert (stopped.status, stopped.steps) == (Status.interrupted, 8)
    resumed = called(tmp_path, *tiny(*ATTENTION), ideas=trained)
    assert resumed.code == 0, resumed.err
    assert_same_end(run, only_run(trained / "runs"))


@pytest.mark.long
def test_a_run_translates_and_is_evaluated(trained: Path) -> None:
    run = only_run(trained / "runs")
    said = called(trained, "translate", f"run={run}", given="the dog\na cat\n")
    assert (said.code, len(said.lines)) == (0, 2), said.err
    said = called(trained, "evaluate", f"run={run}", "splits=[dev]")
    assert said.code == 0, said.err


@pytest.mark.long
def test_the_class_of_a_run_elsewhere_is_run_if_it_is_trusted(trained: Path, tmp_path: Path) -> None:
    sharpness = ("report", "sharpness", f"paths.runs={trained / 'runs'}")
    said = called(tmp_path, *sharpness, "sentences=5", ideas=trained)
    place = only_run(trained / "runs") / "config.yaml"
    assert said.refuses_by(f"{place}: model.attention=my_ideas:Cosine: a class of code that is run here; "), said.err
    said = called(tmp_path, *sharpness, "sentences=5", "trust=true", ideas=trained)
    assert said.code == 0, said.err
    assert "table3/base" in said.out


@pytest.mark.long
def test_an_edited_or_removed_file_is_refused(trained: Path, tmp_path: Path) -> None:
    run = only_run(trained / "runs")
    said = called(tmp_path, "translate", f"run={run}", "trust=true", given="the dog\n")
    assert said.refuses_by("model.attention=my_ideas:Cosine: there is no module my_ideas; "), said.err
    (tmp_path / "my_ideas.py").write_text(IDEAS + "# edited\n")
    said = called(tmp_path, "translate", f"run={run}", "trust=true", given="the dog\n")
    assert said.refuses_by("model.attention=my_ideas:Cosine: my_ideas has changed since the run began; "), said.err


def test_an_edited_file_makes_another_run(aiayn: Call, say: Say, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (*tiny(*ATTENTION), "--cfg", "job", "--resolve", "--package", "identity")

    def identity(said: Said) -> str:
        assert said.code == 0, said.err
        (line,) = [line for line in said.out.splitlines() if line.strip().startswith("hash: ")]
        return line

    before = identity(aiayn(*words))
    monkeypatch.syspath_prepend(folder)
    assert identity(say(*words)) == before, "in any process"
    (folder / "my_ideas.py").write_text(IDEAS + "# edited\n")
    assert identity(say(*words)) != before


@pytest.mark.parametrize(
    ("verb", "words", "complaint"),
    [
        pytest.param("train", ["model.attention=my_ideas:Nobody"], "my_ideas has no Nobody", marks=pytest.mark.long),
        ("check", ["model.attention=my_ideas:Ramp"], "must be a subclass of aiayn.models.attention."),
        ("check", ["model.attention=my_ideas:Abstract"], "does not define scores"),
        ("check", ["model.attention=my_ideas:Raising"], "its constructor raised IndexError: no head"),
        ("check", ["model.attention=my_ideas:Cosine", "+model.attention_arguments.heat=1"], "got an unexpected keyw"),
        ("check", ["model.attention=my_ideas:Cosine", "+model.attention_arguments.d_k=1"], "it is given d_k in any c"),
        ("check", ["model.positions=my_ideas:Ramp"], "missing a required argument: 'slope'"),
        ("check", ["model=plugin", "model.target=my_ideas:Ramp"], "must be a subclass of aiayn.models.translation_m"),
        ("plan", ["model.attention=your_ideas:Cosine"], "there is no module your_ideas; "),
    ],
)
def test_mistakes_are_one_line(importable: Path, say: Say, verb: str, words: list[str], complaint: str) -> None:
    named = next(word for word in words if "my_ideas:" in word or "your_ideas:" in word)
    said = say(*(tiny(*words) if verb == "train" else (verb, *words)))
    assert said.code == 2, said.err
    assert "Traceback" not in said.err
    assert said.err.splitlines()[-1].startswith(f"aiayn: {named}: {complaint}"), said.err
    assert said.err.count("aiayn: ") == 1


def test_arguments_need_a_class(say: Say) -> None:
    said = say("check", "+model.attention_arguments.temperature=5.0")
    assert said.refuses_by("model.attention_arguments: only a class of your own takes them"), said.err


@pytest.mark.long
@pytest.mark.parametrize("words", [ATTENTION, POSITIONS, MODEL, (*ATTENTION, *POSITIONS)], ids=" ".join)
def test_right_ideas_pass_the_check_and_are_priced(aiayn: Call, words: tuple[str, ...]) -> None:
    said = aiayn("check", *words)
    assert said.code == 0, said.out
    assert "FAILED" not in said.out
    said = aiayn("plan", *words)
    assert (said.code, said.err) == (0, "")
    assert "table3/base" in said.out


def test_a_wrong_idea_fails_the_check(importable: Path, say: Say) -> None:
    said = say("check", "model.attention=my_ideas:Leaky")
    assert said.code == 1
    assert "depends on the token" in said.out
    assert said.err.startswith("aiayn: 3 of 9 checks failed: causality, independence, decoding\n")


def test_an_experiment_of_ones_own_states_arguments(importable: Path, say: Say, tmp_path: Path) -> None:
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "cosine.yaml").write_text(
        "# @package _global_\ndefaults:\n  - /experiment/table3/base\n  - _self_\n"
        "model:\n  attention: my_ideas:Cosine\n  attention_arguments:\n    temperature: 5.0\n"
    )
    said = say("check", "--config-dir", "conf", "experiment=cosine")
    assert said.code == 0, said.err


@pytest.mark.long
@pytest.mark.parametrize("words", [POSITIONS, MODEL], ids=" ".join)
def test_positions_and_models_train(aiayn: Call, folder: Path, words: tuple[str, ...]) -> None:
    said = aiayn(*tiny(*words))
    assert said.code == 0, said.err
    run = only_run(folder / "runs")
    assert read_record(run / "run.json").status is Status.finished
    assert aiayn("translate", f"run={run}", given="the dog\n").code == 0


@pytest.mark.long
def test_weights_are_exported_but_not_to_ctranslate2(trained: Path, tmp_path: Path) -> None:
    run = only_run(trained / "runs")
    said = called(
        tmp_path, "export", f"run={run}", "trust=true", "output=model.safetensors", "format=safetensors", ideas=trained
    )
    assert said.code == 0, said.err
    assert (tmp_path / "model.safetensors").is_file()
    said = called(tmp_path, "export", f"run={run}", "trust=true", "output=model", "format=ctranslate2", ideas=trained)
    assert said.code == 2
    assert "CTranslate2 does not support model.attention=my_ideas:cosine" in said.err
    assert not (tmp_path / "model").exists()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="forked nowhere else")
def test_the_jobs_of_a_multirun_find_the_class(aiayn: Call, folder: Path) -> None:
    said = aiayn(*tiny(*ATTENTION, "optimization.max_steps=2", "-m", "seed=1,2"))
    assert said.code == 0, said.err
    runs = runs_below(folder / "runs")
    assert [read_record(run / "run.json").status for run in runs] == [Status.finished] * 2


@pytest.mark.long
def test_every_rank_finds_the_class(aiayn: Call, folder: Path) -> None:
    said = aiayn(*tiny(*ATTENTION, "optimization.max_steps=2", "trainer.devices=2"))
    assert said.code == 0, said.err
    assert read_record(only_run(folder / "runs") / "run.json").status is Status.finished
