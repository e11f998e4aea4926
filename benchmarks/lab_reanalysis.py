"""The lab's studies judged anew by the rules of this code: a page and a figure, from the published data alone.

Run: python benchmarks/lab_reanalysis.py docs/results/lab

It writes reanalysis.md and reanalysis.svg into that folder, from the archives in the folders of its four studies.
"""

import argparse
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aiayn.errors import UserError
from aiayn.evaluation.agreement import PERMUTATIONS, concordance, spearman, spearman_p_value
from aiayn.evaluation.significance import log_perplexities, sentence_columns
from aiayn.paper.claims import Claim, Metric, load_claims, printed_score, read_claim
from aiayn.reports.claim_grids import effect_stated, notes
from aiayn.reports.endpoints import VALIDATIONS, Curve, at, endpoint_weights, projection_weights
from aiayn.reports.formats import markdown_table
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import FEWEST_SEEDS, STUDY, JudgedClaim, Rules, judge_claims
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.numbers import effect_text
from aiayn.reports.power import Budget, Evidence, budget_grid, claim_powers
from aiayn.reports.publication import RUNS, unpacked
from aiayn.reports.registered import RegisteredStudy, read_registered
from aiayn.reports.tables.table3_results import SEPARATION
from aiayn.reports.verdicts import CUT, POWER_CONFIDENCE
from aiayn.runs.registrations import registered_names
from aiayn.system import files
from lab_figure import Line, Panel, figure

PAGE, FIGURE = "reanalysis.md", "reanalysis.svg"

OLD_VERDICTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "capacity": {
        "reproduced": ("one_head", "too_many_heads", "learned_positions"),
        "undecided": ("wider_feed_forward",),
        "not tested": ("smaller_keys", "more_layers", "wider_layers", "big_is_best", "big_beats_longer_training"),
    },
    "overfitting": {"not tested": ("dropout", "label_smoothing")},
    "scaling": {
        "reproduced": ("scaling_helps", "scaling_helps_wide_keys", "additive_beats_unscaled"),
        "undecided": ("narrow_keys_need_none",),
    },
    "baselines": {
        "reproduced": ("attention_helps", "base_beats_convolutional"),
        "undecided": ("base_beats_recurrent",),
    },
}
"""The claims of each study by their verdict on its page, by the rules that its plan froze."""

MAY_FAIL = ("scaling_helps_wide_keys", "attention_helps")
"""Claims that expect a row to learn badly; chosen for this page, after the data had been seen."""

SHORTER = (4900, 3500)
"""Steps of `capacity` after which its claims are judged too."""

SEEDS = ((8, 5), (8, 8))
"""Seeds of base and of each other row whose power is shown, beside those that were run."""

PRECISION = {Metric.ppl: 4, Metric.bleu: 2}
"""Digits after the point of measured differences."""

LEAST_P = 0.001
"""Smaller p-values are not told apart."""

FIRST = 3
"""The validation with which the curves of the figure begin."""

PANELS = {
    "Heads (A)": ("capacity", ("a_h1", "a_h32")),
    "Width of the keys (B)": ("capacity", ("b_dk16", "b_dk32")),
    "Layers (C)": ("capacity", ("c_n2", "c_n4", "c_n8")),
    "d_model (C)": ("capacity", ("c_d256", "c_d1024")),
    "d_ff (C)": ("capacity", ("c_ff1024", "c_ff4096")),
    "Learned positions (E)": ("capacity", ("e_learned",)),
    "Dropout and label smoothing (D)": ("overfitting", ("d_drop0", "d_ls0")),
    "Other models with attention": ("baselines", ("bahdanau", "luong", "convolutional")),
}
"""The study and the rows of each panel of the figure."""

TEXT = """\
# The lab's data by later rules

**Exploratory.** The published scores and curves of [capacity](capacity/README.md),
[overfitting](overfitting/README.md), [scaling](scaling/README.md) and [baselines](baselines/README.md), judged by the
[rules](../../verdicts.md) of later studies. The verdicts of these four, by the rules of their frozen plans, stay on
their own pages. Nothing was trained for this page. `python benchmarks/lab_reanalysis.py docs/results/lab` writes it;
all results are computed, and the tests compare the old verdicts with the studies' pages.

What it is not:

- A confirmation. The rules were written after these data had been seen, and so was `may_fail`, by which
  {may_fail} are judged although a row learned badly.
- What the rules ask for: {fewest} seeds of each row of a claim. Base has {of_base}, other rows have {of_others}, and
  {alone} one.
- About the end of training alone. Validations are tenths of a training, so that the last {last} cover {covered} steps
  of `capacity`, and a difference that closes is overstated. *Closing* rests on {late} validations, and
  is said of more than half of constant differences with so few ([levels](../../verdicts.md#levels)).

{claims}

*Stated* is the paper's difference, in `scaling` and `baselines` that of the plan; of a likeness, what equal rows would
give. A negative difference of log PPL is to the better; a trend is its slope per doubling. Intervals are of 95%, those
of a likeness of 90%, by the seeds of each row alone. *Closing*: the second half of the curves does not show that the
difference is still there at one and a half times the steps. *Smaller than stated*: the interval excludes the stated
difference. This is not said where the stated difference would lead below {floor:.3f} log PPL in `capacity`, the mean of
the sentences that `base_long` translates exactly: the corpus has no room for it.

## What the rules turn

{turned}

The gates of convergence, which left claims untested, are gone: a claim is about a difference at its budget. Learned
positions are alike within a quarter of the difference that one head makes in the same runs; it was within a
fixed margin. An interval is by the seeds of its own rows; it was the wider one of this and of that by the seeds of all
rows together.

## Course of the differences

![Differences to base by step, in panels]({figure})

Log PPL on dev of each row's mean minus that of base, by validation; above 0 a row is worse. The first {hidden} of
{validations} validations, where most differences are many times as large, are not drawn. A dot with a bar is what is
judged: the mean of the last {last} validations, with its 95% interval. Each panel has a scale of its own.
[results.md](../../results.md#claims-of-the-lab-static-since-2026-11-28) explains the names of rows.
Not drawn: `scaling`, the models with one fixed context vector, and `big`.

{shorter}

The schedule of the learning rate has no horizon, so that a run at step t is one of t steps. The full budget is the one
that the plan named. A verdict of a shorter one alone may be one of speed: it shows what choosing the budget afterwards
could do. Scores of sentences exist for the final evaluation only; their variance is taken from there.

{order}

Whether the rows of `capacity` come in the paper's order; `base_long` is no row of the table. **Leaving out `big` was
decided after it had failed to learn.** P-values are one-sided, by {permutations:,} permutations of our scores. Pairs
are those that the paper separates, by more than {separation} in log PPL. Log PPL is that at the end of the curves, BLEU
that of the final evaluation; rows with one seed count like others.

{power}

The probability of "reproduced" for new seeds, if {share:.0%} of the differences above are true at each budget, and rows
claimed to be alike are equal; with the upper {bound:.0%} bound of the variance between the seeds of all rows. Power for
effects that the same runs show is no evidence for them: it tells what a study with fresh seeds is worth. For layers it
falls with more seeds, because these are likelier to show that eight layers are worse than six: not monotone.
"""


@dataclass(frozen=True)
class Published:
    """A published study, read at one budget or several."""

    claims: Sequence[Claim]
    """As they are judged here."""
    curves: Mapping[str, Sequence[Curve]]
    """Perplexity on dev of the runs of each row."""
    final: MeasuredRows
    """The scores of the final evaluations."""
    endpoints: Mapping[int, MeasuredRows]
    """The end of the curves, by steps; all steps of base first."""
    projected: Mapping[int, MeasuredRows]
    """What the curves lead to, by steps."""
    floor: float | None
    """The log PPL of sentences that base, trained longer, translates exactly; None without such a row."""

    @property
    def steps(self) -> int:
        """Of base."""
        return next(iter(self.endpoints))

    @property
    def validated(self) -> list[int]:
        """The steps of base's validations."""
        return sorted(self.curves["base"][0])

    @property
    def rules(self) -> Rules:
        """Those of studies, which here ask for no more seeds than were run; a row with one seed has no interval."""
        return replace(STUDY, fewest_seeds=1, floor=self.floor)

    def judged(self, steps: int) -> dict[str, JudgedClaim]:
        """The claims by id, after some steps."""
        found = judge_claims(self.claims, self.endpoints[steps], self.rules, projected=self.projected[steps])
        return {each.claim.id: each for each in found}


def main() -> None:
    """Write the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="with the folders of the published studies")
    folder = parser.parse_args().folder
    try:
        studies = {name: published(folder / name) for name in OLD_VERDICTS}
    except (UserError, OSError) as error:
        parser.error(str(error))
    files.write_text(folder / PAGE, page(studies))
    files.write_text(folder / FIGURE, drawing(studies))


def published(folder: Path) -> Published:
    """Read a published study; UserError if there is none."""
    with unpacked(folder.resolve(), str(folder)):
        (name,) = registered_names(Path(RUNS))
        study = read_registered(Path(RUNS), name)
        rows, final = study.rows, study.measured
        curves = {row: [run.entry.directory.validation_perplexities() for run in runs] for row, runs in rows.items()}
        shorter = SHORTER if folder.name == "capacity" else ()
        # At the full budget a row that was trained longer than base is compared at its own end.
        budgets = {max(curves["base"][0]): None, **{steps: steps for steps in shorter}}
        endpoints, projected = (
            {steps: at(final, rows, functional, until) for steps, until in budgets.items()}
            for functional in (endpoint_weights, projection_weights)
        )
        return Published([*claims_of(study)], curves, final, endpoints, projected, floor_of(study))


def claims_of(study: RegisteredStudy) -> Iterator[Claim]:
    """The claims on Table 3 as they are worded now, and the plan's own."""
    worded = {claim.id: claim for claim in load_claims()}
    for name, entry in study.registration.plan.claims.items():
        own = {key: value for key, value in entry.items() if key != "gates"}
        yield worded.get(name) or read_claim(own | {"may_fail": name in MAY_FAIL})


def floor_of(study: RegisteredStudy) -> float | None:
    """The log PPL of the sentences that `base_long` translates exactly: all n-grams match, and the length is right."""

    def is_exact(hypothesis: int, reference: int, *grams: int) -> bool:
        half = len(grams) // 2
        return hypothesis == reference and grams[:half] == grams[half:]

    sentences = [row for run in study.runs_of("base_long") for row in run.sentences("dev")]
    exact = [row for row in sentences if is_exact(*row.bleu_statistics)]
    return float(log_perplexities(sentence_columns(exact).sum(axis=0))) if exact else None


def page(studies: Mapping[str, Published]) -> str:
    """The page in Markdown."""
    capacity = studies["capacity"]
    judged = {study: each.judged(each.steps) for study, each in studies.items()}
    seeds = {(row, len(each.curves[row])) for each in studies.values() for claim in each.claims for row in claim.rows}
    counts = sorted({f"{count}" for row, count in seeds if row != "base" and count > 1})
    late = (sum(steps / 2 < each <= steps for each in capacity.validated) for steps in capacity.endpoints)
    return TEXT.format(
        may_fail=" and ".join(f"`{name}`" for name in MAY_FAIL),
        fewest=FEWEST_SEEDS,
        of_base=" or ".join({f"{count}" for row, count in seeds if row == "base"}),
        of_others=" or ".join(counts),
        alone=" and ".join(sorted(f"`{row}`" for row, count in seeds if count == 1)),
        last=VALIDATIONS,
        covered=", ".join(covered(capacity.validated, steps) for steps in capacity.endpoints),
        late=", ".join(map(str, late)),
        claims=markdown_table(claims_grid(judged)),
        floor=capacity.floor,
        turned="\n".join(turned(judged)),
        figure=FIGURE,
        hidden=FIRST - 1,
        validations=len(capacity.validated),
        shorter=markdown_table(shorter_grid(capacity)),
        order=markdown_table(order_grid(capacity)),
        permutations=PERMUTATIONS,
        separation=SEPARATION,
        power=markdown_table(budget_grid(powers(capacity, [*judged["capacity"].values()]))),
        share=CUT,
        bound=POWER_CONFIDENCE,
    )


def covered(validated: Sequence[int], steps: int) -> str:
    """The part of a budget that the validations at its end cover."""
    known = [step for step in validated if step <= steps]
    return f"{known[-VALIDATIONS] / steps:.0%} to {known[-1] / steps:.0%} of {steps:,}"


def claims_grid(judged: Mapping[str, Mapping[str, JudgedClaim]]) -> Grid:
    """A line for each claim of each study."""
    headings = ("<claim", "<by the old rules", "<by these", "<measured", "stated", "<beside it", "<claimed", "<study")
    groups = (
        tuple(
            (name, old, *claim_cells(judged[study][name]), f"[{study}]({study}/README.md)")
            for old, names in by_verdict.items()
            for name in names
        )
        for study, by_verdict in OLD_VERDICTS.items()
    )
    return Grid("Verdicts at the full budget", headings, tuple(groups))


def claim_cells(judged: JudgedClaim) -> tuple[str, ...]:
    """The verdict on a claim, its comparisons, and what is beside it."""
    claimed = (each.comparison.text for each in judged.primary)
    stated = (effect_stated(each.comparison) for each in judged.primary)
    found, of_paper, words = ("<br>".join(cells) for cells in (measured(judged), stated, claimed))
    return judged.verdict.value, found, of_paper, beside(judged), words


def beside(judged: JudgedClaim) -> str:
    """What is said beside a verdict, and why there is none."""
    return ", ".join(filter(None, (judged.reason, *notes(judged))))


def measured(judged: JudgedClaim) -> Iterator[str]:
    """The contrasts of a claim with their intervals; the verdicts of several that were tested."""
    for each in judged.primary:
        verdict = f", {each.verdict.value}" if len(judged.primary) > 1 and not judged.reason else ""
        yield effect_text(each.effect, PRECISION[each.comparison.metric]) + verdict


def turned(judged: Mapping[str, Mapping[str, JudgedClaim]]) -> Iterator[str]:
    """The claims by old and new verdict, as items of a list; those whose verdict is another one first."""
    found: dict[tuple[str, str], list[str]] = {}
    for study, by_verdict in OLD_VERDICTS.items():
        for old, names in by_verdict.items():
            for name in names:
                found.setdefault((old, judged[study][name].verdict.value), []).append(f"`{name}`")
    for (old, new), changed in sorted(found.items(), key=lambda each: (each[0][0] == each[0][1], *each[0])):
        yield f"- {old}, {'still' if old == new else 'now'} **{new}**: {', '.join(sorted(changed))}."


def shorter_grid(study: Published) -> Grid:
    """The verdicts by budget, with the contrasts behind them."""
    by_steps = [study.judged(steps) for steps in study.endpoints]

    def cell(judged: JudgedClaim) -> str:
        verdict = ", ".join(filter(None, (f"**{judged.verdict.value}**", beside(judged))))
        return "<br>".join((verdict, *measured(judged)))

    tested = (name for name, judged in by_steps[0].items() if not judged.reason)
    lines = tuple((name, *(cell(judged[name]) for judged in by_steps)) for name in tested)
    headings = ("<claim", *(f"<{steps:,} steps" for steps in study.endpoints))
    return Grid("Verdicts on `capacity` at shorter budgets", headings, (lines,))


def order_grid(study: Published) -> Grid:
    """The agreement of the order of rows with the paper's, without and with `big`."""
    rows = [row for row in study.curves if row != "base_long"]
    learned = [row for row in rows if row != "big"]
    lines = tuple(
        (name, metric.compared, *order_cells(study, metric, chosen))
        for name, chosen in (("without", learned), ("with", rows))
        for metric in Metric
    )
    headings = ("<`big`", "<order of", "rows", "Spearman", "p", "pairs", "in order", "p of pairs")
    return Grid("The order of all rows", headings, (lines,))


def order_cells(study: Published, metric: Metric, rows: Sequence[str]) -> tuple[str, ...]:
    """The agreement of some rows by one metric."""
    found = (study.endpoints[study.steps] if metric is Metric.ppl else study.final).compared(metric)
    ours, printed = [found[row] for row in rows], [printed_score(metric, row) for row in rows]
    pairs = concordance(printed, ours, separation=SEPARATION if metric is Metric.ppl else 0.0, seed=0)
    p, p_of_pairs = (
        f"{each:.3f}" if each >= LEAST_P else f"< {LEAST_P}"
        for each in (spearman_p_value(printed, ours, seed=0), pairs.p_value)
    )
    return f"{len(rows)}", f"{spearman(printed, ours):.2f}", p, f"{pairs.pairs}", f"{pairs.concordant}", p_of_pairs


def powers(study: Published, judged: Sequence[JudgedClaim]) -> list[Budget]:
    """The power of new seeds for the claims that were tested, by steps and seeds."""
    claims = [each.claim for each in judged if not each.reason]
    evidence = Evidence(
        "base", {steps: study.endpoints[steps] for steps in sorted(study.endpoints)}, tells_effects=True
    )
    plans = {"as run": {row: len(runs) for row, runs in study.curves.items()}} | {
        f"{own} of base, {others} of others": {**dict.fromkeys(study.curves, others), "base": own}
        for own, others in SEEDS
    }
    return [
        Budget(steps, name, seeds, claim_powers(claims, seeds, evidence, study.rules, steps))
        for steps in evidence.measured
        for name, seeds in plans.items()
    ]


def drawing(studies: Mapping[str, Published]) -> str:
    """The figure: the rows' differences to base."""
    panels = [
        Panel(title, named_steps(studies[study]), [line_of(studies[study], row) for row in rows])
        for title, (study, rows) in PANELS.items()
    ]
    return figure(panels, "Log PPL of rows minus that of base, by step")


def named_steps(study: Published) -> list[int]:
    """Those below a panel."""
    return sorted({study.steps // 2, *study.endpoints})


def line_of(study: Published, row: str) -> Line:
    """The difference of a row's mean to base's by validation, and that which is judged."""
    points = [
        (step, mean_log_ppl(study.curves[row], step) - mean_log_ppl(study.curves["base"], step))
        for step in study.validated[FIRST - 1 :]
    ]
    effect = study.endpoints[study.steps].contrast(Metric.ppl, {row: 1.0, "base": -1.0}, pooled=False)
    assert effect is not None and effect.low is not None and effect.high is not None  # noqa: PT018
    return Line(row, points, effect.estimate, effect.low, effect.high)


def mean_log_ppl(curves: Sequence[Curve], step: int) -> float:
    """The mean of runs at a step."""
    return statistics.fmean(math.log(curve[step]) for curve in curves)


if __name__ == "__main__":
    main()
