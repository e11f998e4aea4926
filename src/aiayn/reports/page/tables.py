"""The page's tables, as HTML that needs no script."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiayn.evaluation.significance import Interval
from aiayn.paper.claims import Metric
from aiayn.reports.formats import Grid
from aiayn.reports.numbers import signed, with_deviation
from aiayn.reports.page.cells import bar, chip, filtered, heading, number, plain, scroller, sortable
from aiayn.reports.page.content import PageContent, RunContent
from aiayn.reports.page.markup import Html, joined, scientific, tag, with_symbols
from aiayn.reports.row import duration, millions
from aiayn.reports.tables.table3_rows import Line, settings_beside, settings_text
from aiayn.runs.ledger import State


def results_table(content: PageContent) -> Html:
    """Table 3, the paper's numbers beside ours."""
    head = (
        tag(
            "tr",
            tag("th", colspan=2),
            *(
                tag("th", name, colspan=3, scope="colgroup", class_="span")
                for name in ("Perplexity", content.report.bleu_name)
            ),
            tag("th", "Parameters", colspan=2, scope="colgroup", class_="span"),
            tag("th", colspan=2),
        ),
        tag(
            "tr",
            *(sortable(text) for text in ("<row", "<setting (trained here)")),
            *(sortable(text) for _ in Metric for text in ("paper", "ours", "ours − base")),
            *(sortable(text) for text in ("paper", "ours", "<seeds", "<state")),
        ),
    )
    rows = [_result(line, content.runs) for line in content.report.lines]
    table = tag("table", tag("thead", *head), tag("tbody", *rows), class_="sortable results", data_filtered=True)
    return scroller(table, "Table 3")


def _result(line: Line, runs: Sequence[RunContent]) -> Html:
    row = line.row
    of_row = [run for run in runs if run.row == row.id and run.record is not None]
    cells = [
        tag("th", chip(row.group), row.id, scope="row", data_v=row.id),
        tag("td", with_symbols(settings_beside(line)), class_="change"),
    ]
    for metric in Metric:
        measurement = line.measured.get(metric)
        cell = row.cell(metric)
        cells.append(number(str(cell), cell.number, class_="paper"))
        if measurement is None:
            cells += [number("", None), number("", None)]
            continue
        cells.append(
            number(
                with_deviation(measurement.value, measurement.deviation, cell.decimals),
                measurement.value,
                class_="ours",
            )
        )
        cells.append(_difference(measurement.difference, metric, cell.decimals))
    printed = f"{row.parameters}M" if row.parameters.printed else ""
    cells.append(number(printed, row.parameters.value, class_="paper"))
    cells.append(number(millions(line.parameters), line.parameters, class_="ours"))
    counted = [run for run in of_row if run.entry.state is State.finished]
    others = [run for run in of_row if run.entry.state is not State.finished]
    states = [*(["finished"] if counted else []), *map(_link, others)]
    cells.append(tag("td", joined(map(_link, counted), " "), data_v=len(line.seeds)))
    cells.append(tag("td", joined(states, ", ") or line.state, class_="state" if of_row else "state pending"))
    return tag("tr", *cells, **filtered(row.group, f"{row.id} {settings_text(line)} {line.state}"))


def _link(run: RunContent) -> Html:
    """To a run's section: its seed, and its state unless it has finished."""
    assert run.record is not None, "runs of rows have records"
    state = run.entry.state
    text = str(run.record.seed) if state is State.finished else f"seed {run.record.seed} {state}"
    return tag("a", text, href=f"#{run.anchor}", class_=f"seed {state}", title=f"{run.title}: {state}")


def _difference(interval: Interval | None, metric: Metric, decimals: int) -> Html:
    """A difference to base; strong where its whole interval is on one side of zero."""
    if interval is None:
        return number("", None)
    strength = "better" if metric.sign * interval.low > 0 and metric.sign * interval.high > 0 else ""
    strength = strength or ("worse" if interval.low * interval.high > 0 else "open")
    spread = f"[{signed(interval.low, decimals)}, {signed(interval.high, decimals)}]"
    body = joined((tag("b", signed(interval.estimate, decimals)), tag("small", spread)), " ")
    return tag("td", body, class_=f"n difference {strength}", data_v=plain(interval.estimate))


def cost_table(runs: Sequence[RunContent]) -> Html:
    """Time and tokens of each run."""
    headings = (
        "<run",
        "<state",
        "steps",
        "tokens",
        "training",
        "tokens/s",
        "FLOPs",
        "parameters",
        "evaluation",
        "<machine",
    )
    longest = max((run.entry.seconds for run in runs), default=0.0) or 1.0
    fastest = max(((run.record.tokens_per_second or 0.0) for run in runs if run.record), default=0.0) or 1.0
    rows = []
    for run in runs:
        record = run.record
        if record is None:
            continue
        seconds, speed = run.entry.seconds, record.tokens_per_second
        evaluation = sum(scores.seconds for scores in record.scores.values())
        rows.append(
            tag(
                "tr",
                tag("th", chip(run.group), tag("a", run.title, href=f"#{run.anchor}"), scope="row", data_v=run.title),
                tag("td", run.entry.state.value, class_=f"state {run.entry.state}"),
                number(f"{run.entry.step:,}", run.entry.step),
                number(f"{record.tokens / 1e6:,.2f}M" if record.tokens else "", record.tokens or None),
                bar(duration(seconds) if seconds else "", seconds or None, longest),
                bar(f"{speed:,.0f}" if speed else "", speed, fastest),
                number(scientific(record.flops or 0.0), record.flops),
                number(millions(record.parameters), record.parameters),
                number(duration(evaluation) if evaluation else "", evaluation or None),
                tag("td", _machine(record.hardware), class_="machine"),
                **filtered(run.group, f"{run.title} {run.entry.state}"),
            )
        )
    table = tag(
        "table",
        tag("thead", tag("tr", *map(sortable, headings))),
        tag("tbody", *rows),
        class_="sortable",
        data_filtered=True,
    )
    return scroller(table, "What each run took")


def cost_summary(runs: Sequence[RunContent]) -> Html:
    """The whole bill in one sentence."""
    seconds = sum(run.entry.seconds for run in runs)
    flops = sum(run.record.flops or 0.0 for run in runs if run.record)
    tokens = sum(run.record.tokens for run in runs if run.record)
    count = "One run" if len(runs) == 1 else f"{len(runs)} runs"
    spent = f"{count}: {duration(seconds)} of training, {tokens / 1e6:,.1f}M tokens"
    return joined((spent, *((", ", scientific(flops), " floating-point operations") if flops else ()), "."))


def _machine(hardware: Mapping[str, Any]) -> str:
    gpus = hardware.get("gpus") or []
    if gpus:
        return f"{len(gpus)} × {gpus[0]}"
    threads = hardware.get("threads")
    return "" if not hardware else f"{hardware.get('processor')}, {threads} {'thread' if threads == 1 else 'threads'}"


def plain_table(grid: Grid) -> Html:
    """A table of text as the other reports have it."""
    head = tag("tr", *map(heading, grid.headings))
    bodies = [
        tag(
            "tbody",
            *(
                tag(
                    "tr",
                    *(
                        tag("td", cell, class_=None if is_left else "n")
                        for cell, (_, is_left) in zip(line, grid.columns, strict=True)
                    ),
                )
                for line in group
            ),
        )
        for group in grid.groups
    ]
    return scroller(tag("table", tag("thead", head), *bodies), grid.title)
