"""The page's tables, as HTML that needs no script."""

from collections.abc import Mapping, Sequence

from aiayn.evaluation.significance import Effect
from aiayn.extensions.page.content import PageContent, RunContent
from aiayn.extensions.page.markup import (
    Html,
    bar,
    chip,
    filtered,
    heading,
    joined,
    number,
    scientific,
    sort_key,
    sortable,
    table,
    tag,
    with_symbols,
)
from aiayn.paper.claims import Metric
from aiayn.reports.claim_grids import DECIMALS
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import counted, duration, ends_text, millions, signed, with_deviation
from aiayn.reports.run_facts import machine_text
from aiayn.reports.tables.table3_rows import Line, decimals_of, settings_beside, settings_text
from aiayn.runs.ledger import State

COST = ("<run", "<state", "steps", "tokens", "training", "tokens/s", "FLOPs", "parameters", "evaluation", "<machine")


def results_table(content: PageContent) -> Html:
    """Table 3, the paper's numbers beside ours."""

    def span(name: str, columns: int) -> Html:
        return tag("th", name, colspan=columns, scope="colgroup", class_="span")

    scores = (span(name, 3) for name in ("Perplexity", content.report.bleu_name))
    measured = ["paper", "ours", "log ours − base", "paper", "ours", "ours − base"]
    headings = ["<row", "<setting (trained here)", *measured]
    head = (
        (span("Row of Table 3", 2), *scores, span("Parameters", 2), span("Seeds", 2)),
        map(sortable, [*headings, "paper", "ours", "<counted", "<state"]),
    )
    decimals = decimals_of(content.report.lines)
    rows = (_result(line, content, decimals) for line in content.report.lines)
    return table("Table 3", head, rows, class_="sortable results", data_filtered=True)


def _result(line: Line, content: PageContent, decimals: Mapping[Metric, int]) -> Html:
    row = line.row
    cells = [
        tag("th", chip(row.group), row.id, scope="row", data_v=row.id),
        tag("td", with_symbols(settings_beside(line)), class_="change"),
    ]
    for metric in Metric:
        measurement = line.measured.get(metric)
        cell = row.cell(metric)
        cells.append(number(str(cell), cell.number, class_="paper"))
        if measurement is None:
            cells += [number(""), number("")]
        else:
            ours = with_deviation(measurement.value, measurement.deviation, decimals[metric])
            cells.append(number(ours, measurement.value, class_="ours"))
            cells.append(_difference(measurement.difference, metric))
    printed = f"{row.parameters}M" if row.parameters.printed else ""
    cells.append(number(printed, row.parameters.value, class_="paper"))
    cells.append(number(millions(line.parameters), line.parameters, class_="ours"))
    of_row = [run for run in content.runs if run.row == row.id and run.record is not None]
    counted_runs = [run for run in of_row if _is_counted(run, content)]
    states = [
        *(["finished"] if counted_runs else []),
        *(_link(run, content) for run in of_row if run not in counted_runs),
    ]
    cells.append(tag("td", joined((_link(run, content) for run in counted_runs), " "), data_v=len(line.seeds)))
    cells.append(tag("td", joined(states, ", ") or line.state, class_="state" if of_row else "state pending"))
    return tag("tr", *cells, **filtered(row.group, f"{row.id} {settings_text(line)} {line.state}"))


def _is_counted(run: RunContent, content: PageContent) -> bool:
    """Whether the numbers of its row include the run."""
    return run.entry.directory.path in content.report.runs


def _link(run: RunContent, content: PageContent) -> Html:
    """To a run's section: its seed, and why the table does not count it if so."""
    assert run.record is not None, "runs of rows have records"
    state = run.entry.state
    text = str(run.record.seed) if _is_counted(run, content) else f"seed {run.record.seed} {state}, not counted"
    return tag("a", text, href=f"#{run.anchor}", class_=f"seed {state}", title=f"{run.title}: {state}")


def _difference(effect: Effect | None, metric: Metric) -> Html:
    """A difference to base; bold where its whole interval is on one side of zero."""
    if effect is None:
        return number("")
    body, strength = tag("b", signed(effect.estimate, DECIMALS[metric])), "open"
    if effect.low is not None and effect.high is not None:
        if effect.low * effect.high > 0:
            strength = "better" if metric.sign * effect.low > 0 else "worse"
        body = joined((body, tag("small", ends_text(effect.low, effect.high, DECIMALS[metric]))), " ")
    return tag("td", body, class_=f"n difference {strength}", data_v=sort_key(effect.estimate))


def cost_table(runs: Sequence[RunContent]) -> Html:
    """Time and tokens of each run."""
    longest = max((run.entry.seconds for run in runs), default=0.0) or 1.0
    fastest = max(((run.record.tokens_per_second or 0.0) for run in runs if run.record), default=0.0) or 1.0
    rows = (_cost(run, longest, fastest) for run in runs)
    return table("Time and tokens of each run", [map(sortable, COST)], rows, class_="sortable", data_filtered=True)


def _cost(run: RunContent, longest: float, fastest: float) -> Html | None:
    record = run.record
    if record is None:
        return None
    seconds, speed = run.entry.seconds, record.tokens_per_second
    evaluation = sum(scores.seconds for scores in record.scores.values())
    return tag(
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
        tag("td", machine_text(record), class_="machine"),
        **filtered(run.group, f"{run.title} {run.entry.state}"),
    )


def cost_summary(runs: Sequence[RunContent]) -> Html:
    """The total in one sentence."""
    seconds = sum(run.entry.seconds for run in runs)
    flops = sum(run.record.flops or 0.0 for run in runs if run.record)
    tokens = sum(run.record.tokens for run in runs if run.record)
    finished = sum(run.entry.state is State.finished for run in runs)
    spent = f"{duration(seconds)} of training, {tokens / 1e6:,.1f}M tokens"
    total = f"{counted(len(runs), 'run')}, {finished} of them finished: {spent}"
    return joined((total, *((", ", scientific(flops), " floating-point operations") if flops else ()), "."))


def plain_table(grid: Grid) -> Html:
    """A table of text as other reports print it."""
    alignments = [None if is_left else "n" for _, is_left in grid.columns]
    bodies = (
        [
            tag("tr", *(tag("td", cell, class_=alignment) for cell, alignment in zip(line, alignments, strict=True)))
            for line in group
        ]
        for group in grid.groups
    )
    return table(grid.title, [map(heading, grid.headings)], *bodies)
