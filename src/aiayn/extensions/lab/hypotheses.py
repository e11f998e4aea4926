"""The report of a pre-registered study: rows, claims, the frozen plan, and every deviation from it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from aiayn.config.report_schema import ReportConfig
from aiayn.errors import UserError
from aiayn.evaluation.decisions import Noise
from aiayn.extensions.lab.deviations import Deviation, Kind, deviations_of
from aiayn.extensions.lab.planned import allows_look, read_study
from aiayn.extensions.lab.registered import RegisteredStudy, seeds_in
from aiayn.extensions.lab.registrations import FOLDER, StudyTerms, read_looks
from aiayn.paper.claims import Metric
from aiayn.reports.beside_base import Summary, beside, effects_between
from aiayn.reports.budgets import budget_remarks
from aiayn.reports.claim_grids import DECIMALS, RULE_REMARKS, claim_grids, untested_remarks
from aiayn.reports.code_versions import code_versions, version_remarks
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, Evidence, show
from aiayn.reports.grid import Grid
from aiayn.reports.judgement import ClaimContent
from aiayn.reports.numbers import counted, decimals_for, with_deviation
from aiayn.reports.run_facts import origin_remarks, seed_grid
from aiayn.reports.verdicts import Verdict
from aiayn.runs.public import public_command
from aiayn.system.documents import NullIsInfinity

_Seeds = TypedDict(
    "_Seeds",
    {
        "planned": Annotated[tuple[int, ...], Field(description="The planned seeds.")],
        "in": Annotated[tuple[int, ...], Field(description="The seeds of the runs in the analysis.")],
    },
)


class RowSeeds(_Seeds):
    """The seeds of a row."""


class StudyRowContent(TypedDict):
    """A row of the study; its scores are there if a run of it has finished."""

    overrides: tuple[str, ...]
    """The settings of the row, as words of the command line."""
    seeds: RowSeeds
    """The seeds of its runs."""
    ppl: NotRequired[Annotated[float, NullIsInfinity]]
    """The perplexity on dev, the mean over seeds."""
    ppl_deviation: NotRequired[float | None]
    """The standard deviation of the perplexity over seeds; None for one seed."""
    bleu: NotRequired[float]
    """BLEU on dev, the mean over seeds."""
    bleu_deviation: NotRequired[float | None]
    """The standard deviation of BLEU over seeds; None for one seed."""


@dataclass(frozen=True)
class PlannedRunContent:
    """A planned run and its present state."""

    run: str
    """The name of the run below the folder of runs."""
    row: str
    """The row that it is a run of."""
    seed: int
    """The seed."""
    state: str
    """The state of the run, or how it differs from the planned one; in if it is in the analysis."""


@dataclass(frozen=True)
class HypothesesContent(Content):
    """A pre-registered study: aiayn report hypotheses."""

    schema: ClassVar = "hypotheses/2"

    study: str
    """The name of the study."""
    is_complete: bool
    """Whether all planned runs are in the analysis."""
    rows: Mapping[str, StudyRowContent]
    """The rows, by name."""
    claims: tuple[ClaimContent, ...]
    """The claims, judged."""
    deviations: tuple[Deviation, ...]
    """The deviations from the plan."""
    registration: Mapping[str, Any]
    """The frozen plan, as its file has it."""
    planned: tuple[PlannedRunContent, ...]
    """The planned runs."""
    noises: Mapping[Metric, Noise]
    """The upper bounds of the variances by which power was computed, by metric; empty if unknown."""
    last_of_rules: str | None
    """The commit that judges the claims of a plan with other rules; None for these rules."""


def report_hypotheses(config: ReportConfig, output: Path | None) -> None:
    """Print the report, write it to a .md or .json file, or publish it with the data of its runs.

    A report on an unfinished study is recorded as a look. With `wandb`, W&B's summaries of the runs get the results.
    """
    if config.study is None:
        raise UserError("study has no value: state the name of a study, as in study=own_idea")
    folder = Path(config.paths.runs)
    study = read_study(folder, config.study)
    if config.published is None:
        study.record_look()
    show(replace(document(study), evidence=Evidence(study.shown, "dev")), output)
    if config.wandb:
        from aiayn.reports.wandb_summaries import update_summaries  # imports wandb

        summaries = of_study(study)
        compared = [run for row in study.compared_rows for run in study.runs_of(row)]
        update_summaries(summaries, others=len(compared) - len(summaries))


def of_study(study: RegisteredStudy) -> dict[Path, Summary]:
    """The summaries of a study's runs in the analysis beside its base, by run directory.

    Before its end there are none, unless the plan allows looks. A verdict is due for a row if all planned runs of it
    and of base are in.
    """
    base, found = study.registration.plan.base, dict[Path, Summary]()
    if not allows_look(study):
        return found
    missing = {each.row for each in study.planned if each.run is None}
    for row in study.compared_rows:
        effects = effects_between(study.measured, row, base)
        runs = study.runs_of(row)
        if effects is not None:
            summary = beside(effects, runs, study.runs_of(base)).summary(is_whole=not {row, base} & missing)
            found |= {run.path: summary for run in runs}
    return found


def document(study: RegisteredStudy) -> Document:
    """The report as plain data."""
    deviations = deviations_of(study)
    versions = code_versions((run.path, run.record) for run in study.finished)
    return Document(
        title=f"The study {study.name}",
        written=f"Written by `aiayn report hypotheses study={study.name}` from the records of the runs.",
        grids=[
            _rows(study),
            *claim_grids(study.claims, claimant="the study", stated="stated"),
            *_at_other_budgets(study),
            _plan(study),
            *([_deviations(deviations)] if deviations else []),
            *([seed_grid(study.finished, "dev")] if study.finished else []),
        ],
        remarks=[
            *_remarks(study, deviations),
            *origin_remarks([run.record for run in study.finished]),
            *version_remarks(versions),
        ],
        lead=_lead(study, deviations),
        remarks_title="Conditions and remarks",
        runs=[run.path for run in study.finished],
        content=_content(study, deviations),
    )


def _lead(study: RegisteredStudy, deviations: Sequence[Deviation]) -> str:
    planned = len(study.planned)
    if study.is_complete:
        early = any(deviation.kind is Kind.early for deviation in deviations)
        late = " The plan was frozen after runs of it had begun: their results may have been known." if early else ""
        return f"All {planned} planned runs are in; {counted(len(deviations), 'deviation')} from the plan.{late}"
    return f"{len(study.finished)} of {planned} planned runs are in: a look before the end."


def _rows(study: RegisteredStudy) -> Grid:
    lines = []
    decimals = {
        metric: decimals_for(study.measured.by(metric).deviations, 2) if study.finished else 2 for metric in Metric
    }
    for row, planned in study.registration.plan.rows.items():
        scores = ["", ""]
        if row in study.measured.places:
            scores = [with_deviation(*study.measured.score(metric, row), decimals[metric]) for metric in Metric]
        lines.append((row, " ".join(planned.overrides), seeds_in(study)[row], *scores))
    return Grid("Rows", ("<row", "<settings", "seeds", "PPL (dev)", "BLEU (dev)"), (tuple(lines),))


def _plan(study: RegisteredStudy) -> Grid:
    registration, looks = study.registration, len(read_looks(study.folder, study.name))
    pilots = registration.plan.other.get("pilots")  # of earlier rules
    facts = {
        "frozen": f"{registration.time}, by {registration.code.text}",
        "command": public_command(registration.command),
        "file": f"{FOLDER}/{study.name}.json",
        "sha256": registration.sha256,
        "seeds": ", ".join(f"{row} {count}" for row, count in registration.plan.seeds.items()),
        **({"pilots": ", ".join(f"{row} {len(runs)}" for row, runs in pilots.items())} if pilots else {}),
        "looks": f"{'allowed' if registration.plan.looks else 'none allowed'}; {looks} recorded",
        "variance": _variance(study),
        **dict(_terms(registration.plan.terms)),
        "analysis": ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in registration.plan.analysis.items()
        ),
    }
    return Grid("The plan", ("<fact", "<value"), (tuple(facts.items()),))


def _terms(terms: StudyTerms) -> Iterator[tuple[str, str]]:
    if terms.floor is not None:
        yield "floor", f"log PPL {terms.floor.log_ppl}: {terms.floor.why}"
    if terms.steps:
        yield "further budgets", ", ".join(f"{steps:,} steps" for steps in terms.steps)
    if terms.processors:
        yield "processors", ", ".join(terms.processors)
    if terms.power_from is not None:
        yield "power from", terms.power_from


def _at_other_budgets(study: RegisteredStudy) -> Iterator[Grid]:
    """The claims after fewer steps, which are shown beside those of all and never chosen from."""
    for steps in study.registration.plan.terms.steps:
        yield from claim_grids(
            study.claims_at(steps), claimant="the study", stated="stated", beside=f" after {steps:,} steps only"
        )[:2]


def _variance(study: RegisteredStudy) -> str:
    """The standard deviation between seeds that power was computed with, in words."""
    noises = study.registration.noises
    if noises is None:
        return "unknown: no power was computed"
    parts = (f"{math.sqrt(noise.seeds):.{DECIMALS[metric] + 1}f} {metric.compared}" for metric, noise in noises.items())
    return f"standard deviation between seeds, upper bound: {' and '.join(parts)}"


def _deviations(deviations: Sequence[Deviation]) -> Grid:
    lines = tuple((deviation.kind.value, deviation.text) for deviation in deviations)
    return Grid("Deviations from the plan", ("<kind", "<deviation"), (lines,))


def _remarks(study: RegisteredStudy, deviations: Sequence[Deviation]) -> Iterator[str]:
    if not deviations:
        yield "deviations from the plan: none"
    if study.finished:
        run = study.finished[0]
        facts = {**run.conditions, "fidelity": run.record.fidelity, **run.dev_conditions}
        yield ", ".join(f"{key} {value}" for key, value in facts.items())
    if study.last_of_rules is not None:
        yield study.rules_remark
        return
    yield 'power: the probability of "reproduced" if the assumed effects are true, as computed when the plan was frozen'
    yield from RULE_REMARKS
    yield (
        "log PPL of claims: mean of the last three validations; scores of rows, BLEU and the variance by sentences: of "
        "the final evaluation; 95% intervals: with the variance between the seeds of each row (Welch), paired by "
        "sentence; a claim is tested when all its planned runs are in"
    )
    for steps in study.registration.plan.terms.steps:
        yield f"after {steps:,} steps the last validations cover a larger share of the steps; no verdict rests on them"
        reproduced = {each.claim.id for each in study.claims if each.verdict is Verdict.reproduced}
        for judged in study.claims_at(steps):
            if judged.verdict is Verdict.reproduced and judged.claim.id not in reproduced:
                yield f"{judged.claim.id}: at {steps:,} steps only"
    if study.finished:
        yield from budget_remarks({row: runs[0] for row, runs in study.rows.items()}, study.registration.plan.base)
    yield from untested_remarks(study.claims)


def _content(study: RegisteredStudy, deviations: Sequence[Deviation]) -> HypothesesContent:
    registration = study.registration
    return HypothesesContent(
        study=study.name,
        is_complete=study.is_complete,
        rows={row: _row_content(study, row) for row in registration.plan.rows},
        claims=tuple(judged.content for judged in study.claims),
        deviations=tuple(deviations),
        registration=registration.plain(),
        planned=tuple(
            PlannedRunContent(each.name, each.row, each.seed, each.state or each.change or "in")
            for each in study.planned
        ),
        noises=registration.noises or {},
        last_of_rules=study.last_of_rules,
    )


def _row_content(study: RegisteredStudy, row: str) -> StudyRowContent:
    planned, seeds = study.registration.plan.rows[row], tuple(run.record.seed for run in study.runs_of(row))
    content = StudyRowContent(
        overrides=planned.overrides, seeds=RowSeeds({"planned": tuple(sorted(planned.runs)), "in": seeds})
    )
    if row in study.measured.places:
        content["ppl"], content["ppl_deviation"] = study.measured.score(Metric.ppl, row)
        content["bleu"], content["bleu_deviation"] = study.measured.score(Metric.bleu, row)
    return content
