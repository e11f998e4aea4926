"""Table 2 with ours beside the paper's systems: BLEU by every definition, what it cost, and verdicts."""

from collections.abc import Callable, Iterator
from pathlib import Path

from aiayn.config.report_schema import ReportConfig
from aiayn.evaluation.matrix import TITLES
from aiayn.paper.table2 import System, load_table2
from aiayn.reports.code_versions import code_versions, version_remarks
from aiayn.reports.cost import CostOfRun, cost_grids
from aiayn.reports.grids import Grid, latex_table, markdown_page, markdown_runs, print_or_write
from aiayn.reports.plan import operations
from aiayn.reports.scored_runs import sizes_remark
from aiayn.reports.table3_runs import FINGERPRINT_DIGITS
from aiayn.reports.tables.table2 import (
    DEFINITIONS,
    PAIRS,
    PREFIX,
    Ours,
    Table2Report,
    TestedRun,
    in_the_papers_definition,
    papers_flops,
    read_table2,
)
from aiayn.reports.tables.table2_claims import claim_grids
from aiayn.reports.tables.table3_formats import check_resampling
from aiayn.runs.cost import RunCost
from aiayn.runs.record import json_text

ELSEWHERE = "*"
"""Marks BLEU that is not of the paper's test set, or not of the paper's sizes."""


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
    print_or_write(report, output, {".json": _json, ".tex": _latex, ".md": _markdown}, grids=grids, remarks=remarks)


def grids(report: Table2Report) -> Iterator[Grid]:
    """The table; the paper's claims; ours by every definition; what ours cost."""
    yield _systems(report)
    if any(each.finished for each in report.ours):
        yield from claim_grids(report.claims)
        yield _by_definition(report)
    if report.runs:
        accounts = [(run, RunCost.kept(run.entry.directory.cost) or run.record.account) for run in report.runs]
        costs = [CostOfRun(run.entry, run.record, account) for run, account in accounts if account.attempts]
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
        ours = report.of(system.id, pair)
        bleu = _cell(ours, in_the_papers_definition, "{:.2f}".format)
        is_elsewhere = ours is not None and not all(run.is_papers for run in ours.finished)
        cells += [str(printed), f"{bleu} {ELSEWHERE}" if bleu and is_elsewhere else bleu]
    for pair, printed in (("en_de", system.flops_en_de), ("en_fr", system.flops_en_fr)):
        cells += [str(printed), _cell(report.of(system.id, pair), papers_flops, operations)]
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
            yield f"{ELSEWHERE} {name}: not newstest2014, so ours do not compare with the paper's column"
        elif not all(run.is_papers for run in of_pair):
            yield f"{ELSEWHERE} {name}: not of the paper's scale, so ours are not the paper's models"
    for run in finished:
        if run.test is not None and not run.test.averaged_steps:
            yield f"{run.entry.directory.path}: the last weights, not an average"
    for each in report.ours:
        yield from sizes_remark(each.experiment, each.runs[0], each.runs[0].printed_sizes)
    yield from version_remarks(code_versions((run.path, run.record) for run in finished))


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
            "commit": run.record.commit,
            "dirty": run.record.dirty,
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
    claims = [
        {
            "id": claim.claim.id,
            "verdict": claim.verdict,
            "comparisons": [
                {"claimed": each.claimed, "paper": each.paper, "ours": each.ours, "verdict": each.verdict}
                for each in claim.comparisons
            ],
        }
        for claim in report.claims
    ]
    return json_text({"paper": paper, "ours": ours, "claims": claims, "remarks": list(remarks(report))})
