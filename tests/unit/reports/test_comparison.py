import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiayn.commands.front_end import main
from aiayn.config.report_schema import OnlyComparedConfig
from aiayn.errors import UserError
from aiayn.evaluation.bleu import bleu_from_statistics
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.reports import formats
from aiayn.reports.comparison import Comparison, compare
from aiayn.reports.comparison_grids import document, grids
from aiayn.reports.formats import FORMATS, markdown
from aiayn.runs.directory import RunDirectory

MakeRun = Callable[..., Path]


def compared(folder: Path, **changes: Any) -> Comparison:
    against = changes.pop("against", None)
    only = OnlyComparedConfig(**dict.fromkeys(("scale", "data", "like", "sweep", "experiment")) | changes)
    return compare(folder / "runs", only, against=against)


def test_columns_are_what_differs_and_systems_hold_their_seeds(tmp_path: Path, make_run: MakeRun) -> None:
    make_run("base", seed=1)
    make_run("base", seed=2)
    make_run("d_drop0", match=0.5)
    make_run("base", "model.dropout=0.0", "optimization.label_smoothing=0.0", match=0.6)
    comparison = compared(tmp_path)
    assert comparison.columns == ["experiment", "model.dropout", "optimization.label_smoothing"]
    assert comparison.differing == comparison.columns[1:]
    assert [len(system.runs) for system in comparison.systems] == [1, 2, 1]
    of_base = comparison.systems[comparison.reference or 0]
    assert (of_base.settings["experiment"], of_base.settings["model.dropout"]) == ("table3/base", 0.1)
    for number in range(len(comparison.systems)):
        effects = comparison.differences(number)
        assert (not effects) == (number == comparison.reference)
        for effect in effects.values():
            assert effect.low is not None
            assert effect.high is not None
            assert effect.low <= effect.estimate <= effect.high


def test_a_name_that_only_one_has_stands_for_what_it_states(tmp_path: Path, make_run: MakeRun) -> None:
    make_run("base")
    make_run("d_drop0")
    make_run("c_n2", "model.norm=pre", "model.attention=additive")
    comparison = compared(tmp_path)
    assert comparison.columns == ["experiment"]
    meanings = next(grid for grid in grids(comparison) if grid.title == "Settings by name")
    (lines,) = meanings.groups
    told = {line[0]: line[1] for line in lines}
    assert told["table3/d_drop0"] == "dropout 0.0"
    assert told["table3/c_n2"] == "num_layers 1, attention additive, norm pre"
    assert told["table3/base"] == "num_layers 3, dropout 0.1, attention scaled_dot, norm post"


@pytest.mark.parametrize("by_experiment", [False, True])
def test_two_keys_make_a_grid(tmp_path: Path, make_run: MakeRun, *, by_experiment: bool) -> None:
    for place, row in enumerate(("base", "d_drop0")):
        for smoothing in ("0.0", "0.2"):
            made = [f"optimization.label_smoothing={smoothing}"]
            made += [] if by_experiment else [f"model.dropout=0.{2 * place}"]
            make_run(row if by_experiment else "base", *made, nll=1 + 0.2 * place + float(smoothing))
    comparison = compared(tmp_path)
    ppl = next(grid for grid in grids(comparison) if grid.title.startswith("PPL: "))
    assert ppl.headings == ("<experiment" if by_experiment else "<dropout", "0.0", "0.2")
    (lines,) = ppl.groups
    assert [line[0] for line in lines] == (["table3/base", "table3/d_drop0"] if by_experiment else ["0.0", "0.2"])
    values = [[float(cell) for cell in line[1:]] for line in lines]
    assert values[0] == sorted(values[0])
    assert all(first < second for first, second in zip(*values, strict=True))


def test_lists_of_files_are_values_of_a_grid(tmp_path: Path, make_run: MakeRun) -> None:
    sides = ("train.target", "dev.source", "dev.target", "test.source", "test.target")
    own = ("data=text_files", *(f"data.{side}=file" for side in sides))
    for dropout in ("0.0", "0.2"):
        for sources in ("[a,b]", "[a,c]"):
            make_run("base", *own, f"data.train.source={sources}", f"model.dropout={dropout}", nll=1 + float(dropout))
    ppl = next(grid for grid in grids(compared(tmp_path)) if grid.title.startswith("PPL: "))
    (lines,) = ppl.groups
    assert {*ppl.headings[1:], *(line[0] for line in lines)} == {"['a', 'b']", "['a', 'c']", "0.0", "0.2"}
    assert all(all(line) for line in lines)


def seeds_and_code(folder: Path) -> tuple[str, str]:
    """What the page says of seeds and of commits."""
    content = json.loads(FORMATS[".json"](document(compared(folder))))
    page = markdown(document(compared(folder)))
    (seeds,) = (line for line in content["remarks"] if line.startswith("reference: "))
    (code,) = (line for line in content["remarks"] if line.startswith("code: "))
    assert f"- {seeds}\n" in page
    assert f"- {code}\n" in page
    return seeds, code


def test_without_two_seeds_there_are_no_intervals_and_commits_are_named(tmp_path: Path, make_run: MakeRun) -> None:
    make_run("base", commit="a" * 40, dirty=False)
    make_run("d_drop0", match=0.5, commit="a" * 40, dirty=False)
    seeds, code = seeds_and_code(tmp_path)
    assert "no intervals: every system has one seed" in seeds
    assert code == f"code: commit {'a' * 12}"
    make_run("base", seed=2, commit="b" * 40, dirty=False)
    seeds, code = seeds_and_code(tmp_path)
    assert "include the standard deviation between seeds" in seeds
    assert seeds.endswith("; systems with one seed: 1 of 2")
    assert f"commit {'b' * 12}: " in code


def test_buckets_share_out_all_sentences_by_the_length_of_their_source(tmp_path: Path, make_run: MakeRun) -> None:
    lengths = [3, 3, 4, 9, 9, 9, 12, 20, 21, 40]
    run = make_run("base", source_lengths=lengths)
    comparison = compared(tmp_path)
    rows = read_sentence_scores(next(run.glob("evaluations/*/dev.sentences.jsonl")))
    seen = 0
    for bucket in comparison.buckets:
        inside = [row for row in rows if bucket.shortest <= (row.source_tokens or 0) <= bucket.longest]
        seen += len(inside)
        expected = bleu_from_statistics(np.array([row.bleu_statistics for row in inside]))
        assert bucket.bleu[0] == pytest.approx(expected, abs=1e-9)
    assert seen == len(rows)


def test_lengths_that_training_had_are_kept_apart_from_longer_ones(tmp_path: Path, make_run: MakeRun) -> None:
    lengths = [3, 3, 4, 9, 9, 9, 12, 20, 21, 40]
    for row in ("base", "e_learned"):
        make_run(row, "data.max_length=10", source_lengths=lengths)
    comparison = compared(tmp_path)
    heard = [bucket for bucket in comparison.buckets if not bucket.is_unseen]
    assert max(bucket.longest for bucket in heard) == 9
    assert [bucket.is_unseen for bucket in comparison.buckets] == sorted(b.is_unseen for b in comparison.buckets)
    by_length = next(grid for grid in grids(comparison) if grid.title.startswith("BLEU by"))
    assert [heading.endswith(" *") for heading in by_length.headings] == [
        False,
        *(bucket.is_unseen for bucket in comparison.buckets),
    ]
    make_run("c_n2", "data.max_length=30", source_lengths=lengths)
    assert [bucket.shortest for bucket in compared(tmp_path).buckets if bucket.is_unseen] == [40]


def test_with_two_limits_of_training_no_bucket_crosses_the_larger_one(tmp_path: Path, make_run: MakeRun) -> None:
    lengths = [3, 3, 4, 9, 9, 9, 12, 16, 20, 21, 40]
    for row, limit in (("base", 15), ("e_learned", 16)):  # both are nearest to the same quantile, 12
        make_run(row, f"data.max_length={limit}", source_lengths=lengths)
    assert all(bucket.is_unseen == (bucket.longest > 16) for bucket in compared(tmp_path).buckets)


def test_runs_of_a_sweep_or_of_some_experiments_alone(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run("base")
    make_run("a_h1")
    make_run("c_n2")
    names = {system.settings["experiment"] for system in compared(tmp_path, experiment=["*/a_*", "*/c_n2"]).systems}
    assert names == {"table3/a_h1", "table3/c_n2"}
    with pytest.raises(UserError, match=r"^only\.sweep=nothing: no finished run on translations below "):
        compared(tmp_path, sweep="nothing")
    for row, sweeps in (("base", ["first", "second"]), ("a_h1", ["first"]), ("c_n2", ["second", "second"])):
        directory = RunDirectory(next((tmp_path / f"runs/table3/{row}").iterdir()))
        for sweep in sweeps:
            directory.join_sweep(sweep)
        assert directory.sweeps == list(dict.fromkeys(sweeps))
    for asked, expected in (("first", {"base", "a_h1"}), ("s*", {"base", "c_n2"}), (["first", "second"], None)):
        names = {system.settings["experiment"] for system in compared(tmp_path, sweep=asked).systems}
        assert names == {f"table3/{row}" for row in expected or ("base", "a_h1", "c_n2")}
    against = str(next((tmp_path / "runs/table3/a_h1").iterdir()))
    comparison = compared(tmp_path, against=against)
    assert comparison.systems[comparison.reference or 0].settings["experiment"] == "table3/a_h1"
    with pytest.raises(UserError, match="not among the runs"):
        compared(tmp_path, experiment="table3/c_n2", against=against)


@pytest.mark.long
def test_rows_and_the_reference_are_told_by_name_on_a_narrow_terminal(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(formats, "WIDTH_OF_A_FILE", 80)
    made = ("model.dropout=0.0", "optimization.label_smoothing=0.0", "model.positions=learned", "model.num_heads=1")
    make_run("base")
    make_run("c_d1024", *made)
    make_run("c_ff1024", *made)
    make_run("c_ff1024", *made[1:])
    assert main(["report", "comparison", f"paths.runs={tmp_path / 'runs'}"]) == 0
    out = capsys.readouterr().out
    for name in ("table3/base", "table3/c_d1024", "table3/c_ff1024"):
        assert name in out
    assert "…" not in out
    assert "reference: table3/base, " in out
    assert "dropout 0.1" in out.partition("reference: ")[2]
    assert main(["report", "comparison", f"paths.runs={tmp_path / 'runs'}", "only.experiment=*/c_d1024"]) == 0
    assert "table3/c_d1024" in capsys.readouterr().out, "one alone has a name, too"


def test_what_does_not_compare_is_refused(tmp_path: Path, make_run: MakeRun) -> None:
    make_run("base")
    make_run("a_h1", data_fingerprint="0" * 64)
    with pytest.raises(UserError, match=r"data differs.*only\.data=") as refused:
        compared(tmp_path)
    values = re.findall(r"only\.data=(\w+)", str(refused.value))
    assert sorted(values) == ["0" * 12, "f" * 12], "both have the same name"
    for value in values:
        assert len(compared(tmp_path, data=value).systems) == 1


@pytest.mark.long
def test_the_command_writes_pages(
    tmp_path: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run("base", source_lengths=[3, 5, 9])
    make_run("c_n2", nll=2.5, source_lengths=[3, 5, 9])
    for name in ("page.md", "page.json"):
        assert main(["report", "comparison", f"output={name}", "only.experiment=table3/*"]) == 0
    systems = json.loads((tmp_path / "page.json").read_text())["systems"]
    assert [system["num_layers"] if "num_layers" in system else system["model.num_layers"] for system in systems]
    page = (tmp_path / "page.md").read_text()
    assert "table3/c_n2" in page
    assert "BLEU by source length in tokens" in page
    assert main(["report", "comparison", "output=page.tex"]) == 2
    assert "choose from .md, .json" in capsys.readouterr().err


@pytest.mark.parametrize("damaged", ["evaluations/*/dev.sentences.jsonl", "config.yaml"])
def test_a_damaged_run_is_named_and_the_others_are_compared(
    tmp_path: Path, make_run: MakeRun, caplog: pytest.LogCaptureFixture, damaged: str
) -> None:
    (path,) = make_run("base").glob(damaged)
    path.write_text("{}")
    make_run("a_h1")
    assert [run.record.experiment for run in compared(tmp_path).runs] == ["table3/a_h1"]
    (line,) = caplog.messages
    assert line.startswith(f"left out: {path}")
