"""The report of costs adds up accounts, and keeps the paper's column to the paper's definition."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from aiayn.commands.front_end import main
from aiayn.config.report_schema import OnlyComparedConfig
from aiayn.errors import UserError
from aiayn.paper.tables import load_table2
from aiayn.reports.cost import PAPERS, costs_of_runs, grids, total_of
from aiayn.reports.numbers import operations
from aiayn.runs.cost import Attempt, Basis, Devices, RunCost, Total
from aiayn.runs.record import Status

MakeRun = Callable[..., Path]

P100 = Devices("Tesla P100-SXM2-16GB", 8, 9.5e12, 9.5e12, Basis.paper)
FULL = Attempt(
    "2026-11-22T00:00:00+00:00",
    (P100,),
    price_per_device_hour=0.5,
    currency="USD",
    training_seconds=40_000.0,
    validation_seconds=3_200.0,
    evaluation_seconds=600.0,
    flops=9e17,
    gpu_joules=7.2e6,
)
ALL = OnlyComparedConfig(**dict.fromkeys(("scale", "data", "like", "sweep", "experiment")))


def test_each_run_has_a_line_and_all_have_a_sum(tmp_path: Path, make_run: MakeRun) -> None:
    cut = Attempt(FULL.started, (P100,), 0.5, "USD", training_seconds=100.0, flops=2e15, gpu_joules=0.0)
    make_run("base", cost=RunCost.of([cut, FULL]), seconds=43_200.0, hardware={"processor": "x"})
    make_run("a_h1", cost=RunCost.of([FULL]), seconds=43_200.0, hardware={"processor": "x"})
    runs = costs_of_runs(tmp_path / "runs", ALL)
    assert total_of(runs) == Total.of([FULL, cut, FULL])
    times, counts, papers = grids(runs)
    lines, (together,) = times.groups
    by_name = {line[0]: dict(zip(times.headings, line, strict=True)) for line in (*lines, together)}
    assert by_name["table3/base nano seed 1"]["attempts"] == "2"
    assert by_name["table3/base nano seed 1"]["lost"] == "1 min 40 s"
    assert by_name["table3/a_h1 nano seed 1"]["lost"] == ""
    assert by_name["2 runs"]["GPU kWh"] == "4"
    assert by_name["2 runs"]["CPU kWh"] == ""
    assert by_name["2 runs"]["price"].endswith(" USD")
    (_, of_base), (of_all,) = counts.groups
    assert dict(zip(counts.headings, of_base, strict=True))["<sustained"] == "9.5 TFLOP/s paper"
    assert of_all[2] == operations(total_of(runs).paper_flops or 0.0)
    assert PAPERS in papers.title
    assert len(papers.groups[0]) == len(load_table2().rows)


def test_the_papers_base_model_on_the_papers_machine_costs_as_printed(tmp_path: Path, make_run: MakeRun) -> None:
    make_run("base", cost=RunCost.of([FULL]), hardware={"processor": "x"})
    *_, papers = grids(costs_of_runs(tmp_path / "runs", ALL))
    printed = {line[0]: line for line in papers.groups[0]}["Transformer (base model)"]
    assert papers.groups[1][-1][-1] == printed[1]


def test_a_killed_attempt_counts_before_it_is_resumed(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run("base", cost=None, hardware={"processor": "x"}, status=Status.failed, seconds=0.0)
    (folder / ".cost.json").write_text(json.dumps(asdict(RunCost.of([FULL]))))
    (run,) = costs_of_runs(tmp_path / "runs", ALL)
    assert run.account == RunCost.of([FULL])


def test_runs_are_chosen_as_for_a_comparison(tmp_path: Path, make_run: MakeRun) -> None:
    for row in ("base", "a_h1", "c_n2"):
        make_run(row, cost=RunCost.of([FULL]), hardware={"processor": "x"})
    only = replace(ALL, experiment=["*/a_*", "*/c_*"], scale="nano", data="ffff")
    assert len(costs_of_runs(tmp_path / "runs", only)) == 2
    for keys in ({"experiment": "mine"}, {"scale": "paper"}, {"data": "0"}, {"sweep": "seeds"}):
        only = OnlyComparedConfig(**{**vars(ALL), **keys})
        with pytest.raises(UserError, match=rf"^only\.{next(iter(keys))}=.*: no run below .* has begun to train"):
            costs_of_runs(tmp_path / "runs", only)


def test_the_command_prints_and_writes(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run("base", cost=RunCost.of([FULL]), hardware={"processor": "x"})
    for words in ([], ["output=cost.md"], ["output=cost.json"]):
        assert main(["report", "cost", *words]) == 0
    assert "GNMT + RL Ensemble" in capsys.readouterr().out
    assert "| table3/base nano seed 1 | finished | 1 | 8 × Tesla P100" in (tmp_path / "cost.md").read_text()
    content = json.loads((tmp_path / "cost.json").read_text())
    assert content["runs"][0]["total"] == content["total"]
    printed = {system.id: system.flops_en_de.value for system in load_table2().rows}
    assert {name: costs["flops_en_de"] for name, costs in content["paper"].items()} == printed
    assert main(["report", "cost", "only.like=x"]) == 2
    assert "report cost chooses runs by only.scale" in capsys.readouterr().err
