"""Table 2 with ours beside the paper's systems: BLEU on the test set by every definition, and what it cost."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn import files
from aiayn.config.errors import UserError
from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.matrix import TITLES
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.evaluation.significance import Interval, bootstrap, sentence_columns
from aiayn.evaluation.test_sets import SENTENCES_OF_2014
from aiayn.paper.table2 import System, load_table2
from aiayn.paper.table3 import load_table3
from aiayn.reports.cost import CostOfRun, cost_grids
from aiayn.reports.grids import Grid, latex_table, markdown_page, markdown_runs, print_report
from aiayn.reports.plan import operations
from aiayn.reports.table3_formats import check_resampling
from aiayn.reports.table3_grids import interval_text
from aiayn.reports.table3_runs import FINGERPRINT_DIGITS, FOLLOWS_STEPS, is_chosen
from aiayn.runs.cost import RunCost
from aiayn.runs.ledger import Entry, State, read_ledger
from aiayn.runs.record import Record, SplitScores, json_text

PREFIX = "table2/"

PAIRS = {"en_de": "EN-DE", "en_fr": "EN-FR"}

ROWS = {"base": "transformer_base", "big": "transformer_big"}
"""Of the table, by the model of the experiment."""

DEFINITIONS = {"en_de": ("multi_bleu_split", "multi_bleu_none_split"), "en_fr": ("multi_bleu", "multi_bleu_none")}
"""What stands beside the paper's numbers, by language pair: tokenised BLEU, and for German compounds split, as the
authors' code has it; the second where text came split into words."""

AVERAGED = frozenset({"averaging.checkpoints", "averaging.interval"})
"""What section 6.1 states for each of the two models."""

OTHER_DATA = "not newstest2014"
"""Why a number of ours does not compare with one of the paper's."""


@dataclass(frozen=True)
class TestedRun:
    """One run of an experiment of the table."""

    entry: Entry
    record: Record

    @property
    def pair(self) -> str:
        """Its languages, as the table's columns are called."""
        return self.record.experiment.removeprefix(PREFIX).partition("_")[2]

    @property
    def row(self) -> str:
        """Its row of the table."""
        return ROWS.get(self.record.experiment.removeprefix(PREFIX).partition("_")[0], "")

    @property
    def test(self) -> SplitScores | None:
        """What it scored; None until it has finished."""
        return self.record.scores.get("test") if self.entry.state is State.finished else None

    @property
    def settings(self) -> dict[str, Any]:
        """Everything in its frozen configuration that can change a result, but for the seed."""
        leaves = result_leaves(frozen_content(self.entry.directory.config))
        return {key: value for key, value in leaves.items() if key != "seed"} | {"fidelity": self.record.fidelity}

    @property
    def is_on_newstest2014(self) -> bool:
        """Whether its test set is that of the paper, as far as names and sizes tell."""
        is_wmt14 = self.record.data == f"wmt14_{self.pair}"
        return is_wmt14 and self.test is not None and self.test.sentences == SENTENCES_OF_2014


@dataclass(frozen=True)
class Ours:
    """An experiment of the table, all its seeds together."""

    experiment: str
    runs: Sequence[TestedRun]

    @property
    def finished(self) -> list[TestedRun]:
        """Those that count."""
        return [run for run in self.runs if run.test is not None]

    def mean(self, of: Callable[[TestedRun], float | None], shown: Callable[[float], str]) -> str:
        """A number of the finished runs, with its standard deviation where there are several; empty if not known."""
        values = [of(run) for run in self.finished]
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return ""
        mean = shown(statistics.fmean(known))
        return mean if len(known) == 1 else f"{mean} ± {shown(statistics.stdev(known))}"


@dataclass(frozen=True)
class Table2Report:
    """All that is shown."""

    ours: Sequence[Ours]
    """In the table's order, English-German first."""
    differences: dict[str, Interval]
    """BLEU of big minus that of base, by language pair."""

    @property
    def runs(self) -> list[TestedRun]:
        """All runs, finished or not."""
        return [run for each in self.ours for run in each.runs]

    def of(self, row: str, pair: str) -> Ours | None:
        """Ours of a row and a language pair."""
        return next((each for each in self.ours if (each.runs[0].row, each.runs[0].pair) == (row, pair)), None)


def report_table2(config: ReportConfig, output: Path | None) -> None:
    """Print the table, or write it.

    Args:
        config: of the command.
        output: a .md, .tex or .json file, or None for the terminal.

    Raises:
        UserError: runs do not compare, or a file cannot be read.
    """
    check_resampling(config)
    report = read_table2(
        Path(config.paths.runs),
        scale=config.only.scale,
        data=config.only.data,
        resamples=config.resamples,
        seed=config.seed,
    )
    if output is not None:
        files.write_text(output, {".json": _json, ".tex": _latex, ".md": _markdown}[output.suffix](report))
        print(output)  # noqa: T201
        return
    print_report(grids(report), remarks(report))


def read_table2(runs: Path, *, scale: str | None, data: str | None, resamples: int, seed: int) -> Table2Report:
    """The runs of the table's experiments below a folder.

    Args:
        runs: the folder.
        scale: only runs of this scale.
        data: only runs on this corpus, by name or by the first digits of its fingerprint.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UserError: runs of one column do not compare, or a file cannot be read.
    """
    entries = read_ledger(runs) if runs.is_dir() else []
    found: dict[str, list[TestedRun]] = {}
    for entry in entries:
        record = entry.record
        if record is None or not record.experiment.startswith(PREFIX):
            continue
        run = TestedRun(entry, record)
        if run.row and run.pair in PAIRS and is_chosen(record, scale=scale, data=data):
            found.setdefault(record.experiment, []).append(run)
    order = [f"{PREFIX}{model}_{pair}" for pair in PAIRS for model in ROWS]
    ours = [Ours(name, sorted(found[name], key=lambda run: run.record.seed)) for name in order if name in found]
    for pair in PAIRS:
        _refuse_differing([run for each in ours for run in each.finished if run.pair == pair])
    differences = {}
    for pair in PAIRS:
        sides = [each for model in ROWS for each in ours if each.experiment == f"{PREFIX}{model}_{pair}"]
        if len(sides) == len(ROWS) and all(each.finished for each in sides):
            systems = [[_sentences(run) for run in each.finished] for each in sides]
            differences[pair] = bootstrap(systems, resamples=resamples, seed=seed).bleu.difference(1, 0)
    return Table2Report(ours, differences)


def _refuse_differing(runs: Sequence[TestedRun]) -> None:
    """Refuse runs that may not share a column: base and big are alike but for what the paper prints as different.

    Raises:
        UserError: their scale, data, seeds, settings, signatures or number of sentences do not allow it.
    """
    for run in runs[1:]:
        first = runs[0]
        for key, own, other in (
            ("scale", run.record.scale, first.record.scale),
            ("data", run.record.data_fingerprint, first.record.data_fingerprint),
        ):
            if own != other:
                raise UserError(f"{key} differs, {own} and {other} in {_paths(run, first)}: choose with only.{key}=")
    seen: dict[tuple[str, int], TestedRun] = {}
    for run in runs:
        twin = seen.setdefault((run.record.experiment, run.record.seed), run)
        if twin is not run:
            raise UserError(f"one seed stands more than once, in {_paths(twin, run)}: move one of them elsewhere")
    for run in runs[1:]:
        for key, own, other in _differing(run, runs[0]):
            raise UserError(
                f"{key} differs, {own} and {other} in {_paths(run, runs[0])}: no column holds both; "
                "move one of them elsewhere"
            )


def _differing(run: TestedRun, first: TestedRun) -> Iterator[tuple[str, Any, Any]]:
    """What two runs of a column may not differ in, and do: key, the value of either."""
    free = (
        frozenset[str]() if run.row == first.row else AVERAGED | FOLLOWS_STEPS | load_table3().row("big").changes.keys()
    )
    ours, theirs = run.settings, first.settings
    for key in sorted((ours.keys() | theirs.keys()) - free):
        own, other = (settings.get(key, "nothing") for settings in (ours, theirs))
        if own != other:
            yield key, own, other
    assert run.test is not None and first.test is not None, "only finished runs share a column"  # noqa: PT018
    if run.test.sentences != first.test.sentences:
        yield "number of test sentences", run.test.sentences, first.test.sentences
    own_scores, other_scores = run.test.by_definition, first.test.by_definition
    for name in sorted(own_scores.keys() & other_scores.keys()):
        if own_scores[name].signature != other_scores[name].signature:
            yield name, own_scores[name].signature, other_scores[name].signature


def _paths(*runs: TestedRun) -> str:
    return " and ".join(str(run.entry.directory.path) for run in runs)


def _sentences(run: TestedRun) -> Any:
    assert run.test is not None, "only finished runs are compared"
    path = run.entry.directory.path / run.test.hypotheses
    return sentence_columns(read_sentence_scores(path.with_name("test.sentences.jsonl")))


def _in_the_papers_definition(run: TestedRun) -> float | None:
    scores = {} if run.test is None else run.test.by_definition
    return next((scores[name].score for name in DEFINITIONS[run.pair] if name in scores), None)


def _papers_flops(run: TestedRun) -> float | None:
    return run.record.account.total.paper_flops


def grids(report: Table2Report) -> Iterator[Grid]:
    """The table; ours by every definition; what ours cost."""
    yield _systems(report)
    if any(each.finished for each in report.ours):
        yield _by_definition(report)
    if report.runs:
        accounts = [(run, RunCost.kept(run.entry.directory.cost) or run.record.account) for run in report.runs]
        costs = [CostOfRun(run.entry, run.record, account) for run, account in accounts if account.goes]
        if costs:
            yield from cost_grids(costs)


def _systems(report: Table2Report) -> Grid:
    table = load_table2()
    headings = ["<system"]
    for pair in PAIRS.values():
        headings += [f"BLEU {pair}", "ours"]
    for pair in PAIRS.values():
        headings += [f"FLOPs {pair}", "ours"]
    groups: dict[str, list[tuple[str, ...]]] = {}
    for system in table.rows:
        groups.setdefault(system.group, []).append(_line(report, system))
    return Grid(str(table.caption.title), tuple(headings), tuple(map(tuple, groups.values())))


def _line(report: Table2Report, system: System) -> tuple[str, ...]:
    cells = [system.label]
    for pair, printed in (("en_de", system.en_de), ("en_fr", system.en_fr)):
        cells += [str(printed), _cell(report.of(system.id, pair), _in_the_papers_definition, "{:.2f}".format)]
    for pair, printed in (("en_de", system.flops_en_de), ("en_fr", system.flops_en_fr)):
        cells += [str(printed), _cell(report.of(system.id, pair), _papers_flops, operations)]
    return tuple(cells)


def _cell(ours: Ours | None, of: Callable[[TestedRun], float | None], shown: Callable[[float], str]) -> str:
    if ours is None:
        return ""
    return ours.mean(of, shown) if ours.finished else ours.runs[-1].entry.state.value


def _by_definition(report: Table2Report) -> Grid:
    finished = [each for each in report.ours if each.finished]
    names = {name: None for each in finished for run in each.finished if run.test for name in run.test.by_definition}

    def score(name: str) -> Callable[[TestedRun], float | None]:
        return lambda run: run.test.by_definition[name].score if run.test and name in run.test.by_definition else None

    lines = [
        (title, *(each.mean(score(name), "{:.2f}".format) for each in finished))
        for name, title in TITLES.items()
        if name in names
    ]
    headings = ("<definition", *(each.experiment.removeprefix(PREFIX) for each in finished))
    return Grid("Ours on the test set, by definition", headings, (tuple(lines),))


def remarks(report: Table2Report) -> Iterator[str]:
    """What was trained on what, by which definitions, and what may not be compared."""
    finished = [run for each in report.ours for run in each.finished]
    if not finished:
        yield "no run has finished: aiayn reproduce table2 does them"
        return
    for pair, name in PAIRS.items():
        of_pair = [run for run in finished if run.pair == pair]
        if not of_pair:
            continue
        record, test = of_pair[0].record, of_pair[0].test
        assert test is not None
        title = next((TITLES[each] for each in DEFINITIONS[pair] if each in test.by_definition), "not recorded")
        fingerprint = (record.data_fingerprint or "")[:FINGERPRINT_DIGITS]
        yield f"{name}: scale {record.scale}, data {record.data} ({fingerprint}): {record.data_summary()}"
        yield f"{name}: ours on {test.sentences:,} sentences of test; beside the paper's stands {title}"
        if not all(run.is_on_newstest2014 for run in of_pair):
            yield f"{name}: {OTHER_DATA}, so ours do not compare with the paper's column"
    for pair, interval in report.differences.items():
        yield f"{PAIRS[pair]}: big minus base {interval_text(interval, 2)} sacreBLEU, 95% interval"
    for run in finished:
        if run.test is not None and not run.test.averaged_steps:
            yield f"{run.entry.directory.path}: the last weights, not an average"


def _markdown(report: Table2Report) -> str:
    return markdown_page(
        "Table 2",
        "Written by `aiayn report table2` from the records of the runs.",
        grids(report),
        remarks(report),
        below=[markdown_runs(run.entry.directory.path for run in report.runs)] if report.runs else [],
    )


def _latex(report: Table2Report) -> str:
    lines = "".join(f"% {line}\n" for line in remarks(report))
    return lines + "\n\n".join(map(latex_table, grids(report))) + "\n"


def _json(report: Table2Report) -> str:
    ours = [
        {
            "run": str(run.entry.directory.path),
            "experiment": run.record.experiment,
            "seed": run.record.seed,
            "state": run.entry.state.value,
            "scale": run.record.scale,
            "data": run.record.data,
            "data_fingerprint": run.record.data_fingerprint,
            "is_on_newstest2014": run.is_on_newstest2014,
            "sentences": None if run.test is None else run.test.sentences,
            "averaged_steps": [] if run.test is None else list(run.test.averaged_steps),
            "scores": {}
            if run.test is None
            else {
                name: {"score": each.score, "signature": each.signature}
                for name, each in run.test.by_definition.items()
            },
            "cost": run.record.account.plain(),
        }
        for run in report.runs
    ]
    paper = {
        system.id: {
            column: getattr(system, column).value for column in ("en_de", "en_fr", "flops_en_de", "flops_en_fr")
        }
        for system in load_table2().rows
    }
    differences = {
        pair: {"estimate": each.estimate, "low": each.low, "high": each.high}
        for pair, each in report.differences.items()
    }
    return json_text({"paper": paper, "ours": ours, "big_minus_base": differences, "remarks": list(remarks(report))})
