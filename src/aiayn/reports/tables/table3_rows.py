"""One row of Table 3: ours beside the paper's, as numbers and as text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiayn.evaluation.significance import Effect
from aiayn.paper.claims import Metric
from aiayn.paper.tables import SETTINGS, Row, Setting, in_symbols, load_table3, value_text
from aiayn.reports.claim_grids import DECIMALS
from aiayn.reports.comparability import ComparableRuns
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.numbers import decimals_for, effect_text, signed, with_deviation


@dataclass(frozen=True)
class Measurement:
    """One metric of one row, ours."""

    value: float
    """The mean over seeds."""
    deviation: float | None
    """The standard deviation over seeds; None for one seed."""
    difference: Effect | None
    """The row minus our base, of log PPL or BLEU; None for base itself, and without a finished base."""


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    row: Row
    state: str = "pending"
    """finished, or the states of its other runs; pending without runs."""
    seeds: tuple[int, ...] = ()
    """Of the finished runs."""
    parameters: int | None = None
    """Trainable parameters, ours."""
    measured: Mapping[Metric, Measurement] = field(default_factory=dict)
    """Empty until a run has finished."""
    trained: Mapping[str, Setting] = field(default_factory=dict)
    """Ours of the settings that the table has columns for, by key; empty until a run has finished."""

    @property
    def changes_trained(self) -> dict[str, Setting]:
        """Ours of the settings that the paper prints for the row."""
        return {key: self.trained[key] for key in printed_settings(self.row) if key in self.trained}


def printed_settings(row: Row) -> Mapping[str, Setting]:
    """The settings that the paper prints: all for base, for the others those in which they differ from it."""
    return load_table3().base if row.group == "base" else row.changes


def line_of(row: Row, comparable: ComparableRuns, measured: MeasuredRows) -> Line:
    """A row of the table."""
    runs, scored = comparable.of(row), comparable.scored(row)
    unfinished = Counter(run.entry.state.value for run in runs if run not in scored)
    states = ["finished"] if scored else []
    states += [state if count == 1 and not scored else f"{count} {state}" for state, count in unfinished.items()]
    if not scored:
        return Line(row, ", ".join(states) or "pending")
    return Line(
        row=row,
        state=", ".join(states),
        seeds=tuple(run.record.seed for run in scored),
        parameters=scored[0].record.parameters,
        measured={metric: _measurement(measured, metric, row.id) for metric in Metric},
        trained={key: scored[0].settings[key] for key in SETTINGS if key in scored[0].settings},
    )


def _measurement(measured: MeasuredRows, metric: Metric, row_id: str) -> Measurement:
    difference = None if row_id == "base" else measured.difference(metric, row_id, "base")
    return Measurement(*measured.score(metric, row_id), difference)


def decimals_of(lines: Sequence[Line]) -> dict[Metric, int]:
    """The digits after the point of our scores, by metric: the paper's, or more where seeds vary by less."""
    base = load_table3().row("base")
    deviations = {metric: [each.measured[metric].deviation for each in lines if each.measured] for metric in Metric}
    return {metric: decimals_for(deviations[metric], base.cell(metric).decimals) for metric in Metric}


def setting_text(line: Line, key: str) -> str:
    """As printed, and in brackets ours if it differs."""
    printed, ours = printed_settings(line.row).get(key), line.changes_trained.get(key)
    if printed is None:
        return ""
    text = value_text(key, printed)
    return text if ours in (None, printed) else f"{text} ({value_text(key, ours)})"


def score_text(line: Line, metric: Metric, decimals: int) -> str:
    """Our score, with the deviation over seeds; empty until a run has finished."""
    found = line.measured.get(metric)
    return "" if found is None else with_deviation(found.value, found.deviation, decimals)


def settings_text(line: Line) -> str:
    """The settings that a row was trained with, and in brackets the paper's if they differ."""
    printed, trained = in_symbols(printed_settings(line.row)), in_symbols(line.changes_trained)
    return printed if trained in ("", printed) else f"{trained} (paper: {printed})"


def settings_beside(line: Line) -> str:
    """The paper's settings of a row, each with ours in brackets if it differs, as in "d_k=16 (4)"."""
    return in_symbols({key: setting_text(line, key) for key in printed_settings(line.row)})


def printed_to_base(row: Row, metric: Metric) -> float:
    """The row minus base in log PPL or BLEU, from the printed cells."""
    return metric.difference(row.cell(metric).number, load_table3().row("base").cell(metric).number)


def printed_difference_text(line: Line, metric: Metric) -> str:
    """The paper's row minus its base."""
    return signed(printed_to_base(line.row, metric), 1 if metric is Metric.bleu else DECIMALS[metric])


def difference_text(line: Line, metric: Metric) -> str:
    """Our row minus our base, with its interval; empty until runs of both have finished."""
    measurement = line.measured.get(metric)
    return "" if measurement is None else effect_text(measurement.difference, DECIMALS[metric])


@dataclass(frozen=True)
class RowContent:
    """One row of the table."""

    row: str
    """The row of the table."""
    group: str
    """The group of rows."""
    change_paper: str
    """The settings that the paper prints for the row, in its symbols."""
    change: str
    """Ours of these settings; empty without finished runs."""
    state: str
    """finished, or the states of its other runs; pending without runs."""
    seeds: tuple[int, ...]
    """The seeds of the finished runs."""
    ppl_paper: float
    """The paper's perplexity."""
    ppl: float | None
    """Our perplexity, the mean over seeds."""
    ppl_deviation: float | None
    """The standard deviation of our perplexity over seeds."""
    ppl_difference_paper: float
    """The paper's difference to base, of log perplexity."""
    ppl_difference: float | None
    """Our difference to base, of log perplexity."""
    ppl_difference_low: float | None
    """The lower end of the 95% interval of our difference."""
    ppl_difference_high: float | None
    """The upper end of the 95% interval of our difference."""
    bleu_paper: float
    """The paper's BLEU."""
    bleu: float | None
    """Our BLEU, the mean over seeds."""
    bleu_deviation: float | None
    """The standard deviation of our BLEU over seeds."""
    bleu_difference_paper: float
    """The paper's difference to base, of BLEU."""
    bleu_difference: float | None
    """Our difference to base, of BLEU."""
    bleu_difference_low: float | None
    """The lower end of the 95% interval of our difference."""
    bleu_difference_high: float | None
    """The upper end of the 95% interval of our difference."""
    parameters_paper: float | None
    """Millions of parameters as printed; None where blank."""
    parameters: int | None
    """Our trainable parameters."""
    settings_paper: Mapping[str, Setting]
    """The settings of the paper, by key."""
    settings: Mapping[str, Setting]
    """Ours of the settings that the table has columns for, by key; empty without finished runs."""


def row_content(line: Line) -> RowContent:
    """A row in a document for programs."""
    row = line.row
    numbers: dict[str, Any] = {}
    for metric in Metric:
        measurement = line.measured.get(metric)
        difference = measurement.difference if measurement else None
        numbers |= {
            f"{metric}_paper": row.cell(metric).number,
            metric.value: measurement.value if measurement else None,
            f"{metric}_deviation": measurement.deviation if measurement else None,
            f"{metric}_difference_paper": round(printed_to_base(row, metric), 6),
            f"{metric}_difference": difference.estimate if difference else None,
            f"{metric}_difference_low": difference.low if difference else None,
            f"{metric}_difference_high": difference.high if difference else None,
        }
    return RowContent(
        row=row.id,
        group=row.group,
        change_paper=in_symbols(printed_settings(row)),
        change=in_symbols(line.changes_trained),
        state=line.state,
        seeds=line.seeds,
        **numbers,
        parameters_paper=row.parameters.value,
        parameters=line.parameters,
        settings_paper=row.settings(load_table3()),
        settings=line.trained,
    )
