"""`aiayn attention` draws what the model attends to, of a sentence that was given or that it translates itself."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import Say

from aiayn.extensions.pictures.attention_figure import fonts_for
from aiayn.runs.attention_maps import AttendedSentence, read_attention_maps

QUICK = ("format=svg", "kind=cross", "heads=1")
"""Pictures take the longest."""

PAIRS = "the dog\tder Hund\n\na cat sees “the big ships”, 水!\n7\tsieben Schiffe\n"


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    """A run of this test's own."""
    copy = tmp_path / "run"
    shutil.copytree(trained_run, copy)
    return copy


@pytest.fixture
def draw(run: Path, say: Say) -> Say:
    """`aiayn attention` in this process, on weights that tell sentences apart."""

    def call(given: str, *words: str) -> Any:
        return say("attention", "run=run", "checkpoint=1", *words, given=given)

    return call


def written(run: Path) -> list[AttendedSentence]:
    return read_attention_maps(run / "attention" / "step-1.json").sentences


def test_every_line_has_its_pictures_and_weights(draw: Say, run: Path) -> None:
    said = draw("the dog\tder Hund\n\n7\tsieben Schiffe\n")
    kinds = ("encoder", "decoder", "cross")
    names = [f"sentence-{line}-{kind}{lines}.png" for line in (1, 3) for kind in kinds for lines in ("", "-layer1")]
    assert (said.code, said.lines, said.err) == (0, [f"run/attention/{name}" for name in names], "")
    assert sorted(path.name for path in (run / "attention").iterdir()) == sorted([*names, "step-1.json"])
    content = json.loads((run / "attention" / "step-1.json").read_text(encoding="utf-8"))
    assert (content["version"], content["checkpoint_step"], content["units"]) == (1, 1, "words")
    first, last = content["sentences"]
    assert (first["source"], first["target"]) == (["the", "dog", "⟨eos⟩"], ["der", "Hund", "⟨eos⟩"])
    assert first["target_input"] == ["⟨bos⟩", "der", "Hund"]
    assert (last["line"], last["target"]) == (3, ["sieben", "Schiffe", "⟨eos⟩"])
    for sentence in content["sentences"]:
        assert len(sentence["target_input"]) == len(sentence["target"])
        for kind, queries, keys in (
            ("encoder", "source", "source"),
            ("decoder", "target", "target"),
            ("cross", "target", "source"),
        ):
            weights = np.array(sentence[kind])
            assert weights.shape == (1, 2, len(sentence[queries]), len(sentence[keys]))
            np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=0.0006 * weights.shape[-1])


def test_without_a_target_it_takes_the_models_own(say: Say, draw: Say, run: Path) -> None:
    source = "a cat sees the big ships"
    (translation,) = say("translate", "run=run", "checkpoint=1", given=f"{source}\n").lines
    assert translation
    assert draw(f"{source}\n", *QUICK).code == 0
    (own,) = written(run)
    assert own.target[-1] == "⟨eos⟩"
    # Such weights write bytes that are no characters, or not printable.
    assert re.sub("⟨..⟩", "", "".join(own.target[:-1])) == re.sub(r"[\ufffd\s\x00-\x1f\x7f]", "", translation)
    assert draw(f"{source}\t{translation}\n", *QUICK).code == 0
    (given,) = written(run)
    np.testing.assert_array_equal(given.encoder, own.encoder)
    assert draw(f"{source}\t\n", *QUICK).code == 0
    assert written(run)[0].target == ["⟨eos⟩"], "an empty target is one"


@pytest.mark.long
def test_words_are_sums_and_means_of_tokens(draw: Say, run: Path) -> None:
    assert draw(PAIRS, *QUICK).code == 0
    words = written(run)
    assert draw(PAIRS, *QUICK, "units=tokens").code == 0
    tokens = written(run)
    assert any(len(one.source) > len(other.source) for one, other in zip(tokens, words, strict=True))
    for of_words, of_tokens in zip(words, tokens, strict=True):
        assert "".join(of_tokens.target).replace("‿", "").replace("␣", "") == "".join(of_words.target)
        assert (np.triu(of_tokens.decoder, 1) == 0).all(), "each token is predicted from those before it alone"
        starts = [place for place, label in enumerate(of_tokens.source) if not label.startswith("‿")]
        assert len(starts) == len(of_words.source)
        last = of_tokens.encoder[:, :, -1], of_words.encoder[:, :, -1]
        sums = np.add.reduceat(last[0], starts, axis=-1)
        np.testing.assert_allclose(sums, last[1], atol=0.0006 * len(of_tokens.source))


@pytest.mark.long
def test_what_is_drawn_can_be_chosen(draw: Say, run: Path) -> None:
    said = draw("the dog\n", "kind=encoder", "format=svg", "heads=2", "layers=[1]", "word=dog", "output=it")
    names = ["sentence-1-encoder.svg", "sentence-1-encoder-layer1.svg"]
    assert (said.code, said.lines, said.err) == (0, [f"it/{name}" for name in names], "")
    maps, lines = (Path(path).read_text(encoding="utf-8") for path in said.lines)
    assert "head 2" in maps
    assert "head 1" not in maps
    assert "head 2" in lines
    assert [path.name for path in (run / "attention").iterdir()] == ["step-1.json"], "the page's weights lie there"
    assert written(run)[0].encoder.shape[:2] == (1, 2), "and are all of them"
    said = draw("the dog\na cat\n", "kind=encoder", "format=svg", "word=dog")
    assert [Path(path).stem for path in said.lines] == [
        *("sentence-1-encoder", "sentence-1-encoder-layer1", "sentence-2-encoder")
    ]


def test_what_is_left_out_is_said(draw: Say, run: Path) -> None:
    said = draw(f"the dog\n{'dog ' * 40}\nthe cat\t{'Hund ' * 40}\na\nb\n", *QUICK, "max_length=20", "max_sentences=4")
    assert said.code == 0
    assert [sentence.line for sentence in written(run)] == [1, 4]
    few, long_source, long_target = said.err.splitlines()
    assert few == "lines after the first 4 are not drawn (max_sentences)"
    assert long_source.startswith("line 2: ")
    assert long_source.endswith(" source tokens with the end mark, more than 20 (max_length): not drawn")
    assert long_target.startswith("line 3: ")


def test_a_script_that_no_font_has_is_named_once(draw: Say) -> None:
    if not fonts_for(["ह"])[1]:
        pytest.skip("a font for Devanagari is installed")
    said = draw("the हद\nthe ह\n", "kind=encoder", "layers=1", "heads=1")
    assert said.code == 0
    (line,) = said.err.splitlines()
    assert line.startswith("format=png: no installed font has Devanagari letters such as द, which are boxes")
    assert draw("the हद\n", "kind=encoder", "layers=1", "heads=1", "format=svg").err == ""


@pytest.mark.parametrize(
    ("given", "words", "complaint"),
    [
        ("a\n", ["layers=2"], "layers=2: the run's model has 1; state numbers from 1 to 1"),
        ("a\n", ["heads=[1,3]"], "heads=[1, 3]: the run's model has 2; state numbers from 1 to 2"),
        ("a\n", ["heads=x"], "heads=x: "),
        ("a\n", ["kind=self"], "kind=self: choose from encoder, decoder, cross, all"),
        (
            "the dog\n",
            ["kind=encoder", "word=cat"],
            "word=cat: is none of the words that attend; choose from the, dog, ",
        ),
        (
            "a\n",
            ["output=file/there"],
            "output=file/there: file is a file; state another place",
        ),
        ("", [], "standard input: no sentence to draw; give it lines, as in < sentences.txt"),
        ("a\nb\tc\td\n", [], "standard input, line 2: has 2 tabs; each line is source or source<TAB>target"),
    ],
)
def test_mistakes_are_one_line(draw: Say, given: str, words: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert draw(given, *words).refuses_by(complaint)


def test_a_model_that_diverged_is_one_line(draw: Say, run: Path) -> None:
    path = run / "checkpoints" / "step-0000001.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    checkpoint["state_dict"]["model.embedding.weight"].fill_(torch.nan)
    torch.save(checkpoint, path)
    said = draw("the dog\tder Hund\n")
    complaint = "aiayn: line 1: the weights are not finite; the model diverged in training\n"
    assert said == (1, "", complaint)


def test_matplotlib_is_asked_for(draw: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    absent: Any = None
    monkeypatch.setitem(sys.modules, "matplotlib", absent)
    said = draw("a\n")
    complaint = "aiayn: aiayn attention: matplotlib is not installed; pip install -e '.[figures]' in the checkout\n"
    assert said == (2, "", complaint)
