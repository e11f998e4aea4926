"""Table 4 with ours beside the paper's: of its treebank alone in its column, others apart under their own names."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from aiayn.commands.front_end import main
from aiayn.config.freeze import frozen_text
from aiayn.config.schema import TrainConfig
from aiayn.config.third_parties import trial_reason
from aiayn.errors import UserError
from aiayn.evaluation.bracket_counts import BracketScores, SentenceBrackets
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.extensions.parsing.table4 import SENTENCES_OF_SECTION_23, Parsers, grids, read_table4, remarks
from aiayn.paper.tables import load_table4
from aiayn.runs.record import Record, RecordedBrackets, RecordedSearch, SplitScores, Status, json_text, read_record
from aiayn.system import files

MakeRun = Callable[..., Path]

OWN = RecordedSearch(21, "gnmt", 0.3, 300, "candidates", constrained=False)
"""The search of the runs themselves."""


@pytest.fixture
def make_parser(tmp_path: Path, make_record: Callable[..., Record], frozen_row: Callable[..., TrainConfig]) -> MakeRun:
    """A run of an experiment of the table, by default a finished one on the Wall Street Journal.

    Its configuration is that of some run.
    """

    def make(
        experiment: str,
        f1: float = 90.0,
        *overrides: str,
        data: str = "wsj",
        seed: int = 1,
        sentences: int = SENTENCES_OF_SECTION_23,
        tagging_accuracy: float | None = None,
        **changes: Any,
    ) -> Path:
        folder = tmp_path / "runs" / f"table4/{experiment}/{changes.get('scale', 'demo')}-seed{seed}-{data:0<8.8}"
        config = dataclasses.replace(frozen_row("table3/base", *overrides), seed=seed)
        files.write_text(folder / "config.yaml", frozen_text(config))
        brackets = RecordedBrackets(f1, f1 - 1, f1 + 1, 40.0, tagging_accuracy, 97.5, "prm:collins")
        scores = SplitScores(
            ppl=1.5,
            bleu=None,
            chrf=None,
            sentences=sentences,
            checkpoint_step=12,
            seconds=1.0,
            hypotheses="evaluations/step-0000012/test.hypotheses.txt",
            brackets=brackets,
            search=OWN,
        )
        fields: dict[str, Any] = {
            "name": folder.name,
            "experiment": f"table4/{experiment}",
            "seed": seed,
            "data": data,
            "data_fingerprint": f"{data}-{experiment}",
            "scores": {"test": scores},
            "trial": trial_reason(config.trainer),
        }
        make_record(**fields | changes).write(folder / "run.json")
        note_sentences(folder, [3, 5] * (sentences // 2), lambda length: 8)
        return folder

    return make


def read(folder: Path, scale: str | None = None, data: str | None = None) -> Parsers:
    return read_table4(folder / "runs", scale=scale, data=data)


def ours(report: Parsers) -> dict[str, str]:
    """What stands beside each kind of training of the Transformer."""
    table = next(grids(report))
    return {line[1]: line[3] for group in table.groups for line in group if line[0].startswith("Transformer")}


def treebanks(report: Parsers) -> dict[tuple[str, ...], dict[str, str]]:
    """The scores of treebank and experiment, by heading."""
    _, table, *_ = grids(report)
    return {line[:2]: dict(zip(table.headings[2:], line[2:], strict=True)) for group in table.groups for line in group}


def test_all_twelve_parsers_stand_as_printed_with_or_without_ours(tmp_path: Path, make_parser: MakeRun) -> None:
    printed = [(row.label, row.group, str(row.f1)) for row in load_table4().rows]
    assert len(printed) == 12
    for _ in range(2):
        table = next(grids(read(tmp_path)))
        assert [line[:3] for group in table.groups for line in group] == printed
        make_parser("wsj_only")


def test_ours_stand_in_their_own_rows(tmp_path: Path, make_parser: MakeRun) -> None:
    make_parser("wsj_only", 90.25)
    make_parser("semi_supervised", 91.75, data="wsj_silver")
    report = read(tmp_path)
    assert treebanks(report).keys() == {("wsj", "wsj_only"), ("wsj", "semi_supervised")}
    assert ours(report) == {"WSJ only": "90.25 *", "semi-supervised": "91.75 *"}, "of scale demo"
    assert "* wsj_only on wsj: not of the paper's scale, so ours is not the paper's parser" in remarks(report)
    (sizes,) = (line for line in remarks(report) if line.startswith("wsj_only on wsj: trained here"))
    assert sizes.endswith("; in the paper with N=4, d_model=1024")
    assert not any("does not compare" in line for line in remarks(report))
    others = [line for group in next(grids(report)).groups for line in group if not line[0].startswith("Transformer")]
    assert {line[3] for line in others} == {""}


def test_another_treebank_stands_apart_under_its_own_name(tmp_path: Path, make_parser: MakeRun) -> None:
    make_parser("wsj_only", 70.5, data="gum", sentences=1464, tagging_accuracy=93.0)
    report = read(tmp_path)
    assert set(ours(report).values()) == {""}
    (scores,) = treebanks(report).values()
    assert treebanks(report).keys() == {("gum", "wsj_only")}
    assert (scores["sentences"], scores["F1"], scores["precision"], scores["recall"]) == (
        "1,464",
        "70.50",
        "69.50",
        "71.50",
    )
    assert (scores["tagging accuracy"], scores["well-formed"]) == ("93.00", "97.50")
    assert "wsj_only on gum: not section 23 of the Wall Street Journal, so ours does not compare" in "\n".join(
        remarks(report)
    )


def test_the_papers_treebank_comes_first_and_no_line_mixes_two(tmp_path: Path, make_parser: MakeRun) -> None:
    for data in ("gum", "wsj", "ewt"):
        make_parser("wsj_only", data=data)
    assert [treebank for treebank, _ in treebanks(read(tmp_path))] == ["wsj", "ewt", "gum"]
    assert [treebank for treebank, _ in treebanks(read(tmp_path, data="gum"))] == ["gum"]


def note_sentences(folder: Path, lengths: Sequence[int], matched: Callable[[int], int]) -> None:
    """Write what a run scored on sentences of these lengths: so many of ten brackets of each."""
    rows = [
        SentenceScores(
            nll=1.0,
            tokens=2,
            bleu_statistics=(),
            source_tokens=length,
            brackets=SentenceBrackets(
                length, BracketScores(sentences=1, matched=matched(length), gold=10, predicted=10)
            ),
        )
        for length in lengths
    ]
    write_sentence_scores(folder / "evaluations/step-0000012/test.sentences.jsonl", rows)


def test_f1_by_length_has_a_column_for_each_experiment_of_a_treebank(tmp_path: Path, make_parser: MakeRun) -> None:
    lengths = [*range(1, 51)]
    note_sentences(make_parser("wsj_only", seed=1, sentences=50), lengths, lambda length: 9 if length <= 40 else 4)
    note_sentences(make_parser("wsj_only", seed=2, sentences=50), lengths, lambda length: 7 if length <= 40 else 4)
    note_sentences(make_parser("semi_supervised", data="wsj_silver", sentences=50), lengths, lambda length: 10)
    make_parser("wsj_only", data="gum")
    report = read(tmp_path)
    table = [grid for grid in grids(report) if "by length" in grid.title]
    assert [grid.title for grid in table] == [f"F1 on {name} by length of the sentence" for name in ("wsj", "gum")]
    assert table[0].headings == ("<words", "sentences", "wsj_only", "semi_supervised")
    lines = {line[0]: line[1:] for group in table[0].groups for line in group}
    assert lines["at most 40"] == ("40", "80.00 ± 14.14", "100.00")
    *parts, _ = lines.values()
    assert sum(int(count) for count, *_ in parts) == len(lengths)
    assert next(iter(lines)).startswith("1 to ")
    assert parts[-1][1:] == ("40.00 ± 0.00", "100.00")


def evaluate_again(folder: Path, search: RecordedSearch | None, f1: float, **changes: Any) -> None:
    """Leave what `aiayn evaluate` leaves: the run's scores with another search and F1."""
    own = read_record(folder / "run.json").scores["test"]
    assert own.brackets is not None
    scores = dataclasses.replace(own, search=search, brackets=dataclasses.replace(own.brackets, f1=f1), **changes)
    name = f"{len(list(folder.glob('evaluations/*')))}"
    files.write_text(folder / "evaluations" / name / "scores.json", json_text({"test": dataclasses.asdict(scores)}))


def test_other_searches_stand_below_the_runs_own(
    tmp_path: Path, make_parser: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    constrained = dataclasses.replace(OWN, constrained=True)
    folders = [make_parser("wsj_only", f1, data="gum", seed=seed) for seed, f1 in ((1, 60.0), (2, 62.0))]
    for folder, f1 in zip(folders, (70.0, 72.0), strict=True):
        evaluate_again(folder, OWN, f1=1.0)  # what the run did itself
        evaluate_again(folder, constrained, f1=f1)
        evaluate_again(folder, constrained, f1=2.0, checkpoint_step=6)
        evaluate_again(folder, constrained, f1=3.0, averaged_steps=(6, 12))
        evaluate_again(folder, constrained, f1=4.0, sentences=10)
        evaluate_again(folder, constrained, f1=5.0, engine="ensemble2-0123")
        evaluate_again(folder, None, f1=6.0)  # of an older version
    evaluate_again(folders[1], dataclasses.replace(OWN, beam_size=4, length_penalty_alpha=0.6), f1=50.0)
    evaluate_again(folders[1], dataclasses.replace(OWN, length_penalty="power"), f1=51.0)
    _, table, *_ = grids(read(tmp_path))
    assert table.headings[2:6] == ("<search", "sentences", "seeds", "F1")
    (lines,) = table.groups
    assert [(line[2], *line[4:6]) for line in lines] == [
        ("beam 21", "2", "61.00 ± 1.41"),
        ("beam 21, constrained", "2", "71.00 ± 1.41"),
        ("beam 4, alpha 0.6", "1", "50.00"),
        ("beam 21, length penalty power", "1", "51.00"),
    ]
    assert main(["report", "table4", f"paths.runs={tmp_path / 'runs'}", f"output={tmp_path / 'table4.json'}"]) == 0
    first, _ = json.loads((tmp_path / "table4.json").read_text(encoding="utf-8"))["ours"]
    assert [each["search"]["constrained"] for each in first["searches"]] == [False, True]
    assert [each["scores"]["f1"] for each in first["searches"]] == [60.0, 70.0]
    files.write_text(folders[0] / "evaluations/1/scores.json", "{")
    capsys.readouterr()
    assert main(["report", "table4", f"paths.runs={tmp_path / 'runs'}"]) == 2
    assert "evaluations/1/scores.json: not JSON" in capsys.readouterr().err


def test_what_is_not_finished_says_so(tmp_path: Path, make_parser: MakeRun) -> None:
    make_parser("semi_supervised", status=Status.interrupted, scores={})
    report = read(tmp_path)
    assert ours(report) == {"WSJ only": "", "semi-supervised": "interrupted"}
    assert len(list(grids(report))) == 1
    assert list(remarks(report)) == ["no run has finished: aiayn reproduce table4 does one"]


def test_runs_that_do_not_compare_are_refused_until_one_kind_is_chosen(tmp_path: Path, make_parser: MakeRun) -> None:
    make_parser("wsj_only")
    make_parser("semi_supervised", scale="nano")
    with pytest.raises(UserError, match=r"^scale differs, nano in .* and demo in .*: choose with only\.scale="):
        read(tmp_path)
    assert len(read(tmp_path, scale="nano")[0].runs) == 1
    make_parser("semi_supervised", scale="nano", seed=2, data_fingerprint="e" * 64)
    with pytest.raises(UserError, match=r"^data differs, "):
        read(tmp_path, scale="nano")
    assert len(read(tmp_path, scale="nano", data="eeee")[0].runs) == 1


def test_runs_on_one_treebank_are_tested_on_the_same_trees(tmp_path: Path, make_parser: MakeRun) -> None:
    note_sentences(make_parser("wsj_only", data="gum", sentences=2), [3, 5], lambda length: 9)
    other = make_parser("semi_supervised", data="gum_silver", sentences=2)
    note_sentences(other, [3, 5], lambda length: 8)
    assert len(treebanks(read(tmp_path))) == 2
    note_sentences(other, [5, 3], lambda length: 8)
    with pytest.raises(UserError, match=r"^data\.test differs, 2 trees of gum_silver in .*data\.name=.*only\.data="):
        read(tmp_path)
    note_sentences(other, [3], lambda length: 8)
    assert [parser.experiment for parser in read(tmp_path)] == ["table4/wsj_only"], "the damaged run is left out"


def test_a_seed_that_is_there_twice_is_refused_by_what_sets_the_runs_apart(
    tmp_path: Path, make_parser: MakeRun
) -> None:
    first = make_parser("wsj_only", data="gum")
    twin = first.with_name("moved")
    for change, complaint in (
        ([], r"^seed 1 of table4/wsj_only is there more than once, in "),
        (["model.dropout=0.3"], r"^model\.dropout differs, 0\.3 in .* and 0\.1 in "),
    ):
        make_parser("wsj_only", 90.0, *change, data="gum").rename(twin)
        make_parser("wsj_only", data="gum")
        with pytest.raises(UserError, match=complaint):
            read(tmp_path)
        shutil.rmtree(twin)


def test_other_parts_of_the_journal_are_remarked(tmp_path: Path, make_parser: MakeRun) -> None:
    make_parser("wsj_only", data_counts={"train": {"pairs": 320}}, sentences=1700)
    said = list(remarks(read(tmp_path)))
    assert "wsj_only on wsj: trained on 320 trees; sections 02 to 21 have 39,832" in said
    assert any("wsj_only on wsj: not section 23" in line for line in said)
    assert set(ours(read(tmp_path)).values()) == {""}
    make_parser("wsj_only", data_counts={"train": {"pairs": 39832}})
    assert not any("sections 02 to 21" in line for line in remarks(read(tmp_path)))


def test_seeds_that_were_set_up_or_counted_differently_share_no_number(tmp_path: Path, make_parser: MakeRun) -> None:
    make_parser("wsj_only", 90.0, seed=1)
    other = make_parser("wsj_only", 92.0, "decoding.beam_size=7", seed=2)
    with pytest.raises(UserError, match=r"^decoding\.beam_size differs, 7 in .* and 4 in .*: no column holds both"):
        read(tmp_path)
    shutil.rmtree(other)
    make_parser("wsj_only", 92.0, seed=2, sentences=2000)
    with pytest.raises(UserError, match=r"^number of test sentences differs, 2000 in .* and 2416 in "):
        read(tmp_path)


def test_every_format_has_all_of_it(tmp_path: Path, make_parser: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_parser("wsj_only", 90.25)
    note_sentences(folder, [*range(1, 41), *[41] * (SENTENCES_OF_SECTION_23 - 40)], lambda length: 8)
    words = ["report", "table4", f"paths.runs={tmp_path / 'runs'}"]
    for suffix in (".md", ".tex", ".json"):
        assert main([*words, f"output={tmp_path / 'table4'}{suffix}"]) == 0
    markdown = (tmp_path / "table4.md").read_text(encoding="utf-8")
    assert "| Transformer (4 layers) | WSJ only | 91.3 | 90.25 * |" in markdown
    assert str(folder) in markdown
    content = json.loads((tmp_path / "table4.json").read_text(encoding="utf-8"))
    assert content["paper"]["transformer_semi"] == 92.7
    assert content["ours"][0]["scores"]["f1"] == 90.25
    assert content["ours"][0]["searches"][0]["f1_by_length"]["at most 40"] == {"sentences": 40, "f1": 80.0}
    assert content["ours"][0]["is_on_section_23"] is True
    assert "Huang" in (tmp_path / "table4.tex").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(words) == 0
    assert "90.25" in capsys.readouterr().out
