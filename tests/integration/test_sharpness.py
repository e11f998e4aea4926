"""`aiayn report sharpness` reads runs as they are."""

import json
import re
from pathlib import Path

import pytest
from commands import Finished, Say, Train
from run_files import copied_run
from tiny import TINY

from aiayn.commands.front_end import main


@pytest.fixture
def runs(train: Train, finished: Finished, tmp_path: Path) -> Path:
    """Two runs that differ by their attention alone, and one that has no such attention."""
    for run in (finished("experiment=attention/dot"), finished()):
        copied_run(run, tmp_path / "runs")
    of_no_transformer = [word for word in TINY if not word.startswith(("model.d_ff", "model.num_"))]
    gru = ("experiment=baselines/gru_fixed", "model.num_layers=1", "optimization.max_steps=1")
    assert main(["train", *of_no_transformer, "logger=none", *gru]) == 0
    return tmp_path / "runs"


def test_a_transformer_is_measured_before_and_after(
    runs: Path, shared_cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = (f"paths.runs={runs}", f"paths.cache={shared_cache}", "device=cpu")
    output = tmp_path / "sharpness.json"
    assert main(["report", "sharpness", *where, "sentences=7", f"output={output}"]) == 0
    dot, base = json.loads(output.read_text(encoding="utf-8"))["systems"]
    assert (dot["experiment"], base["experiment"]) == ("attention/dot", "table3/base")
    for kind in ("encoder", "decoder", "cross"):
        drawn, scaled = dot["before_training"][kind], base["before_training"][kind]
        assert drawn["queries"] == scaled["queries"] > 7
        assert len(drawn["variance"]) == 1
        assert len(drawn["variance"][0]) == 2
        assert sum(drawn["entropy"][0]) < sum(scaled["entropy"][0])
    # The first layer reads the same embeddings by the same weights, so that the factor alone tells them apart.
    d_k = 8
    ratio = [one / other for one, other in zip(drawn_of(dot), drawn_of(base), strict=True)]
    assert ratio == pytest.approx([d_k] * 2)
    assert dot["trained"]["encoder"]["variance"] != dot["before_training"]["encoder"]["variance"]
    capsys.readouterr()
    assert main(["report", "sharpness", *where, "sentences=1000"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^ (\w+/\w+) ", out, re.MULTILINE) == ["attention/dot", "table3/base"] * 2
    assert out.index("Trained\n") < out.index("PPL"), "scores are those of trained models"
    assert main(["report", "sharpness", *where, f"output={tmp_path / 'sharpness.md'}"]) == 0
    assert (tmp_path / "sharpness.md").read_text(encoding="utf-8").count("| attention/dot |") == 2


def drawn_of(system: dict[str, dict[str, dict[str, list[list[float]]]]]) -> list[float]:
    return system["before_training"]["encoder"]["variance"][0]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["paths.cache=nowhere"], "paths.cache=nowhere: does not hold the data "),
        (
            ["only.experiment=baselines/*"],
            "only.experiment=baselines/*: no finished run of a transformer on translations below ",
        ),
    ],
)
def test_what_cannot_be_measured_is_one_line(say: Say, trained_run: Path, words: list[str], complaint: str) -> None:
    assert say("report", "sharpness", f"paths.runs={trained_run.parents[2]}", *words).refuses_by(complaint)
