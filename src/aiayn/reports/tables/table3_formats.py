"""The report of Table 3 on the terminal and as a file: Markdown, LaTeX, CSV, JSON."""

import csv
import dataclasses
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aiayn.config.command_schema import TuneConfig
from aiayn.config.report_schema import CompareConfig, DashboardConfig, ReportConfig
from aiayn.errors import UserError
from aiayn.paper.claims import Metric
from aiayn.paper.table3 import in_symbols, load_table3
from aiayn.reports.grids import console, latex_table, latex_text, markdown_table, rich_table
from aiayn.reports.tables.table3 import Line, Report, paper_value, table3_report
from aiayn.reports.tables.table3_grids import grids, printed_settings
from aiayn.reports.verdicts import JudgedClaim
from aiayn.runs.record import json_text
from aiayn.system import files

FEWEST_RESAMPLES = 100
"""Below this the ends of a 95% interval are a matter of luck."""


def report_table3(config: ReportConfig, output: Path | None) -> None:
    """Print the table, or write it in the format that the file's suffix says.

    Args:
        config: of the command.
        output: the file, or None for the terminal.

    Raises:
        UserError: a value is not allowed, runs do not compare, or a file cannot be read.
    """
    if output is not None:
        output_format(output)  # before any work
    show(read_table3(config), output)


def read_table3(config: ReportConfig | DashboardConfig) -> Report:
    """The table of the runs that a command is to show.

    Raises:
        UserError: a value is not allowed, runs do not compare, or a file cannot be read.
    """
    check_resampling(config)
    return table3_report(
        Path(config.paths.runs),
        scale=config.only.scale,
        data=config.only.data,
        like=config.only.like,
        resamples=config.resamples,
        seed=config.seed,
    )


def check_resampling(config: ReportConfig | DashboardConfig | CompareConfig | TuneConfig) -> None:
    """Refuse what no interval can be made of.

    Raises:
        UserError: a value is not allowed.
    """
    if config.resamples < FEWEST_RESAMPLES:
        raise UserError(f"resamples={config.resamples}: must be at least {FEWEST_RESAMPLES}")
    if config.seed < 0:
        raise UserError(f"seed={config.seed}: must not be negative")


def output_format(output: Path) -> Callable[[Report], str]:
    """What writes a file of this name.

    Raises:
        UserError: no format has its suffix.
    """
    if output.suffix not in FORMATS:
        raise UserError(f"output={output}: the suffix says the format; choose from {', '.join(FORMATS)}")
    return FORMATS[output.suffix]


def show(report: Report, output: Path | None) -> None:
    """Print the report, or write it in the format that the file's suffix says."""
    if output is not None:
        files.write_text(output, output_format(output)(report))
        print(output)  # noqa: T201
        return
    output_to = console()
    if report.scope.sentence:
        output_to.print(report.scope.sentence)
    for grid in grids(report, bleu_name=_bleu_name(report), has_settings=False):
        output_to.print(rich_table(grid))
    for line in (*summary(report), *report.remarks):
        output_to.print(line, soft_wrap=True)


def markdown(report: Report) -> str:
    """A page."""
    sections = [
        "# Table 3, reproduced",
        *([report.scope.sentence] if report.scope.sentence else []),
        "Written by `aiayn report table3` from the records of the runs.",
        *(markdown_table(grid) for grid in grids(report, bleu_name=_bleu_name(report), has_settings=True)),
        "## What the numbers are",
        "\n".join(f"- {line}" for line in (*summary(report, code="`"), *report.remarks)),
    ]
    if report.runs:
        sections += ["## Runs", "\n".join(f"- `{path}`" for path in report.runs)]
    return "\n\n".join(sections) + "\n"


def latex(report: Report) -> str:
    r"""Tables for \input into a document that uses booktabs, graphicx and rotating."""
    tables = grids(report, bleu_name=_bleu_name(report), has_settings=True)
    notes = r"\\".join(f"\n{latex_text(line)}" for line in (*summary(report), *report.remarks))
    head = "% Written by aiayn report table3; needs \\usepackage{booktabs,graphicx,rotating}."
    scope = [latex_text(report.scope.sentence)] if report.scope.sentence else []
    body = [*scope, *(latex_table(grid) for grid in tables)]
    return "\n\n".join([head, *body, f"{{\\small\\noindent{notes}\\par}}"]) + "\n"


def comma_separated(report: Report) -> str:
    """One line a row, numbers as they are, and on every line what they were measured on."""
    stream = io.StringIO()
    lines = [_plain_line(line) for line in report.lines]
    conditions = {**report.conditions}
    writer = csv.DictWriter(stream, [*lines[0], *conditions], lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({**line, "seeds": len(line["seeds"]), **conditions})
    return stream.getvalue()


def json_page(report: Report) -> str:
    """Everything, numbers as they are."""
    content: dict[str, Any] = {
        "scope": report.scope.sentence or None,
        "conditions": dict(report.conditions),
        "resamples": report.resamples,
        "seed_deviations": dict(report.seed_deviations),
        "rows": [
            _plain_line(line) | {"settings_paper": line.row.settings(load_table3()), "settings": dict(line.trained)}
            for line in report.lines
        ],
        "claims": [_plain_claim(report, claim) for claim in report.claims],
        "rank_correlations": {
            metric: dataclasses.asdict(correlation) for metric, correlation in report.correlations.items()
        },
        "runs": [str(path) for path in report.runs],
        "code": [version.plain() for version in report.versions],
        "remarks": list(report.remarks),
    }
    return json_text(content)


FORMATS: Mapping[str, Callable[[Report], str]] = {
    ".md": markdown,
    ".tex": latex,
    ".csv": comma_separated,
    ".json": json_page,
}
"""By the suffix of the file."""


def _plain_claim(report: Report, judged: JudgedClaim) -> dict[str, Any]:
    claim = dataclasses.asdict(judged.claim) | {"needs": sorted(judged.claim.needs)}
    comparisons = [dataclasses.asdict(each) for each in judged.comparisons]
    return {
        "claim": claim,
        "verdict": judged.verdict,
        "is_evidence": judged.claim.id not in report.scope.not_evidence,
        "comparisons": comparisons,
        "seeds_needed": judged.seeds_needed,
    }


def _plain_line(line: Line) -> dict[str, Any]:
    row, base = line.row, load_table3().row("base")
    plain: dict[str, Any] = {"row": row.id, "group": row.group}
    plain |= {"change_paper": in_symbols(printed_settings(row)), "change": in_symbols(line.changes_trained)}
    plain |= {"state": line.state, "seeds": list(line.seeds)}
    for metric in Metric:
        printed = paper_value(row, metric)
        measurement = line.measured.get(metric)
        difference = measurement.difference if measurement else None
        plain |= {
            f"{metric}_paper": printed,
            metric.value: measurement.value if measurement else None,
            f"{metric}_deviation": measurement.deviation if measurement else None,
            f"{metric}_difference_paper": round(printed - paper_value(base, metric), 6),  # of two short decimals
            f"{metric}_difference": difference.estimate if difference else None,
            f"{metric}_difference_low": difference.low if difference else None,
            f"{metric}_difference_high": difference.high if difference else None,
        }
    return plain | {"parameters_paper": row.parameters.value, "parameters": line.parameters}


def _bleu_name(report: Report) -> str:
    return next((name for name in report.conditions if name.startswith("BLEU")), "BLEU")


def summary(report: Report, *, code: str = "") -> Iterator[str]:
    """What holds for the whole table, a line each.

    Args:
        report: the table.
        code: put around what is to be read letter by letter.
    """
    caption = load_table3().caption
    yield f"paper: {caption.dev_set}, {caption.language_pair}, {caption.source}"
    if not report.conditions:
        yield "ours: no run has finished yet"
        return
    yield "ours: " + ", ".join(f"{key} {value}" for key, value in report.conditions.items() if "BLEU" not in key)
    yield from (f"{key}: {code}{value}{code}" for key, value in report.conditions.items() if key.startswith("BLEU"))
    yield (
        "Values of ours do not compare with the paper's: perplexity is per sub-word of our own vocabulary, BLEU "
        "is sacreBLEU's, and data and sizes are others unless the lines above say so: compare differences."
    )
    yield _intervals(report)
    for metric, correlation in report.correlations.items():
        rows = sum(bool(line.measured) for line in report.lines)
        yield (
            f"Spearman's rank correlation between the paper's {metric.upper()} and ours over {rows} rows: "
            f"{correlation.estimate:.2f} [{correlation.low:.2f}, {correlation.high:.2f}]"
        )


def _intervals(report: Report) -> str:
    text = f"95% intervals: {report.resamples:,} paired resamples of the sentences"
    if not report.seed_deviations:
        return f"{text} alone; no row has two seeds, so they say nothing of what another seed would give"
    deviations = " and ".join(f"{value:.3f} {metric.upper()}" for metric, value in report.seed_deviations.items())
    return f"{text}, widened by the standard deviation between seeds ({deviations}, from all rows together)"
