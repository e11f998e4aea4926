"""The lab's studies judged anew by the rules of this code: a page and a figure, from their published data and pages.

Run: python benchmarks/lab_reanalysis.py docs/results/lab

It writes reanalysis.md and reanalysis.svg into that folder, from the folders of its four studies.
"""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from aiayn.errors import UserError
from aiayn.evaluation.agreement import PERMUTATIONS, concordance, spearman, spearman_p_value
from aiayn.evaluation.bleu import MAX_ORDER
from aiayn.evaluation.significance import log_perplexities, sentence_columns
from aiayn.extensions.lab.power import Budget, Evidence, budget_grid, claim_powers
from aiayn.extensions.lab.publication import RUNS, unpacked
from aiayn.extensions.lab.registered import RegisteredStudy, read_registered
from aiayn.extensions.lab.registrations import registered_names
from aiayn.paper.claims import Claim, Metric, load_claims, printed_score, read_claim
from aiayn.reports.claim_grids import effect_stated, notes
from aiayn.reports.endpoints import VALIDATIONS, Curve, at, endpoint_weights, projection_weights
from aiayn.reports.formats import markdown_table
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import FEWEST_SEEDS, STUDY, JudgedClaim, Rules, judge_claims
from aiayn.reports.measured import MeasuredRows
from aiayn.reports.numbers import effect_text
from aiayn.reports.tables.table3_results import SEPARATION
from aiayn.reports.verdicts import CUT, POWER_CONFIDENCE, Verdict
from aiayn.system import files
from lab_figure import Line, Panel, figure

PAGE, FIGURE = "reanalysis.md", "reanalysis.svg"

STUDIES = ("capacity", "overfitting", "scaling", "baselines")

OLD_VERDICT = re.compile(rf"^\| (\w+) \|(?: [^|]* \|){{2}} ({'|'.join(Verdict)}) \|", re.MULTILINE)
"""A claim and its verdict on a study's page, by the rules that its plan froze."""

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

TEXT = f"""\
# The lab's data by later rules

**Exploratory.** The published scores and curves of [capacity](capacity/README.md),
[overfitting](overfitting/README.md), [scaling](scaling/README.md) and [baselines](baselines/README.md), judged by the
[rules](../../verdicts.md) of later studies. The verdicts of these four, by the rules of their frozen plans, stay on
their own pages. Nothing was trained for this page. `python benchmarks/lab_reanalysis.py docs/results/lab` writes it;
all results are computed, and the tests compare the old verdicts with the studies' pages.

What it is not:

- A confirmation. The rules were written after these data had been seen, and so was `may_fail`, by which
  {" and ".join(f"`{name}`" for name in MAY_FAIL)} are judged although a row learned badly.
- What the rules ask for: {FEWEST_SEEDS} seeds of each row of a claim. Base has 6, other rows have 3 or 4, and
  `base_long` and `big` one.
- About the end of training alone. Validations are tenths of a training, so that the last {VALIDATIONS} cover \
80% to 100% of 7,000, 71% to 100% of 4,900, 60% to 100% of 3,500 steps
  of `capacity`, and a difference that closes is overstated. *Closing* rests on 5, 4, 3 validations, and
  is said of more than half of constant differences with so few ([levels](../../verdicts.md#levels)).

{{claims}}

*Stated* is the paper's difference, in `scaling` and `baselines` that of the plan; of a likeness, what equal rows would
give. A negative difference of log PPL is to the better; a trend is its slope per doubling. Intervals are of 95%, those
of a likeness of 90%, by the seeds of each row alone. *Closing*: the second half of the curves does not show that the
difference is still there at one and a half times the steps. *Smaller than stated*: the interval excludes the stated
difference. This is not said where the stated difference would lead below {{floor:.3f}} log PPL in `capacity`, \
the mean of
the sentences that `base_long` translates exactly: the corpus has no room for it.

## What the rules turn

{{turned}}

The gates of convergence, which left claims untested, are gone: a claim is about a difference at its budget. Learned
positions are alike within a quarter of the difference that one head makes in the same runs; it was within a
fixed margin. An interval is by the seeds of its own rows; it was the wider one of this and of that by the seeds of all
rows together.

## Course of the differences

![Differences to base by step, in panels]({FIGURE})

Log PPL on dev of each row's mean minus that of base, by validation; above 0 a row is worse. The first {FIRST - 1} of
10 validations, where most differences are many times as large, are not drawn. A dot with a bar is what is
judged: the mean of the last {VALIDATIONS} validations, with its 95% interval. Each panel has a scale of its own.
[results.md](../../results.md#claims-of-the-lab-static-since-2026-11-28) explains the names of rows.
Not drawn: `scaling`, the models with one fixed context vector, and `big`.

{{shorter}}

The schedule of the learning rate has no horizon, so that a run at step t is one of t steps. The full budget is the one
that the plan named. A verdict of a shorter one alone may be one of speed: it shows what choosing the budget afterwards
could do. Scores of sentences exist for the final evaluation only; their variance is taken from there.

{{order}}

Whether the rows of `capacity` come in the paper's order; `base_long` is no row of the table. **Leaving out `big` was
decided after it had failed to learn.** P-values are one-sided, by {PERMUTATIONS:,} permutations of our scores. Pairs
are those that the paper separates, by more than {SEPARATION} in log PPL. Log PPL is that at the end of the curves, BLEU
that of the final evaluation; rows with one seed count like others.

{{power}}

The probability of "reproduced" for new seeds, if {CUT:.0%} of the differences above are true at each budget, and rows
claimed to be alike are equal; with the upper {POWER_CONFIDENCE:.0%} bound of the variance between \
the seeds of all rows. Power for
effects that the same runs show is no evidence for them: it tells what a study with fresh seeds is worth. For layers it
falls with more seeds, because these are likelier to show that eight layers are worse than six: not monotone.
"""
"""The page; of its numbers those of the four designs, which cannot change, are typed."""


@dataclass(frozen=True)
class Published:
    """A published study, judged at one budget or several."""

    steps: int
    """Of base."""
    curves: Mapping[str, Sequence[Curve]]
    """Perplexity on dev of the runs of each row."""
    ends: Mapping[int, MeasuredRows]
    """The end of the curves, by steps; all steps of base first."""
    claims: Mapping[int, Sequence[JudgedClaim]]
    """All claims of the plan, judged after the same steps."""
    turned: Sequence[tuple[str, JudgedClaim]]
    """The claims after all steps, each with its verdict on the study's page; from reproduced to not tested."""
    rules: Rules


def main() -> None:
    """Write the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="with the folders of the published studies")
    folder = parser.parse_args().folder
    try:
        studies = {name: published(folder / name) for name in STUDIES}
    except (UserError, OSError) as error:
        parser.error(str(error))
    files.write_text(folder / PAGE, page(studies))
    files.write_text(folder / FIGURE, drawing(studies))


def published(folder: Path) -> Published:
    """Read a published study; UserError if there is none."""
    readme = folder.resolve() / "README.md"
    with unpacked(readme.parent, str(folder)):
        (name,) = registered_names(Path(RUNS))
        study = read_registered(Path(RUNS), name)
        old = sorted(OLD_VERDICT.findall(files.read_text(readme)), key=lambda each: [*Verdict].index(each[1]))
        curves = {
            row: [run.entry.directory.validation_perplexities() for run in runs] for row, runs in study.rows.items()
        }
        # No more seeds are asked for than were run; a row with one seed has no interval.
        rules = replace(STUDY, fewest_seeds=1, floor=floor_of(study))
        full, ends, judged = max(curves["base"][0]), {}, {}
        for steps in (full, *(SHORTER if folder.name == "capacity" else ())):
            # After all steps a row that was trained longer than base is compared at its own end.
            ends[steps], projected = (
                at(study.measured, study.rows, functional, None if steps == full else steps)
                for functional in (endpoint_weights, projection_weights)
            )
            judged[steps] = judge_claims([*claims_of(study)], ends[steps], rules, projected=projected)
        by_id = {each.claim.id: each for each in judged[full]}
        turned = [(verdict, by_id[claim]) for claim, verdict in old]
        return Published(full, curves, ends, judged, turned, rules)


def claims_of(study: RegisteredStudy) -> Iterator[Claim]:
    """The claims on Table 3 as they are worded now, and the plan's own."""
    worded = {claim.id: claim for claim in load_claims()}
    for name, entry in study.registration.plan.claims.items():
        own = {key: value for key, value in entry.items() if key != "gates"}
        yield worded.get(name) or read_claim(own | {"may_fail": name in MAY_FAIL})


def floor_of(study: RegisteredStudy) -> float | None:
    """The log PPL of the sentences that `base_long` translates exactly: all n-grams match, and the length is right."""

    def is_exact(hypothesis: int, reference: int, *grams: int) -> bool:
        return hypothesis == reference and grams[:MAX_ORDER] == grams[MAX_ORDER:]

    sentences = (row for run in study.runs_of("base_long") for row in run.sentences("dev"))
    exact = [row for row in sentences if is_exact(*row.bleu_statistics)]
    return float(log_perplexities(sentence_columns(exact).sum(axis=0))) if exact else None


def page(studies: Mapping[str, Published]) -> str:
    """The page in Markdown."""
    capacity = studies["capacity"]
    return TEXT.format(
        claims=markdown_table(claims_grid(studies)),
        floor=capacity.rules.floor,
        turned="\n".join(turned(studies)),
        shorter=markdown_table(shorter_grid(capacity)),
        order=markdown_table(order_grid(capacity)),
        power=markdown_table(budget_grid(powers(capacity))),
    )


def claims_grid(studies: Mapping[str, Published]) -> Grid:
    """A line for each claim of each study."""

    def line(study: str, old: str, judged: JudgedClaim) -> tuple[str, ...]:
        stated = "<br>".join(effect_stated(each.comparison) for each in judged.primary)
        claimed = "<br>".join(each.comparison.text for each in judged.primary)
        found = judged.verdict, measured(judged), stated, ", ".join(beside(judged))
        return judged.claim.id, old, *found, claimed, f"[{study}]({study}/README.md)"

    headings = ("<claim", "<by the old rules", "<by these", "<measured", "stated", "<beside it", "<claimed", "<study")
    groups = (tuple(line(name, *each) for each in study.turned) for name, study in studies.items())
    return Grid("Verdicts at the full budget", headings, tuple(groups))


def beside(judged: JudgedClaim) -> list[str]:
    """Why there is no verdict, and what is said beside one."""
    return [*filter(None, (judged.reason, *notes(judged)))]


def measured(judged: JudgedClaim) -> str:
    """The contrasts of a claim with their intervals; the verdicts of several that were tested."""
    shows_verdicts = len(judged.primary) > 1 and not judged.reason
    return "<br>".join(
        effect_text(each.effect, PRECISION[each.comparison.metric]) + f", {each.verdict}" * shows_verdicts
        for each in judged.primary
    )


def turned(studies: Mapping[str, Published]) -> Iterator[str]:
    """The claims by old and new verdict, as items of a list; those whose verdict is another one first."""
    found: dict[tuple[bool, str, str], list[str]] = {}
    for old, judged in (each for study in studies.values() for each in study.turned):
        found.setdefault((old == judged.verdict, old, judged.verdict), []).append(f"`{judged.claim.id}`")
    for (is_same, old, new), names in sorted(found.items()):
        yield f"- {old}, {'still' if is_same else 'now'} **{new}**: {', '.join(sorted(names))}."


def shorter_grid(study: Published) -> Grid:
    """The verdicts by budget, with the contrasts behind them."""

    def cell(judged: JudgedClaim) -> str:
        return f"{', '.join((f'**{judged.verdict}**', *beside(judged)))}<br>{measured(judged)}"

    tested = (claims for claims in zip(*study.claims.values(), strict=True) if not claims[0].reason)
    lines = ((claims[0].claim.id, *map(cell, claims)) for claims in tested)
    headings = ("<claim", *(f"<{steps:,} steps" for steps in study.claims))
    return Grid("Verdicts on `capacity` at shorter budgets", headings, (tuple(lines),))


def order_grid(study: Published) -> Grid:
    """The agreement of the order of rows with the paper's, without and with `big`."""

    def line(name: str, rows: Sequence[str], metric: Metric) -> tuple[str, ...]:
        found = study.ends[study.steps].compared(metric)
        ours, printed = [found[row] for row in rows], [printed_score(metric, row) for row in rows]
        pairs = concordance(printed, ours, separation=SEPARATION if metric is Metric.ppl else 0.0, seed=0)
        p, p_of_pairs = (
            f"{each:.3f}" if each >= LEAST_P else f"< {LEAST_P}"
            for each in (spearman_p_value(printed, ours, seed=0), pairs.p_value)
        )
        agreement = f"{len(rows)}", f"{spearman(printed, ours):.2f}", p
        return name, metric.compared, *agreement, f"{pairs.pairs}", f"{pairs.concordant}", p_of_pairs

    rows = [row for row in study.curves if row != "base_long"]
    chosen = {"without": [row for row in rows if row != "big"], "with": rows}
    headings = ("<`big`", "<order of", "rows", "Spearman", "p", "pairs", "in order", "p of pairs")
    lines = tuple(line(*each, metric) for each in chosen.items() for metric in Metric)
    return Grid("The order of all rows", headings, (lines,))


def powers(study: Published) -> list[Budget]:
    """The power of new seeds for the claims that were tested, by steps and seeds."""
    claims = [each.claim for each in study.claims[study.steps] if not each.reason]
    evidence = Evidence("base", dict(sorted(study.ends.items())))
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
        Panel(title, sorted({studies[study].steps // 2, *studies[study].ends}), [*lines_of(studies[study], rows)])
        for title, (study, rows) in PANELS.items()
    ]
    return figure(panels, "Log PPL of rows minus that of base, by step")


def lines_of(study: Published, rows: Sequence[str]) -> Iterator[Line]:
    """The difference of each row's mean to base's by validation, and that which is judged."""
    steps = sorted(study.curves["base"][0])[FIRST - 1 :]
    means = {
        row: np.log([[curve[step] for step in steps] for curve in study.curves[row]]).mean(axis=0)
        for row in ("base", *rows)
    }
    for row in rows:
        effect = study.ends[study.steps].contrast(Metric.ppl, {row: 1.0, "base": -1.0}, pooled=False)
        assert effect is not None and effect.low is not None and effect.high is not None  # noqa: PT018
        points = [*zip(steps, map(float, means[row] - means["base"]), strict=True)]
        yield Line(row, points, effect.estimate, effect.low, effect.high)


if __name__ == "__main__":
    main()
