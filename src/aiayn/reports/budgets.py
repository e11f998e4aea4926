"""The budget of a training: its steps and the size of its batches, which runs share to be compared."""

from collections.abc import Iterator, Mapping

from aiayn.paper.tables import Row, load_table3
from aiayn.reports.comparability import PREFIX, Difference, fits_printed
from aiayn.reports.reported_runs import ReportedRun
from aiayn.reports.studies import are_planned_together
from aiayn.runs.evaluations import Evaluation
from aiayn.runs.ledger import read_entry
from aiayn.system import files

STEPS = "optimization.max_steps"
BUDGET = (STEPS, "optimization.source_tokens", "optimization.target_tokens")

REMEDY = (
    "train one of them with the other's steps and batches, or freeze a study that compares them; `aiayn report "
    "comparison` shows the scores of both"
)


def budget_differences(run: ReportedRun, other: ReportedRun) -> Iterator[Difference]:
    """Steps and sizes of batches that keep two runs from sharing a difference.

    Steps may be those of the runs' rows in the paper, at their scale or in the printed proportion: big is trained three
    times as long as base. Rows that the plan of a study compares may have any.
    """
    unequal = list(_unequal(run, other))
    if unequal and not are_planned_together(run.path, other.path):
        yield from (each for each in unequal if each.key != STEPS or not _are_printed(run, other))


def budgets_text(run: ReportedRun, other: ReportedRun) -> str:
    """Both budgets, as in "300 steps of 25,000 tokens against 100 of 25,000"; empty if they are equal."""
    if not any(_unequal(run, other)):
        return ""
    return f"{_text(run)} against {_text(other)}"


def budget_remarks(runs: Mapping[str, ReportedRun], reference: str) -> Iterator[str]:
    """A line for each row whose difference to the reference is one of unequal budgets, by a run of each row."""
    for name, run in runs.items() if reference in runs else ():
        if text := budgets_text(run, runs[reference]):
            yield f"budgets of {name} − {reference}: {text}"


def evaluated_budget_differences(first: Evaluation, second: Evaluation) -> Iterator[Difference]:
    """The same of the runs of two evaluations; a budget that is not known differs from none."""
    runs = _trained(first), _trained(second)
    if runs[0] is not None and runs[1] is not None:
        yield from budget_differences(runs[0], runs[1])


def evaluated_budgets(first: Evaluation, second: Evaluation) -> Iterator[str]:
    """A line if the budgets of the runs of two evaluations, A and B, differ or are not known."""
    runs = _trained(first), _trained(second)
    if runs[0] is None or runs[1] is None:
        unknown = (letter for letter, run in zip("AB", runs, strict=True) if run is None)
        yield f"budgets: the steps and batches of {' and '.join(unknown)} are unknown, so they may differ"
    elif text := budgets_text(runs[0], runs[1]):
        yield f"budgets: {text}"


def _trained(evaluation: Evaluation) -> ReportedRun | None:
    """The run of an evaluation; None of an imported model, whose training is unknown."""
    record, directory = evaluation.record, evaluation.directory
    is_known = record.imported is None and files.is_file(directory.config)
    return ReportedRun(read_entry(directory), record) if is_known else None


def _unequal(run: ReportedRun, other: ReportedRun) -> Iterator[Difference]:
    for key in BUDGET:
        own, theirs = run.settings.get(key), other.settings.get(key)
        if own != theirs:
            yield Difference(key, own, theirs, REMEDY)


def _text(run: ReportedRun) -> str:
    steps, source, target = (
        f"{value:,}" if isinstance(value, int) else f"{value}" for value in map(run.settings.get, BUDGET)
    )
    return f"{steps} steps of {source if source == target else f'{source} source and {target} target'} tokens"


def _are_printed(run: ReportedRun, other: ReportedRun) -> bool:
    """Whether the paper prints different steps for the rows of both, and these are theirs."""
    rows = [_row(each.record.experiment) for each in (run, other)]
    if rows[0] is None or rows[1] is None:
        return False
    printed, printed_there = (row.settings(load_table3())[STEPS] for row in rows if row is not None)
    value, other_value = (each.settings.get(STEPS) for each in (run, other))
    scale = run.content.get("scale") or {}
    return printed != printed_there and fits_printed(STEPS, value, other_value, printed, printed_there, scale)


def _row(experiment: str) -> Row | None:
    """The row of Table 3 that an experiment trains, also one of Table 2, such as table2/big_en_de."""
    name = experiment.removeprefix(PREFIX)
    if experiment.startswith("table2/"):
        name = experiment.removeprefix("table2/").partition("_")[0]
    return next((row for row in load_table3().rows if row.id == name), None)
