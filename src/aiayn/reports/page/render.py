"""The page: its parts in the frame of page.html, with style, script and data inlined and all network forbidden."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from string import Template

from aiayn.paper.tables import load_table3
from aiayn.reports.code_versions import code_versions
from aiayn.reports.page.bundle import Bundle, script_hash
from aiayn.reports.page.cells import GROUPS, chip, group_name
from aiayn.reports.page.claims import claim_list, verdict_counts
from aiayn.reports.page.content import PageContent, RunContent
from aiayn.reports.page.figures import figure_data
from aiayn.reports.page.markup import Html, data_block, escaped, joined, tag, with_symbols
from aiayn.reports.page.run_sections import run_sections
from aiayn.reports.page.tables import cost_summary, cost_table, plain_table, results_table
from aiayn.reports.tables.table3 import differences_grid, summary
from aiayn.runs.ledger import State

SCRIPTS = ("theme.js", "tables.js", "figures.js", "charts.js", "attention.js", "live.js")
"""Of the page, in order; they share one scope."""

HEADING = joined(("Table 3 of ", tag("em", "Attention Is All You Need"), ", paper and ours"))

FIRST_COMMAND = "aiayn train sweeps=table3 scale=nano"


def page(content: PageContent, bundle: Bundle) -> str:
    """The whole file."""
    script = "(() => {\n'use strict';\n" + "\n".join(map(_asset, SCRIPTS)) + "})();"
    report, runs = content.report, content.runs
    return Template(_asset("page.html")).substitute(
        title=escaped(_title(content)),
        policy=escaped(_policy(script, bundle)),
        style=_asset("page.css"),
        refresh=str(content.refresh_seconds or ""),
        heading=HEADING,
        scope=tag("p", with_symbols(report.scope.sentence), class_="scope") if report.scope.sentence else "",
        lead=_lead(content),
        counts=verdict_counts(report),
        claims=claim_list(report),
        conditions=_conditions(content),
        chips=_chips(content),
        results=results_table(content),
        remarks=tag("ul", *(tag("li", line) for line in (*list(summary(report))[2:], *report.remarks)), class_="note"),
        differences=plain_table(differences_grid(report)),
        cost_summary=cost_summary(runs) if runs else "",
        cost=cost_table(runs),
        runs=run_sections(runs) if runs else _nothing(),
        count=_counted(content),
        written=escaped(content.written),
        command=escaped(content.command),
        data=data_block(figure_data(content), id="data"),
        plotly=tag("script", Html(bundle.packed), type="application/gzip-base64", id="plotly"),
        script=script,
    )


def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _policy(script: str, bundle: Bundle) -> str:
    """Nothing is fetched, and no script runs but the page's own two, whatever text the runs hold."""
    return (
        f"default-src 'none'; script-src {script_hash(script.encode())} {bundle.hash}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _title(content: PageContent) -> str:
    conditions = content.report.conditions
    return " · ".join(["Table 3, reproduced", *(conditions[key] for key in ("scale",) if key in conditions)])


def _lead(content: PageContent) -> Html:
    report = content.report
    if not content.runs:
        return joined(("There are no runs yet. This trains the twenty rows: ", tag("code", FIRST_COMMAND)))
    if not report.conditions:
        return Html("No run of these rows has finished yet; what is under way is below.")
    finished = len(report.runs)
    parts = [
        f"scale {report.conditions['scale']}",
        report.conditions["data"].split(" (")[0],
        report.conditions["split"],
        "1 finished run" if finished == 1 else f"{finished} finished runs",
    ]
    return joined(parts, " · ")


def _conditions(content: PageContent) -> Html:
    caption = load_table3().caption
    facts = {
        **content.report.conditions,
        "trained by": "; ".join(_commands(content.runs)),
        "trained": _when(content.runs),
        "versions": _versions(content.runs),
        "code": "; ".join(_code(content.runs)),
        "intervals": f"{content.report.resamples:,} paired resamples of the sentences",
        "paper": f"{caption.dev_set}, {caption.language_pair}, {caption.source}",
        "this page": f"{content.command}, {content.written}",
    }
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items() if value)
    return tag("dl", *rows, class_="facts")


def _commands(runs: Sequence[RunContent], most: int = 3) -> Iterator[str]:
    """The command line without the words that distinguish the jobs of a sweep."""
    typed = Counter(
        " ".join(re.sub(r"(?<=\s)(experiment|seed)=\S+", "", run.record.command).split()) for run in runs if run.record
    )
    yield from (command for command, _ in typed.most_common(most))
    if len(typed) > most:
        yield f"and {len(typed) - most} other commands"


def _code(runs: Sequence[RunContent]) -> Iterator[str]:
    """The versions of the code, and how many of the runs each has made."""
    for version in code_versions((run.entry.directory.path, run.record) for run in runs if run.record):
        yield f"{version.text}: {'1 run' if len(version.runs) == 1 else f'{len(version.runs)} runs'}"


def _counted(content: PageContent) -> str:
    """The number of runs, by state, and of those in the table."""
    runs = content.runs
    states = Counter(run.entry.state for run in runs)
    counts = ", ".join(f"{states[state]} {state}" for state in State if state in states)
    total = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    return f"{total}: {counts}; the table's numbers are of {len(content.report.runs)} of them."


def _when(runs: Sequence[RunContent]) -> str:
    times = sorted(time for run in runs if run.record for time in (run.record.started, run.record.ended) if time)
    return f"{times[0]} to {times[-1]}" if times else ""


def _versions(runs: Sequence[RunContent]) -> str:
    found = {
        ", ".join(f"{name} {version}" for name, version in run.record.versions.items())
        for run in runs
        if run.record and run.record.versions
    }
    return f"{len(found)} different sets; each run names its own" if len(found) > 1 else next(iter(found), "")


def _chips(content: PageContent) -> Html:
    """A button for each group of rows that the page shows."""
    there = {line.row.group for line in content.report.lines} | {run.group for run in content.runs}
    return joined(
        tag("button", chip(group), group_name(group), type="button", aria_pressed="true", data_chip=group)
        for group in GROUPS
        if group in there
    )


def _nothing() -> Html:
    return tag(
        "p",
        "No runs. ",
        tag("code", FIRST_COMMAND),
        " trains all rows; ",
        tag("code", "aiayn train scale=nano"),
        " trains base alone.",
    )
