"""`aiayn export`: the same model in CTranslate2 and in safetensors."""

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from commands import Say
from ctranslate2 import Translator
from safetensors import safe_open

LINES = [
    "the dog",
    "the ⟨eos⟩ dog ⟨pad⟩",
    "a cat sees the dog",
    "7 ships",
    "a “ship”",
    "dogs see cats",
    "the big ship",
    "水 für",
]


TEXT = "".join(f"{line}\n" for line in LINES)


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    """A run of this test's own."""
    copy = tmp_path / "run"
    shutil.copytree(trained_run, copy)
    return copy


@pytest.fixture
def recipe(say: Say, tmp_path: Path) -> Path:
    """The script that `aiayn export --help` and docs/translate.md show."""
    help_text = say("export", "--help").out
    script = tmp_path / "recipe.py"
    script.write_text(textwrap.dedent(help_text.partition("(python recipe.py model < in.txt > out.txt):\n")[2]))
    return script


def translate_by(recipe: Path, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, recipe, folder], input=TEXT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(("beam_size", "differing"), [(1, 0), (4, 3)])
def test_the_recipe_translates_an_exported_folder(
    say: Say, run: Path, recipe: Path, beam_size: int, differing: int
) -> None:
    """Greedy outputs are equal; with beams, CTranslate2 ends hypotheses and ranks their lengths by other rules."""
    (run.parent / "there").mkdir()
    assert say("export", f"run={run}", "checkpoint=1", "output=there/model") == (0, "there/model\n", "")
    folder = run.parent / "there" / "model"
    assert [path.name for path in folder.parent.iterdir()] == ["model"], "no temporary files are left"
    assert json.loads((folder / "config.json").read_text())["aiayn"]["step"] == 1
    script = recipe.read_text()
    assert "beam_size=4" in script
    recipe.write_text(script.replace("beam_size=4", f"beam_size={beam_size}").replace("+ 50", "+ 5"))
    search = (f"decoding.beam_size={beam_size}", "decoding.max_extra_length=5", "decoding.length_penalty_alpha=0")
    expected = say("translate", f"run={run}", "checkpoint=1", *search, given=TEXT).lines
    assert len(set(expected)) >= 5, "with one answer to everything, the test would show nothing"
    found = translate_by(recipe, folder)
    assert sum(theirs != ours for theirs, ours in zip(found, expected, strict=True)) <= differing


def test_the_recipe_translates_an_int8_export(say: Say, run: Path, recipe: Path) -> None:
    """Of these random weights, rounding changes the best outputs; their likelihoods are a unit test's."""
    for quantization in ("float32", "int8"):
        words = ("export", f"run={run}", "checkpoint=1", f"output={quantization}", f"quantization={quantization}")
        assert say(*words).code == 0
    exact, rounded = (run.parent / name for name in ("float32", "int8"))
    assert (rounded / "model.bin").stat().st_size < (exact / "model.bin").stat().st_size
    assert Translator(str(rounded)).compute_type.startswith("int8")
    assert [bool(line) for line in translate_by(recipe, rounded)] == [True] * len(LINES)


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
        (["export", "output=x", "quantization=int8", "format=safetensors"], "quantization=int8: format=safetensors "),
        (
            ["export", "output=run.json/x"],
            "output=run.json/x: run.json is a file; state another place",
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


def test_weights_that_are_not_finite_are_not_exported(say: Say, run: Path) -> None:
    path = run / "checkpoints" / "step-0000001.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    checkpoint["state_dict"]["model.embedding.weight"][3, 0] = torch.nan
    torch.save(checkpoint, path)
    said = say("export", f"run={run}", "checkpoint=1", "output=model")
    assert (said.code, said.out) == (2, "")
    assert "some weights are not finite" in said.err
    assert not (run.parent / "model").exists()


def test_a_missing_package_is_named(say: Say, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = [folder for folder in sys.path if not (Path(folder) / "ctranslate2").is_dir()]
    assert hidden != sys.path
    monkeypatch.setattr(sys, "path", hidden)
    monkeypatch.delitem(sys.modules, "ctranslate2", raising=False)
    said = say("export", f"run={run}", "output=model")
    assert (said.code, said.out) == (2, "")
    assert said.err.endswith("ctranslate2 is not installed; pip install -e '.[ctranslate2]' in the checkout\n")
