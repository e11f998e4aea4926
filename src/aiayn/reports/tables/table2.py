"""Table 2 with ours beside the paper's systems: BLEU by every definition, cost, and verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.matrix import NEAREST_TO_THE_PAPER, TITLES
from aiayn.evaluation.score import Score
from aiayn.evaluation.significance import measure
from aiayn.evaluation.test_sets import SENTENCES_OF_2014
from aiayn.paper.table2_claims import load_table2_claims
from aiayn.paper.tables import PublishedSystem, load_table2, load_table3
from aiayn.reports.budgets import budget_differences, budget_remarks
from aiayn.reports.code_versions import code_versions, version_remarks
from aiayn.reports.comparability import (
    FOLLOWS_STEPS,
    SCALED,
    Difference,
    check_alike,
    check_duplicate_seeds,
    condition_differences,
    setting_differences,
    sizes_remark,
    tested_differences,
)
from aiayn.reports.content import Content
from aiayn.reports.cost import CostOfRun, cost_grids
from aiayn.reports.formats import Document, Evidence, show
from aiayn.reports.grid import Column, Grid
from aiayn.reports.numbers import operations
from aiayn.reports.reported_runs import ReportedRun, RunProvenance, read_runs
from aiayn.reports.run_facts import origin_remarks, seed_grid
from aiayn.reports.systems import System, score_text, systems
from aiayn.reports.tables.table2_claims import (
    JudgedTable2Claim,
    Table2ClaimContent,
    TestedSystem,
    claim_grids,
    judge_claims,
    untested_remarks,
)
from aiayn.runs.cost import RunCost

PREFIX = "table2/"

PAIRS = {"en_de": "EN-DE", "en_fr": "EN-FR"}

ROWS = {"base": "transformer_base", "big": "transformer_big"}
"""Of the table, by the model of the experiment."""

AVERAGED = frozenset({"averaging.checkpoints", "averaging.interval"})
"""Differ between the two models (section 6.1)."""

ELSEWHERE = "*"
"""Marks BLEU that is not of the paper's test set, or not of the paper's sizes."""

REMEDY = "move one of them elsewhere"
"""If two runs of a language pair do not compare."""


@dataclass(frozen=True)
class TestedRun(ReportedRun):
    """A run of an experiment of the table."""

    @property
    def model(self) -> str:
        """Base or big."""
        return self.record.experiment.removeprefix(PREFIX).partition("_")[0]

    @property
    def row(self) -> str:
        """Its row of the table."""
        return ROWS[self.model]

    @property
    def pair(self) -> str:
        """Its languages, as the table's columns are called."""
        return self.record.experiment.partition("_")[2]

    @property
    def bleu(self) -> float | None:
        """By the paper's definition."""
        found = (self.score("test", name) for name in NEAREST_TO_THE_PAPER[self.pair])
        return next((score for score in found if score is not None), None)

    @property
    def flops(self) -> float | None:
        """Training cost by the paper's definition; None for an unknown device."""
        return self.record.account.total.paper_flops

    @property
    def is_on_newstest2014(self) -> bool:
        """Whether its test set is the paper's, by name and size."""
        is_wmt14 = self.record.data == f"wmt14_{self.pair}"
        return is_wmt14 and self.test is not None and self.test.sentences == SENTENCES_OF_2014

    @property
    def is_papers(self) -> bool:
        """Whether it compares with the printed numbers: of the paper's scale, on newstest2014."""
        return self.is_on_newstest2014 and self.record.scale == "paper"

    @property
    def printed_sizes(self) -> dict[str, Any]:
        """The paper's sizes and steps of its row, by configuration key."""
        settings = load_table3().row(self.model).settings(load_table3())
        return {key: value for key, value in settings.items() if key in SCALED}


@dataclass(frozen=True)
class TestedRunContent(RunProvenance):
    """A run of an experiment of the table."""

    is_on_newstest2014: bool
    """Whether its test set is the paper's, by name and size."""
    sentences: int | None
    """The number of sentences of its test set; None until the run has finished."""
    averaged_steps: tuple[int, ...]
    """The steps of the averaged checkpoints; empty without averaging, and until the run has finished."""
    scores: Mapping[str, Score]
    """The scores of the test set, by their definitions; empty until the run has finished."""
    cost: RunCost
    """The cost of the run."""


@dataclass(frozen=True)
class Table2Content(Content):
    """Table 2: aiayn report table2."""

    schema: ClassVar = "table2/1"

    paper: Mapping[str, Mapping[str, float | None]]
    """The paper's cells, by system and column; None where blank."""
    ours: tuple[TestedRunContent, ...]
    """Our runs, finished or not."""
    claims: tuple[Table2ClaimContent, ...]
    """The paper's claims, judged."""
    remarks: tuple[str, ...]
    """Remarks on the table."""


@dataclass(frozen=True)
class Table2Report:
    """Our experiments of the table, and the paper's claims."""

    ours: Sequence[System[TestedRun]]
    """In the table's order, English-German first."""
    claims: Sequence[JudgedTable2Claim]

    @property
    def runs(self) -> list[TestedRun]:
        """All runs, finished or not."""
        return [run for each in self.ours for run in each.runs]

    @property
    def finished(self) -> list[System[TestedRun]]:
        """Those that have scores."""
        return [each for each in self.ours if each.finished]


def report_table2(config: ReportConfig, output: Path | None) -> None:
    """Print the table, write it to a .md, .tex or .json file, or publish it with the data of its runs."""
    report = read_table2(Path(config.paths.runs), scale=config.only.scale, data=config.only.data)
    show(replace(document(report), evidence=Evidence(report.runs, "test")), output)


def read_table2(runs: Path, *, scale: str | None, data: str | None) -> Table2Report:
    """The runs of the table's experiments below a folder, which may be missing.

    Raises:
        UserError: runs of one column do not compare, or a file cannot be read.
    """
    experiments = [f"{PREFIX}{model}_{pair}" for pair in PAIRS for model in ROWS]
    chosen = read_runs(TestedRun, runs, experiments, scale=scale, data=data)
    for pair in PAIRS:
        of_pair = [run for run in chosen if run.pair == pair and run.test is not None]
        check_alike(of_pair, condition_differences)
        check_alike(of_pair, _differences, f"no column holds both; {REMEDY}")
        check_duplicate_seeds(of_pair, lambda run: run.record.experiment, REMEDY)
    ours = systems(chosen, lambda run: run.record.experiment, split="test")
    tested = {(each.runs[0].row, pair): system for pair in PAIRS for each, system in _tested(ours, pair)}
    return Table2Report(ours, judge_claims(load_table2_claims(), tested))


def _differences(run: TestedRun, other: TestedRun) -> Iterator[Difference]:
    """Settings, except those that the paper prints as different between base and big; test sets and definitions."""
    free = AVERAGED | FOLLOWS_STEPS | load_table3().row("big").changes.keys()
    yield from setting_differences(run, other, () if run.model == other.model else free)
    yield from budget_differences(run, other)
    yield from tested_differences(run, other)


def _tested(ours: Sequence[System[TestedRun]], pair: str) -> Iterator[tuple[System[TestedRun], TestedSystem]]:
    """The measurements of a language pair."""
    finished = [each for each in ours if each.finished and each.runs[0].pair == pair]
    if not finished:
        return
    measured = measure([[run.columns("test") for run in each.finished] for each in finished]).bleu
    for place, each in enumerate(finished):
        bleu, flops = (each.mean(of) for of in (lambda run: run.bleu, lambda run: run.flops))
        yield each, TestedSystem(measured, place, bleu, flops, all(run.is_papers for run in each.finished))


def document(report: Table2Report) -> Document:
    """The report as plain data."""
    lines, table = list(remarks(report)), load_table2()
    finished = [run for each in report.finished for run in each.finished]
    return Document(
        title="Table 2",
        written="Written by `aiayn report table2` from the records of the runs.",
        grids=[*grids(report), *([seed_grid(finished, "test")] if finished else [])],
        terminal_grids=list(grids(report)),
        remarks=lines,
        runs=[run.path for run in report.runs],
        content=Table2Content(
            paper={row.id: {column.id: row.cell(column.id).value for column in table.columns} for row in table.rows},
            ours=tuple(map(_content, report.runs)),
            claims=tuple(claim.content for claim in report.claims),
            remarks=tuple(lines),
        ),
    )


def grids(report: Table2Report) -> Iterator[Grid]:
    """The table; the paper's claims; ours by every definition; the cost of ours."""
    yield _systems(report)
    if report.finished:
        yield from claim_grids(report.claims)
        yield _by_definition(report.finished)
    accounts = [(run, RunCost.kept(run.entry.directory.cost) or run.record.account) for run in report.runs]
    costs = [CostOfRun(run.entry, run.record, account) for run, account in accounts if account.attempts]
    if costs:
        yield from cost_grids(costs)


def _systems(report: Table2Report) -> Grid:
    ours = {(each.runs[0].row, each.runs[0].pair): each for each in report.ours}

    def printed(system: PublishedSystem, column: str) -> str:
        return str(system.cell(column))

    def bleu(system: PublishedSystem, pair: str) -> str:
        model = ours.get((system.id, pair))
        text = "" if model is None else model.cell(lambda run: run.bleu)
        return f"{text} {ELSEWHERE}" if text and model and not all(run.is_papers for run in model.finished) else text

    def flops(system: PublishedSystem, pair: str) -> str:
        model = ours.get((system.id, pair))
        return "" if model is None else model.cell(lambda run: run.flops, operations)

    columns = [Column[PublishedSystem]("<system", lambda system: system.label)]
    for prefix, heading, own in (("", "BLEU", bleu), ("flops_", "FLOPs", flops)):
        for pair, name in PAIRS.items():
            columns.append(Column(f"{heading} {name}", partial(printed, column=f"{prefix}{pair}")))
            columns.append(Column("ours", partial(own, pair=pair)))
    table = load_table2()
    by_group = groupby(table.rows, key=lambda system: system.group)
    return Grid.of(table.caption.title, columns, *(list(group) for _, group in by_group))


def _by_definition(finished: Sequence[System[TestedRun]]) -> Grid:
    names = {name for each in finished for scores in each.scores for name in scores.by_definition}
    lines = [(TITLES[name], *(score_text(each.scores, name) for each in finished)) for name in TITLES if name in names]
    headings = ("<definition", *(each.experiment.removeprefix(PREFIX) for each in finished))
    return Grid("Ours on the test set, by definition", headings, (tuple(lines),))


def remarks(report: Table2Report) -> Iterator[str]:
    """Training data and sizes, definitions, and numbers that do not compare."""
    finished = [run for each in report.finished for run in each.finished]
    if not finished:
        yield "no run has finished: aiayn reproduce table2 does them"
        return
    for pair, name in PAIRS.items():
        of_pair = [run for run in finished if run.pair == pair]
        if not of_pair:
            continue
        run, test = of_pair[0], of_pair[0].test
        assert test is not None
        names = NEAREST_TO_THE_PAPER[pair]
        title = next((TITLES[each] for each in names if each in test.by_definition), "not recorded")
        conditions = ", ".join(f"{key} {value}" for key, value in run.conditions.items())
        yield f"{name}: {conditions}: {run.record.data_summary()}"
        yield f"{name}: ours on {test.sentences:,} sentences of test; beside the paper's stands {title}"
        if not all(run.is_on_newstest2014 for run in of_pair):
            yield f"{ELSEWHERE} {name}: not newstest2014, so ours do not compare with the paper's column"
        elif not all(run.is_papers for run in of_pair):
            yield f"{ELSEWHERE} {name}: not of the paper's scale, so ours are not the paper's models"
    for run in finished:
        if run.test is not None and not run.test.averaged_steps:
            yield f"{run.path}: the last weights, not an average"
    yield from untested_remarks(report.claims)
    for pair in PAIRS:
        rows = {each.experiment: each.finished[0] for each in report.finished if each.runs[0].pair == pair}
        yield from budget_remarks(rows, f"{PREFIX}base_{pair}")
    yield from origin_remarks([run.record for run in finished])
    for each in report.ours:
        yield from sizes_remark(each.experiment, each.runs[0], each.runs[0].printed_sizes)
    yield from version_remarks(code_versions((run.path, run.record) for run in finished))


def _content(run: TestedRun) -> TestedRunContent:
    test = run.test
    return TestedRunContent(
        **vars(run.provenance),
        is_on_newstest2014=run.is_on_newstest2014,
        sentences=None if test is None else test.sentences,
        averaged_steps=() if test is None else test.averaged_steps,
        scores={} if test is None else test.by_definition,
        cost=run.record.account,
    )
