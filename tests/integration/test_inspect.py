"""`aiayn inspect` shows what `aiayn plan` and `aiayn report parameters` count, by layer, and the difference to base."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Finished, Say

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.extensions.costs.plan import plan_run
from aiayn.extensions.costs.schema import PlanConfig
from aiayn.models.cost import BYTES_OF_STATE
from aiayn.paper.tables import load_table3
from aiayn.reports.parameters import count
from aiayn.runs.plan import Plan
from aiayn.runs.record import read_record

pytestmark = pytest.mark.slow

SMALL = """
from aiayn.models.transformer import Transformer


class Small(Transformer):
    def __init__(self, *, d_model: int, **given) -> None:
        super().__init__(d_model=d_model, d_ff=24, num_heads=2, d_k=8, d_v=8, **given)
"""


def inspected(say: Say, folder: Path, *words: str) -> dict[str, Any]:
    said = say("inspect", *words, "output=layers.json")
    assert said.code == 0, said.err
    content: dict[str, Any] = json.loads((folder / "layers.json").read_text())
    return content


def planned(*words: str) -> Plan:
    return plan_run(to_dataclass(compose_command("plan", words), PlanConfig))


def layers(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(each for child in node["layers"] for each in layers(child))]


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("scale=paper",),
        ("experiment=table3/big", "scale=paper"),
        ("experiment=table3/b_dk16",),
        ("experiment=table3/e_learned", "scale=nano"),
        ("experiment=table4/wsj_only", "data=toy_trees"),
    ],
    ids=" ".join,
)
def test_the_sums_are_those_of_the_plan(say: Say, tmp_path: Path, words: tuple[str, ...]) -> None:
    content, plan = inspected(say, tmp_path, *words, "trainer.devices=1"), planned(*words, "trainer.devices=1")
    model = content["model"]
    assert model["parameters"] == plan.parameters
    assert 3 * model["weight_flops"] * content["batch"]["per_step"] == pytest.approx(plan.flops_per_step, rel=1e-3)
    if "attention" not in "".join(words):
        memory = BYTES_OF_STATE * model["parameters"] + model["kept_bytes"]
        assert memory == pytest.approx(plan.memory, rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize("row", ["a_h32", "e_learned"])
def test_parameters_are_those_of_the_report(say: Say, tmp_path: Path, row: str) -> None:
    content = inspected(say, tmp_path, f"experiment=table3/{row}", "scale=paper")
    printed = load_table3().row(row)
    assert content["model"]["parameters"] == count(printed, vocabulary_size=37_000, projection_bias=False)


def test_the_difference_to_base_is_shown(say: Say, tmp_path: Path) -> None:
    said = say("inspect", "experiment=table3/a_h1", "scale=paper")
    assert said.code == 0, said.err
    assert said.out.count("num_heads 8, d_k 64") == 3
    assert "num_heads = 1 (base 8)" in said.out
    assert "settings: num_heads 1 (base 8)" in said.out
    for node in layers(inspected(say, tmp_path, "experiment=table3/a_h1", "scale=paper")["model"]):
        assert node["parameters"] == node["base"]["parameters"]


@pytest.mark.long
def test_equal_layers_are_folded_unless_asked(say: Say, tmp_path: Path) -> None:
    assert "6 x EncoderLayer" in say("inspect", "scale=paper").out
    opened = say("inspect", "scale=paper", "folded=false", "depth=2").out
    assert opened.count("x EncoderLayer") == 6
    assert "self_attention" not in opened


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("experiment=baselines/bahdanau",),
        ("experiment=baselines/convolutional",),
        ("model.attention=additive",),
    ],
    ids=" ".join,
)
def test_models_of_every_kind(say: Say, tmp_path: Path, words: tuple[str, ...]) -> None:
    content = inspected(say, tmp_path, *words, "scale=nano")
    plan = planned(*words, "scale=nano")
    assert content["model"]["parameters"] == plan.parameters
    assert content["model"]["weight_flops"] > 0


def test_a_model_of_ones_own(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small_idea.py").write_text(SMALL)
    monkeypatch.syspath_prepend(tmp_path)
    content = inspected(say, tmp_path, "model=plugin", "model.target=small_idea:Small")
    assert content["model"]["kind"] == "Small"
    assert content["model"]["base"]["kind"] == "Transformer"


@pytest.mark.long
def test_a_prepared_corpus_gives_the_lengths(
    say: Say, tmp_path: Path, finished: Finished, tiny: tuple[str, ...], shared_cache: Path
) -> None:
    record = read_record(finished() / "run.json")
    words = [*tiny, "logger=none", f"paths.cache={shared_cache}"]
    batch = inspected(say, tmp_path, *words)["batch"]
    assert batch["origin"].startswith("step 1 of training on the prepared corpus")
    assert 0 < batch["source_tokens"] <= record.data_counts["train"]["source_tokens"]
    assert (
        "planned" in inspected(say, tmp_path, *tiny, "data.seed=99", f"paths.cache={shared_cache}")["batch"]["origin"]
    )


def test_base_has_no_difference_in_markdown(say: Say, tmp_path: Path) -> None:
    assert say("inspect", "scale=paper", "output=layers.md").code == 0
    page = (tmp_path / "layers.md").read_text()
    assert "| model | [target, vocabulary] |" in page
    assert "≠" not in page
    assert "no layer has other figures than base's" in page


def test_a_file_of_another_format_is_refused(say: Say) -> None:
    said = say("inspect", "output=layers.txt")
    assert said.refuses_by("output=layers.txt: the suffix says the format"), said.err
