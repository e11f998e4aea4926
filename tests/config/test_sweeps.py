"""Every file of sweeps/ is a multirun of what exists, and opens with its command and its true cost."""

import math
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from composed_once import composed
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf.errors import InterpolationKeyError

from aiayn.builders.cost import model_cost
from aiayn.config.compose import compose_command, compose_with_hydra
from aiayn.config.store import options, sweeps_directory
from aiayn.extensions.lab.study import Study, read_study
from aiayn.paper.claims import load_claims
from aiayn.paper.tables import load_table3
from aiayn.reports.judgement import FEWEST_SEEDS

SEARCH = sweeps_directory() / "search.yaml"
OWN_IDEA = sweeps_directory() / "own_idea.yaml"
LAB = sorted(sweeps_directory().glob("lab_*.yaml"))
STUDIES = [OWN_IDEA, *LAB]
TO_BE_STATED = {"lab_big": ["optimization.learning_rate_factor=0.7"]}
"""Words without which a study cannot be composed."""
FILES = sorted(set(sweeps_directory().glob("*.yaml")) - {SEARCH, *STUDIES})
TABLES = ["table2", "table2_en_de", "table3", *(f"table3_{group}" for group in "abcde"), "table4"]
OTHERS = "attention attention_dk baselines depth_width extrapolation fidelity heads_dk positions seeds smoke"
OTHERS += " smoothing_dropout structure warmup_rate"


def swept(path: Path) -> dict[str, list[str]]:
    """The values of each key that the file sweeps."""
    params: dict[str, Any] = yaml.safe_load(path.read_text())["hydra"]["sweeper"]["params"]
    found = {}
    for key, value in params.items():
        override = OverridesParser.create().parse_override(f"{key}={value}")
        found[key] = list(map(str, override.sweep_iterator())) if override.is_sweep_override() else [str(value)]
    return found


def study(path: Path) -> Study:
    return read_study(compose_with_hydra("train", sweep_words(path)).hydra.sweeper)


def sweep_words(path: Path) -> list[str]:
    return [f"sweeps={path.stem}", *TO_BE_STATED.get(path.stem, [])]


def rows(name: str) -> list[str]:
    """The rows of Table 3 that a file sweeps."""
    return [row.removeprefix("table3/") for row in swept(sweeps_directory() / f"{name}.yaml")["experiment"]]


@cache
def flops(experiment: str) -> float:
    """Of one training of a row of the paper."""
    corpus = ["data.path=wsj"] if experiment.startswith("table4/") else []
    config = composed(f"experiment={experiment}", *corpus, "scale=paper")
    cost = model_cost(config.model, vocabulary_size=config.tokenizer.vocabulary_size)
    steps, batch = config.optimization.max_steps, config.optimization
    return cost.training_flops(source_tokens=batch.source_tokens * steps, target_tokens=batch.target_tokens * steps)


def test_the_promised_sweeps_are_there() -> None:
    assert {path.stem for path in FILES} == {*TABLES, *OTHERS.split()}
    assert {path.stem for path in (*FILES, SEARCH, *STUDIES)} == set(options("sweeps"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sweep_composes_as_a_multirun_named_after_its_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIAYN_SWEEP", raising=False)
    jobs = swept(path)
    assert max(map(len, jobs.values())) > 1
    words = [f"{key}={values[-1]}" for key, values in jobs.items()]
    multirun = compose_command("train", [f"sweeps={path.stem}", *words])
    assert HydraConfig.get().mode is RunMode.MULTIRUN
    assert multirun.identity.sweep == path.stem
    assert multirun.identity.hash == compose_command("train", words).identity.hash, "it is no other run for that"


@pytest.mark.long
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_row_of_a_study_composes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIAYN_SWEEP", raising=False)
    multirun = compose_command("train", sweep_words(path))
    assert HydraConfig.get().mode is RunMode.MULTIRUN
    assert multirun.identity.sweep == path.stem
    rows = [compose_command("train", [*sweep_words(path), *words]) for words in study(path).rows.values()]
    assert len({row.identity.hash for row in rows}) == len(rows)
    if path in LAB:  # the last three validations are compared, the last one after all steps
        assert all(row.optimization.max_steps == 40 * row.optimization.validation_interval for row in rows)


def test_the_lab_has_every_row_of_the_paper_and_tests_its_every_claim() -> None:
    studies = [study(path) for path in LAB]
    assert {row for each in studies for row in each.rows} >= {row.id for row in load_table3().rows}
    assert {claim.id for each in studies for claim in each.claims} >= {claim.id for claim in load_claims()}


def test_a_factor_that_pilots_choose_has_to_be_stated() -> None:
    with pytest.raises(InterpolationKeyError, match="to_be_stated"):
        _ = compose_command("train", ["sweeps=lab_big"]).optimization.learning_rate_factor


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_rows_of_claims_have_five_seeds_and_base_has_seeds_of_its_own(path: Path) -> None:
    found = study(path)
    for row in {row for claim in found.claims for row in claim.rows}:
        assert len(found.seeds[row]) >= FEWEST_SEEDS
    if found.claims and path in LAB:
        assert not {*found.seeds["base"]} & {seed for row, own in found.seeds.items() if row != "base" for seed in own}


def test_every_value_of_a_group_is_one_of_its_options() -> None:
    for path in FILES:
        for key, values in swept(path).items():
            assert key == "seed" or "." in key or set(values) <= set(options(key)), path


@pytest.mark.parametrize("path", [*FILES, SEARCH, *STUDIES], ids=lambda path: path.stem)
def test_a_sweep_opens_with_its_command_and_the_number_of_its_runs(path: Path) -> None:
    first, *comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert first == "# @package _global_"
    (command,) = re.findall(r"^# Command: `([^`]+)`", "\n".join(comments), re.MULTILINE)
    program, verb, sweep, *words = shlex.split(command)
    assert [program, verb, sweep] == ["aiayn", "train", f"sweeps={path.stem}"]
    assert all(word.partition("=")[2] in options(word.partition("=")[0]) for word in words)
    (count,) = re.findall(r"^# Cost: (\d+) runs", path.read_text(), re.MULTILINE)
    if path in STUDIES:
        assert int(count) == len(study(path).jobs)
    else:
        trials = yaml.safe_load(path.read_text())["hydra"]["sweeper"].get("trials")
        assert int(count) == (trials or math.prod(map(len, swept(path).values())))


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_the_cost_is_that_of_the_rows(name: str) -> None:
    path = sweeps_directory() / f"{name}.yaml"
    (times,) = re.findall(r"([\d.]+) times the training FLOPs of base", path.read_text())
    cost = sum(map(flops, swept(path)["experiment"])) / flops("table3/base")
    assert round(cost, len(times.partition(".")[2])) == float(times)


@pytest.mark.parametrize("group", ["", *"ABCDE"])
def test_a_sweep_of_table3_is_the_whole_table_or_base_and_a_group(group: str) -> None:
    expected = [row.id for row in load_table3().rows if not group or row.group in ("base", group)]
    assert rows(f"table3_{group.lower()}" if group else "table3") == expected


def test_smoke_tries_a_row_of_every_group() -> None:
    groups = [load_table3().row(row).group for row in rows("smoke")]
    assert sorted(groups) == sorted({row.group for row in load_table3().rows})


def test_depth_against_width_has_the_layers_parameters_of_base() -> None:
    def of_layers(experiment: str) -> int:
        config = composed(f"experiment={experiment}", "scale=paper")
        return model_cost(config.model, vocabulary_size=0).parameters

    base = of_layers("table3/base")
    experiments = swept(sweeps_directory() / "depth_width.yaml")["experiment"]
    assert "table3/base" in experiments
    assert all(abs(of_layers(each) / base - 1) < 0.06 for each in experiments)
