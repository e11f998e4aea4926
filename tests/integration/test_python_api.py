"""A program gets from a run what the commands print."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import Say
from run_files import copied_run, metrics

import aiayn
from aiayn.config.model_schema import TransformerConfig
from aiayn.data.preparation.prepared import PreparedData
from aiayn.runs.record import read_record

pytestmark = pytest.mark.slow

RANDOM = 1
"""The checkpoint whose answers differ; see the fixture of the run."""


@pytest.fixture(scope="module")
def sources(trained_data: PreparedData) -> list[str]:
    return [*trained_data.split("test").source_lines()][:4]


@pytest.fixture(scope="module")
def targets(trained_data: PreparedData) -> list[str]:
    return [*trained_data.split("test").target_lines()][:4]


@pytest.fixture(scope="module")
def run(trained_run: Path) -> aiayn.Run:
    return aiayn.load(trained_run, checkpoint=RANDOM, device="cpu", decoding={"beam_size": 2, "max_extra_length": 3})


def test_record_configuration_and_metrics_are_those_of_the_files(run: aiayn.Run, trained_run: Path) -> None:
    assert run.path == trained_run
    assert run.record == read_record(trained_run / "run.json")
    assert run.config.identity.hash == run.record.config_hash
    assert run.metrics == metrics(trained_run)
    assert run.record.status.value in repr(run)


def test_translations_and_scores_are_the_commands(
    run: aiayn.Run, sources: list[str], targets: list[str], say: Say
) -> None:
    words = (f"run={run.path}", f"checkpoint={RANDOM}", "device=cpu")
    lines = [*sources, ""]
    said = say(
        "translate",
        *words,
        "decoding.beam_size=2",
        "decoding.max_extra_length=3",
        given="".join(f"{line}\n" for line in lines),
    )
    assert run.translate(lines) == said.lines
    said = say("score", *words, given="".join(map("{}\t{}\n".format, sources, targets)))
    expected = [json.loads(line) for line in said.lines]
    scores = run.score(sources, targets)
    assert [score.tokens for score in scores] == [each["tokens"] for each in expected]
    assert [score.nll for score in scores] == pytest.approx([each["nll"] for each in expected], rel=1e-5)


def test_the_model_is_loaded_once(trained_run: Path, tmp_path: Path, sources: list[str]) -> None:
    copy = copied_run(trained_run, tmp_path / "runs")
    run = aiayn.load(copy, checkpoint=RANDOM)
    first = run.translate(sources)
    for path in copy.glob("checkpoints/*"):
        path.unlink()
    assert run.translate(sources) == first
    with pytest.raises(aiayn.UserError, match="no checkpoint"):
        aiayn.load(copy).translate(sources)


def test_numbers_of_numpy_are_settings(trained_run: Path, sources: list[str]) -> None:
    own, numpys = (
        aiayn.load(trained_run, checkpoint=RANDOM, decoding={"beam_size": beams, "length_penalty_alpha": alpha})
        for beams, alpha in ((2, 0.5), (np.int64(2), np.float32(0.5)))
    )
    assert own.translate(sources) == numpys.translate(sources)


def test_attention_is_a_distribution_over_what_a_position_may_see(
    run: aiayn.Run, sources: list[str], targets: list[str]
) -> None:
    model = run.config.model
    assert isinstance(model, TransformerConfig)
    for target in (targets[0], None):
        seen = run.attention(sources[0], target)
        heads = (model.num_layers, model.num_heads)
        assert seen.encoder.shape == (*heads, len(seen.source), len(seen.source))
        assert seen.decoder.shape == (*heads, len(seen.target), len(seen.target_input))
        assert seen.cross.shape == (*heads, len(seen.target), len(seen.source))
        for weights in (seen.encoder, seen.decoder, seen.cross):
            np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
        assert not np.triu(seen.decoder, k=1).any(), "no position sees a later one"
    words = run.attention(sources[0], targets[0], units="words")
    assert words.source[:-1] == ["My", "cheap", "lamp", "was", "modern", ",", "but", "it", "was", "old", "."]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda run: run.translate("a line"), "lines='a line': must be a list"),
        (lambda run: run.translate(["a", "b\ud800"]), r"lines\[1\]='b\\ud800': has half a character at 1, "),
        (lambda run: run.score(["one"], []), "sources, targets: have 1 and 0 lines"),
        (lambda run: run.attention(" "), "source=' ': has no words"),
        (lambda run: run.attention("word " * 5000), "source, target: one has more than"),
        (lambda run: run.attention("word", units="letters"), "units=letters: choose from words, tokens"),
        (lambda run: run.evaluate(["splits=[train]"]), "splits=train: choose from dev, test"),
        (lambda run: aiayn.load(run.path, decoding={"beam": 2}).translate(["a"]), "decoding.beam: no such key"),
        (lambda run: aiayn.load(run.path, decoding={"beam_size": b"2"}), "decoding.beam_size=b'2': must be a text, a "),
        (lambda run: aiayn.load(run.path, decoding={"beam_size": {1, 2}}), "decoding.beam_size={1, 2}: must be a text"),
        (lambda run: aiayn.load(run.path / "missing"), "run=.*: not a run directory"),
    ],
)
def test_mistakes_are_one_line(run: aiayn.Run, call: object, complaint: str) -> None:
    assert callable(call)
    with pytest.raises(aiayn.UserError, match=f"^{complaint}"):
        call(run)


def test_an_evaluation_repeats_the_scores_of_the_record(trained_run: Path, tmp_path: Path) -> None:
    copy = copied_run(trained_run, tmp_path / "runs")
    before = (copy / "run.json").read_bytes()
    run = aiayn.load(copy)
    scores = run.evaluate(["splits=[test]"])
    assert scores["test"].quality == run.record.scores["test"].quality
    assert (copy / "run.json").read_bytes() == before


def test_the_frame_of_runs_has_the_records_names(trained_run: Path) -> None:
    frame = aiayn.list_runs(trained_run.parents[2])
    record = read_record(trained_run / "run.json")
    (row,) = frame.to_dict("records")
    assert (row["path"], row["state"], row["trial"]) == (str(trained_run), "finished", None)
    assert row["scores.test.bleu.score"] == record.scores["test"].quality.score
    assert row["cost.total.flops"] == record.account.total.flops
    assert row["steps"] == record.steps


def test_trials_and_unreadable_runs_are_marked(trained_run: Path, tmp_path: Path) -> None:
    copy = copied_run(trained_run, tmp_path)
    content = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps({**content, "trial": "trainer.fast_dev_run=true"}))
    broken = tmp_path / "table3" / "broken" / "run"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    frame = aiayn.list_runs(tmp_path).set_index("path")
    assert frame.state.to_dict() == {str(copy): "trial", str(broken): "unreadable"}
    assert frame.trial[str(copy)] == "trainer.fast_dev_run=true"


def test_a_folder_without_runs_has_the_columns_of_runs(tmp_path: Path, trained_run: Path) -> None:
    frame = aiayn.list_runs(tmp_path)
    assert len(frame) == 0
    assert {*frame.columns} <= {*aiayn.list_runs(trained_run.parents[2]).columns}
    for name in ("path", "state", "experiment", "seed", "steps", "seconds", "message"):
        assert frame[name].tolist() == []


def test_pandas_is_asked_for_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(aiayn.UserError, match=r"pandas is not installed.*\[pandas\]"):
        aiayn.list_runs(tmp_path)


def test_a_report_is_what_the_command_writes(trained_run: Path, say: Say, capfd: pytest.CaptureFixture[str]) -> None:
    runs = trained_run.parents[2]
    report = aiayn.report("table3", runs=runs, only={"scale": "demo"})
    assert capfd.readouterr().out == ""
    for suffix in ("md", "json"):
        assert say("report", "table3", f"paths.runs={runs}", "only.scale=demo", f"output=table.{suffix}").code == 0
    assert report.markdown == Path("table.md").read_text()
    assert report.content == json.loads(Path("table.json").read_text())


@pytest.mark.parametrize("noun", ["comparison", "cost", "fidelity", "paper", "parameters", "table2", "table4"])
def test_every_report_has_data_and_a_page(noun: str, trained_run: Path) -> None:
    report = aiayn.report(noun, runs=trained_run.parents[2])
    assert report.content["schema"].startswith(f"aiayn/{noun}/")
    assert len(report.content) > 1
    assert report.markdown.startswith("# ")


@pytest.mark.parametrize(
    ("noun", "keys", "complaint"),
    [
        ("tabel3", {}, "noun=tabel3: did you mean table3?"),
        ("page", {}, "noun=page: is no table of runs"),
        ("table3", {"table": 3}, "table=3: is for report paper"),
        ("comparison", {"only": {"scale": b"x"}}, "only.scale=b'x': must be a text, a number, true or false"),
        ("table2", {"only": {"like": "here"}}, "only.like=here: report table2 chooses runs by"),
    ],
)
def test_a_report_refuses_what_the_command_refuses(noun: str, keys: dict[str, object], complaint: str) -> None:
    with pytest.raises(aiayn.UserError, match=f"^{complaint}"):
        aiayn.report(noun, **keys)  # type: ignore[arg-type]
