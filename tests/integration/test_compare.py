"""`aiayn compare` and `aiayn report matrix` on what evaluations left."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from aiayn.commands.front_end import main
from aiayn.data.preparation.prepared import find_prepared
from aiayn.evaluation.matrix import TITLES
from aiayn.evaluation.moses import multi_bleu, tokenized
from aiayn.runs.provenance import code_version
from aiayn.runs.record import read_record

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    """A copy of the run, to evaluate it otherwise."""
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


@pytest.fixture
def other(run: Path) -> Path:
    """The evaluation of its random weights."""
    before = {*run.glob("evaluations/*")}
    assert main(["evaluate", f"run={run}", "checkpoint=1"]) == 0
    (folder,) = {*run.glob("evaluations/*")} - before
    return folder


def told(output: Path, *words: str) -> dict[str, Any]:
    """What a command writes as JSON."""
    assert main([*words, f"output={output}"]) == 0
    content: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return content


def test_evaluations_are_compared_sentence_by_sentence(
    run: Path, other: Path, shared_cache: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = ("compare", f"run={run}", f"against={other}", "split=dev", f"paths.cache={shared_cache}", "examples=3")
    found = told(tmp_path / "pair.json", *words)
    recorded = read_record(run / "run.json").scores["dev"]
    evaluated = json.loads((other / "scores.json").read_text(encoding="utf-8"))["dev"]
    for name, ours, theirs in (
        ("PPL", recorded.ppl, evaluated["ppl"]),
        ("BLEU", recorded.quality.score, evaluated["bleu"]["score"]),
        ("chrF", recorded.shown["chrF"].score, evaluated["chrf"]["score"]),
    ):
        assert (found["tests"][name]["first"], found["tests"][name]["second"]) == pytest.approx((ours, theirs))
    assert found["tests"]["PPL"]["randomization_p"] < 0.05  # random weights are far worse
    sentences = recorded.sentences
    assert found["wins"] + found["losses"] + found["ties"] == sentences
    for buckets in (found["by_length"], found["by_rarest_word"]):
        assert sum(bucket["sentences"] for bucket in buckets) == sentences
        assert sum(bucket["wins"] for bucket in buckets) == found["wins"]
    assert sum(of_class["words"] for of_class in found["words"]) > sentences
    hypotheses = (run / recorded.hypotheses).read_text(encoding="utf-8").splitlines()
    for example in (*found["largest_wins"], *found["largest_losses"]):
        assert example["hypotheses"][0] == hypotheses[example["number"] - 1]
    back = told(tmp_path / "back.json", "compare", f"run={other}", f"against={run}", *words[3:])
    assert back["tests"]["PPL"]["bootstrap_p"] == found["tests"]["PPL"]["bootstrap_p"]
    assert (back["wins"], back["losses"]) == (found["losses"], found["wins"])
    same = told(tmp_path / "same.json", "compare", f"run={run}", f"against={run}", "paths.cache=nowhere")
    assert {test["randomization_p"] for test in same["tests"].values()} == {1}
    capsys.readouterr()
    assert main([*words]) == 0
    said = capsys.readouterr().out
    assert main([*words, f"output={tmp_path / 'pair.md'}"]) == 0
    page = (tmp_path / "pair.md").read_text(encoding="utf-8")
    for text in ("A − B", "By source length in tokens", recorded.quality.signature, str(other)):
        assert text in said
        assert text.replace("|", "\\|") in page or text in page


def test_every_definition_is_printed_of_the_same_hypotheses(
    run: Path, shared_cache: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = ("report", "matrix", f"run={run}", f"paths.cache={shared_cache}")
    recorded = read_record(run / "run.json").scores
    plain = told(tmp_path / "plain.json", *words)["scores"]
    assert plain["dev"]["bleu_intl"]["signature"] == recorded["dev"].matrix["bleu_intl"].signature
    more = told(tmp_path / "more.json", *words, "metrics=[ter]")["scores"]
    assert {*more["test"]} - {*plain["test"]} == {"ter"}
    hypotheses = (run / recorded["test"].hypotheses).read_text(encoding="utf-8").splitlines()
    data = find_prepared(shared_cache, read_record(run / "run.json").data_fingerprint or "")
    assert data is not None
    references = data.split("test").target_lines()
    expected = multi_bleu(tokenized(hypotheses, "de"), tokenized(references, "de"))
    assert plain["test"]["multi_bleu"]["score"] == pytest.approx(expected)
    capsys.readouterr()
    assert main([*words]) == 0
    said = capsys.readouterr().out
    assert all(TITLES[name] in said for name in plain["dev"])
    assert main([*words, f"output={tmp_path / 'matrix.md'}"]) == 0
    assert TITLES["multi_bleu_split"] in (tmp_path / "matrix.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["compare", "against=nowhere"], "against=nowhere: not a run directory"),
        (["compare", "against={run}", "split=train"], "split=train: choose from dev, test"),
        (["compare", "against={run}", "examples=-1"], "examples=-1: must be at least 0"),
        (["compare", "against={run}", "output=x.pdf"], "output=x.pdf: the suffix says the format"),
        (["compare", "against={foreign}"], "data differs, "),
        (["compare", "against={short}"], "number of test sentences differs, "),
        (["compare", "against={part}"], "against={part}: not evaluated on test; it has dev; "),
        (["report", "matrix", "metrics=rouge"], "metrics=rouge: choose from chrf_pp, ter, comet"),
        (["report", "matrix", "metrics=[comet]"], "metrics=comet needs COMET"),
        (["report", "matrix", "metrics=[ter]", "no cache"], "run={run}: references are needed, and paths.cache="),
    ],
)
def test_what_cannot_be_done_is_one_line(
    run: Path,
    shared_cache: Path,
    tmp_path: Path,
    capfd: Capture,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    complaint: str,
) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)  # whoever has it
    places = {name: tmp_path / name for name in ("run", "foreign", "short", "part")}
    for name in ("foreign", "short", "part"):
        shutil.copytree(run, places[name], ignore=shutil.ignore_patterns("*.ckpt"))
        content = json.loads((places[name] / "run.json").read_text(encoding="utf-8"))
        if name == "foreign":
            content["data_fingerprint"] = "0" * 64
        elif name == "short":
            content["scores"]["test"]["sentences"] = 3
        else:
            del content["scores"]["test"]
        (places[name] / "run.json").write_text(json.dumps(content), encoding="utf-8")
    if "no cache" in words:
        config = (run / "config.yaml").read_text(encoding="utf-8")
        (run / "config.yaml").write_text(config.replace(str(shared_cache), "nowhere"), encoding="utf-8")
        words, shared_cache = words[:-1], tmp_path / "empty"
    typed = [word.format(**places) for word in words]
    assert main([*typed, f"run={run}", f"paths.cache={shared_cache}"]) == 2
    err = capfd.readouterr().err
    assert err.startswith(f"aiayn: {complaint.format(**places)}")
    assert err.count("\n") == 1


def test_an_evaluation_by_another_version_of_the_code_is_named(run: Path, other: Path, tmp_path: Path) -> None:
    record, path = read_record(run / "run.json"), other / "scores.json"
    scores = json.loads(path.read_text(encoding="utf-8"))
    assert all((split["commit"], split["dirty"], split["patch"]) == code_version()[:3] for split in scores.values())
    for split in scores.values():
        split.update(commit=40 * "c", dirty=True, patch=12 * "d")
    path.write_text(json.dumps(scores), encoding="utf-8")
    by = f"of {record.name} was scored by commit {12 * 'c'} with uncommitted changes {12 * 'd'}"
    told_of = {split: f"code: {scores[split]['hypotheses']} {by}" for split in scores}
    compared = told(tmp_path / "pair.json", "compare", f"run={run}", f"against={other}", "split=dev")
    assert compared["notes"][0] == told_of["dev"]
    matrix = told(tmp_path / "matrix.json", "report", "matrix", f"run={other}")
    assert [line for line in matrix["remarks"] if line.startswith("code: ")] == [*told_of.values()]
