"""`aiayn export` and `engine=ctranslate2`: the same model, elsewhere."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import ctranslate2
import pytest
import torch
from safetensors import safe_open
from tokenizers import Tokenizer

from aiayn.commands.front_end import main

LINES = ["the dog", "", "a cat sees the dog", "7 ships", "a “ship”", "dogs see cats", "the big ship sees it", "水 für"]


class Said(NamedTuple):
    code: int
    out: str
    err: str


Say = Callable[..., Said]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Say:
    """A command in this process, in a folder of its own, with lines to read."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, given: str = "".join(f"{line}\n" for line in LINES)) -> Said:
        capfd.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        return Said(main(list(words)), *capfd.readouterr())

    return call


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    """A run of this test's own."""
    copy = tmp_path / "run"
    shutil.copytree(trained_run, copy)
    return copy


def exports(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "exports").glob("*") if path.is_dir())


@pytest.mark.parametrize(("search", "differing"), [("beam_size=1", 0), ("beam_size=4", 3)])
def test_the_engine_says_what_torch_says(say: Say, run: Path, search: str, differing: int) -> None:
    """Line for line where it is greedy; beams of these random weights end wherever they may, and some end elsewhere."""
    asked = ("translate", f"run={run}", "checkpoint=1", "decoding.max_extra_length=5", f"decoding.{search}")
    ours, theirs = say(*asked).out.splitlines(), say(*asked, "engine=ctranslate2").out.splitlines()
    assert len(set(ours)) >= 5, "with one answer to everything, nothing would show"
    assert len(theirs) == len(ours)
    assert sum(one != other for one, other in zip(ours, theirs, strict=True)) <= differing
    assert len(exports(run)) == 1


def test_the_export_is_made_once_for_each_checkpoint_and_quantization(say: Say, run: Path) -> None:
    asked = ("translate", f"run={run}", "engine=ctranslate2")
    first = say(*asked, "checkpoint=1")
    (name,) = exports(run)
    model = run / "exports" / name / "model.bin"
    made = model.stat().st_mtime_ns
    assert say(*asked, "checkpoint=1") == Said(0, first.out, "")
    assert model.stat().st_mtime_ns == made
    assert say(*asked, "checkpoint=1", "quantization=int8").code == 0
    assert say(*asked).out != first.out
    assert [each.split("-")[1] for each in exports(run)] == ["float32", "float32", "int8"]
    model.write_bytes(model.read_bytes()[:-1])
    again = say(*asked, "checkpoint=1")
    assert again.out == first.out
    assert "is damaged" in again.err


def test_n_best_hypotheses_are_ranked_by_our_penalty(say: Say, run: Path) -> None:
    said = say("translate", f"run={run}", "checkpoint=1", "engine=ctranslate2", "n_best=2")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [row["source"] for row in rows] == LINES
    for row in rows:
        scores = [each["score"] for each in row["hypotheses"]]
        assert scores == sorted(scores, reverse=True)
        for each in row["hypotheses"]:
            assert each["score"] == pytest.approx(each["log_probability"] / ((5 + each["tokens"]) / 6) ** 0.6)


def test_scores_of_another_engine_lie_apart(say: Say, run: Path) -> None:
    asked = ("evaluate", f"run={run}", "checkpoint=1", "splits=test", "decoding.beam_size=1")
    assert say(*asked).code == 0
    said = say(*asked, "engine=ctranslate2")
    assert (said.code, said.out.count("-ctranslate2-float32/test.hypotheses.txt")) == (0, 1)
    own, other = sorted((run / "evaluations").glob("step-0000001-*"))
    assert other.name == f"{own.name}-ctranslate2-float32"
    scores = [json.loads((folder / "scores.json").read_text())["test"] for folder in (own, other)]
    assert [each["engine"] for each in scores] == ["torch", "ctranslate2-float32"]
    assert scores[0]["ppl"] == scores[1]["ppl"]
    assert scores[0]["bleu"] == scores[1]["bleu"]


def test_an_exported_folder_translates_by_itself(say: Say, run: Path, tmp_path: Path) -> None:
    """As docs/translate.md shows it."""
    (tmp_path / "there").mkdir()
    said = say("export", f"run={run}", "checkpoint=1", "output=there/model")
    assert said == Said(0, "there/model\n", "")
    folder = tmp_path / "there" / "model"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model"], "nothing is left beside it"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    translator = ctranslate2.Translator(str(folder))
    vocabulary = tokenizer.get_vocab()
    asked = ("translate", f"run={run}", "checkpoint=1", "decoding.beam_size=1", "decoding.max_extra_length=2")
    for line in "the dog", "the ⟨eos⟩ dog ⟨pad⟩":
        source = [*tokenizer.encode(line, add_special_tokens=False).tokens, "⟨eos⟩"]
        (result,) = translator.translate_batch([source], beam_size=1, max_decoding_length=len(source) + 2)
        text = tokenizer.decode([vocabulary[piece] for piece in result.hypotheses[0]])
        assert say(*asked, given=f"{line}\n").out == f"{text}\n"
    assert json.loads((folder / "config.json").read_text())["aiayn"]["step"] == 1


@pytest.mark.parametrize("quantization", ["float32", "bfloat16"])
def test_safetensors_are_the_weights(say: Say, run: Path, tmp_path: Path, quantization: str) -> None:
    words = ("export", f"run={run}", "format=safetensors", f"quantization={quantization}", "output=model.safetensors")
    assert say(*words).code == 0
    checkpoint = torch.load(run / "checkpoints" / "step-0000012.ckpt", weights_only=True)["state_dict"]
    with safe_open(str(tmp_path / "model.safetensors"), framework="pt") as file:
        assert {f"model.{name}" for name in file.keys()} == set(checkpoint)  # noqa: SIM118
        for name in file.keys():  # noqa: SIM118
            assert torch.equal(file.get_tensor(name), checkpoint[f"model.{name}"].to(getattr(torch, quantization)))
        assert json.loads(file.metadata()["aiayn"])["step"] == 12
        assert "d_model: 16" in file.metadata()["config"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["export", "output=run.json"], "output=run.json: exists already; remove it or state another"),
        (["export"], "output has no value"),
        (["export", "output=x", "format=onnx"], "format: Invalid value 'onnx'"),
        (["export", "output=x", "quantization=int8", "format=safetensors"], "quantization=int8: format=safetensors "),
        (
            ["export", "output=run.json/x"],
            "output=run.json/x: run.json is a file; state another place",
        ),
        (["export", "output=x", "checkpoint=7"], "checkpoint=7: "),
        (["translate", "quantization=int8"], "quantization=int8: engine=torch has none; add engine=ctranslate2"),
        (["evaluate", "quantization=int8"], "quantization=int8: engine=torch has none; add engine=ctranslate2"),
        (
            ["evaluate", "engine=ctranslate2", "decoding.ends_among=candidates"],
            "decoding.ends_among=candidates: engine=",
        ),
        (["translate", "engine=jax"], "engine: Invalid value 'jax'"),
        (
            ["translate", "engine=ctranslate2", "decoding.max_extra_length=3000"],
            "decoding.max_extra_length=3000: 30",
        ),
    ],
)
def test_mistakes_are_one_line(say: Say, run: Path, words: list[str], complaint: str) -> None:
    (run.parent / "run.json").write_text("something")
    said = say(words[0], f"run={run}", *words[1:])
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[-1].startswith(f"aiayn: {complaint}")
    assert said.err.count("aiayn: ") == 1
    assert sorted(path.name for path in run.parent.iterdir()) == ["run", "run.json"]


def test_weights_that_are_no_numbers_are_not_exported(say: Say, run: Path) -> None:
    path = run / "checkpoints" / "step-0000001.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    checkpoint["state_dict"]["model.embedding.weight"][3, 0] = torch.nan
    torch.save(checkpoint, path)
    said = say("export", f"run={run}", "checkpoint=1", "output=model")
    assert (said.code, said.out) == (2, "")
    assert "some weights are no finite numbers" in said.err
    assert not (run.parent / "model").exists()


def test_what_is_not_installed_is_named(say: Say, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = [folder for folder in sys.path if not (Path(folder) / "ctranslate2").is_dir()]
    assert hidden != sys.path
    monkeypatch.setattr(sys, "path", hidden)
    monkeypatch.delitem(sys.modules, "ctranslate2")
    for words in (("translate", "engine=ctranslate2"), ("export", "output=model")):
        said = say(words[0], f"run={run}", *words[1:])
        assert (said.code, said.out) == (2, "")
        assert said.err.endswith("ctranslate2 is not installed; pip install -e '.[ctranslate2]' in the checkout\n")
