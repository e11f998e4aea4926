"""Runs the stages of pre-registered studies: pilots, freezing the plan, and runs; other commands get all rows."""

import logging
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig

from aiayn.config.absolute import make_absolute
from aiayn.config.compose import without_hydra
from aiayn.config.computed import check_computed_keys
from aiayn.config.data_schema import ParsedDataConfig
from aiayn.config.difference import SWEPT_VARIABLE
from aiayn.config.freeze import plain
from aiayn.config.identity import run_settings
from aiayn.config.store import SWEEPS
from aiayn.config.sweep_schema import Stage
from aiayn.config.third_parties import trial_reason
from aiayn.costs.plan import Plan
from aiayn.errors import UserError
from aiayn.paper.claims import load_claims
from aiayn.paper.tables import load_table3
from aiayn.reports.comparability import PREFIX as TABLE3
from aiayn.reports.comparability import RowSettings, row_setting_differences
from aiayn.reports.judgement import FEWEST_SEEDS
from aiayn.reports.power import Evidence, Pilots, budgets, claim_powers, published_evidence
from aiayn.reports.registered import ANALYSIS, study_rules
from aiayn.reports.study_plan import StudyCosts, StudyPlanView, frozen_remark
from aiayn.runs.provenance import code_version
from aiayn.runs.public import public_command
from aiayn.runs.record import utc_now
from aiayn.runs.registrations import (
    HASH_DIGITS,
    NAME,
    PlannedRow,
    Registration,
    StudyPlan,
    add_pilots,
    check_no_pilots,
    read_registration,
    registration_file,
)
from aiayn.sweep.jobs import JOBS, checked
from aiayn.sweep.study import PREFIX, Study, read_study
from aiayn.sweep.words import folder_words
from aiayn.system import files

logger = logging.getLogger("aiayn")

STAGE = f"{PREFIX}stage"

BASE = "base"
"""The row of Table 3 that its others are compared with."""

SAME_FOR_ALL = ("data.", "tokenizer.")
"""Settings in which rows do not differ: they are scored on the same tokens."""


def run_study(composed: DictConfig, arguments: Sequence[str], *, loader: ConfigLoader, launcher: Launcher) -> None:
    """Run a stage of a study; other commands than train run one job of each row.

    Args:
        composed: the configuration of the multirun, Hydra's node included.
        arguments: overrides of the command line, which apply to all rows.
        loader: composes a job.
        launcher: runs jobs.

    Raises:
        UserError: the study or a row is invalid, or its plan differs from the frozen one.
    """
    HydraConfig.instance().set_config(composed)  # expressions in the study and its name refer to it
    study, name = read_study(composed.hydra.sweeper), str(composed.identity.sweep)
    if not NAME.fullmatch(name):
        allowed = "must consist of letters, digits, _, - and ., and differ from 'run'"
        raise UserError(f"sweeps={name}: the name of a study {allowed}; rename the file, or set AIAYN_SWEEP=<name>")
    verb, runs = composed.hydra.job.config_name, Path(composed.paths.runs).expanduser()
    if verb == "train" and study.stage is None:
        *others, last = Stage
        known = f"{STAGE}={', '.join(others)} or {last}"
        raise UserError(f"sweeps={name}: state {known}: pilots come first, and the runs freeze the plan too")
    _check_words(study, arguments)
    rows = {row: compose_row(composed, row, words, arguments, study, loader) for row, words in study.rows.items()}
    HydraConfig.instance().set_config(composed)
    _check_rows(study, rows)
    _check_paper_rows(study, rows)
    os.environ[SWEPT_VARIABLE] = " ".join(dict.fromkeys(key for words in study.rows.values() for key in _keys(words)))
    if study.stage is None or verb != "train":
        if verb == "plan":
            JOBS.get().show = partial(_show_plan, study, name, rows, runs, _command(composed, arguments, Stage.pilots))
        _launch(launcher, [_words(study, row, arguments) for row in rows])
        return
    if study.stage is Stage.pilots:
        add_pilots(runs, name, [rows[row].names[seed] for row, seed in study.jobs(Stage.pilots)])
    else:
        commands = {stage: _command(composed, arguments, stage) for stage in Stage}
        freeze(name, plan_of(study, rows), study, runs, commands)
    if study.stage is Stage.freeze:
        JOBS.get().show = partial(print, registration_file(runs, name))  # there is no job
        return
    _launch(launcher, [[*_words(study, row, arguments), f"seed={seed}"] for row, seed in study.jobs(study.stage)])
    if study.stage is Stage.runs:
        logger.info("report: aiayn report hypotheses study=%s", name)


def _command(composed: DictConfig, arguments: Sequence[str], stage: Stage) -> str:
    """The command line of a stage."""
    hydra = list(composed.hydra.overrides.hydra)
    own = [word for word in hydra if word.startswith(("hydra/", PREFIX)) and not word.startswith(f"{STAGE}=")]
    words = [*folder_words(hydra), *arguments, *own, f"{STAGE}={stage}"]
    return shlex.join(["aiayn", "train", *words])


def _launch(launcher: Launcher, jobs: Sequence[Sequence[str]]) -> None:
    for returned in launcher.launch(jobs, initial_job_idx=0):
        _ = returned.return_value  # raises the exception of a defect


def _words(study: Study, row: str, arguments: Sequence[str]) -> list[str]:
    return [*study.rows[row], *arguments]


def _keys(words: Sequence[str]) -> list[str]:
    return [each.key_or_group for each in OverridesParser.create().parse_overrides([*words])]


def _check_words(study: Study, arguments: Sequence[str]) -> None:
    """Refuse seeds and several values in rows and on the command line; there also refuse keys that rows state."""
    stated: dict[str, str] = {}
    for row, words in study.rows.items():
        for override in OverridesParser.create().parse_overrides([*words]):
            key, word = override.key_or_group, override.input_line
            if key in ("seed", SWEEPS) or key.startswith("hydra") or override.is_sweep_override():
                raise UserError(
                    f"{PREFIX}rows.{row}: {word}: a row is one configuration, without its seed; leave it out"
                )
            stated[key] = row
    for override in OverridesParser.create().parse_overrides([*arguments]):
        key, word = override.key_or_group, override.input_line
        if key == "seed" or override.is_sweep_override():
            raise UserError(f"{word}: rows and seeds are stated in the file of the study, under hydra.sweeper")
        if key in stated:
            raise UserError(f"{word}: row {stated[key]} of the study states {key}; change the file")


@dataclass(frozen=True)
class ComposedRow:
    """A row of a study, composed."""

    experiment: str
    settings: Mapping[str, Any]
    """Everything that can change a result, except the seed."""
    scale: Mapping[str, float]
    """The factors of the scale, by axis."""
    names: Mapping[int, str]
    """Names of its runs and pilots below `paths.runs`, by seed."""

    def as_printed(self, row: str) -> RowSettings:
        """The settings, to be compared with those of a row of Table 3."""
        return RowSettings(load_table3().row(row), self.settings, self.scale)


def compose_row(
    composed: DictConfig, row: str, words: Sequence[str], arguments: Sequence[str], study: Study, loader: ConfigLoader
) -> ComposedRow:
    """Compose a row once; the names of its runs follow from the seeds.

    Raises:
        UserError: its configuration is invalid.
    """
    job = loader.load_sweep_config(composed, [*words, *arguments])
    verb = composed.hydra.job.config_name
    check_computed_keys(job, verb, words)
    if study.stage is Stage.runs and job.get("force"):
        raise UserError(
            f"row {row}: force=true: would train finished runs of the plan anew; leave it out, and unfinished ones are "
            "resumed"
        )
    try:
        config = checked(verb, without_hydra(job))
        if isinstance(config.data, ParsedDataConfig):
            raise UserError(
                f"data.kind={config.data.kind}: claims of studies are about translations, by log PPL and BLEU"
            )
        if reason := trial_reason(config.trainer):
            raise UserError(f"{reason}: makes trials, which are in no report; leave it out")
    except UserError as error:
        raise UserError(f"row {row}: {error}") from None
    names = {}
    for seed in (*study.seeds[row], *study.pilots.get(row, ())):
        job.seed = seed  # the name and the hash follow
        names[seed] = str(job.identity.name)
    make_absolute(config)
    content = plain(config)
    settings = run_settings(content, fidelity=config.identity.fidelity)
    return ComposedRow(config.identity.experiment, settings, content["scale"], names)


def _check_rows(study: Study, rows: Mapping[str, ComposedRow]) -> None:
    """Refuse rows that are equal, or have other data than base."""
    base, seen = rows[study.base], dict[str, str]()
    for row, composed in rows.items():
        if (other := seen.setdefault(repr(sorted(composed.settings.items())), row)) != row:
            raise UserError(f"{PREFIX}rows.{row}: composes the same as row {other}; leave one out")
        for key in sorted(composed.settings.keys() | base.settings.keys()):
            value, there = (each.settings.get(key, "nothing") for each in (composed, base))
            if key.startswith(SAME_FOR_ALL) and value != there:
                raise UserError(
                    f"{PREFIX}rows.{row}: {key} is {value}, and {there} in {study.base}: rows are scored on the same "
                    "tokens; make it a study of its own"
                )


def _check_paper_rows(study: Study, rows: Mapping[str, ComposedRow]) -> None:
    """Refuse claims of the paper if their rows are not the paper's, or differ from base in more than it prints."""
    for claim in (claim for claim in load_claims() if claim in study.claims):
        for row in dict.fromkeys((study.base, *claim.rows)):
            known = BASE if row == study.base else row
            if rows[row].experiment != f"{TABLE3}{known}":
                raise UserError(
                    f"{PREFIX}claims.{claim.id}: the paper claims it of {TABLE3}{known}, and row {row} is "
                    f"{rows[row].experiment}; state experiment={TABLE3}{known} in rows.{row}"
                )
            for difference in row_setting_differences(rows[row].as_printed(known), rows[study.base].as_printed(BASE)):
                raise UserError(
                    f"{PREFIX}claims.{claim.id}: {difference.key} is {difference.own} in row {row} and "
                    f"{difference.other} in {study.base}, which Table 3 does not print; leave it out, or state a claim "
                    "of your own"
                )


def plan_of(study: Study, rows: Mapping[str, ComposedRow]) -> StudyPlan:
    """The content that is frozen."""
    return StudyPlan(
        base=study.base,
        rows={
            name: PlannedRow(study.rows[name], row.settings, {seed: row.names[seed] for seed in study.seeds[name]})
            for name, row in rows.items()
        },
        pilots={row: {seed: rows[row].names[seed] for seed in seeds} for row, seeds in study.pilots.items()},
        looks=study.looks,
        claims={claim.id: dict(claim.entry) for claim in study.claims},
        analysis=ANALYSIS,
        terms=study.terms,
    )


def _evidence(plan: StudyPlan, pilots: Pilots) -> Evidence:
    """What power is computed with, after all steps and after those of the plan's further budgets."""
    budgets = [None, *plan.terms.steps]
    if (folder := plan.terms.power_from) is None:
        return pilots.evidence(budgets)
    steps = {name: row.settings["optimization.max_steps"] for name, row in plan.rows.items()}
    return published_evidence(Path(folder), plan.base, budgets, steps)


def _few_seeds(study: Study) -> Iterator[str]:
    """The claims on rows with too few seeds for a verdict, which are worth more of them before the plan is frozen."""
    for claim in study.claims:
        few = [f"{row} has {len(study.seeds[row])}" for row in claim.rows if len(study.seeds[row]) < FEWEST_SEEDS]
        if few:
            yield f"{claim.id} will not be tested: it needs {FEWEST_SEEDS} seeds of each row, {', '.join(few)}"


def freeze(name: str, plan: StudyPlan, study: Study, runs: Path, commands: Mapping[Stage, str]) -> Registration:
    """Freeze a plan, unless it is frozen already; of several commands at once, one writes it.

    Args:
        name: the name of the study.
        plan: its content.
        study: what it states.
        runs: the folder of runs.
        commands: the command line of each stage.

    Raises:
        UserError: pilots have not finished, planned runs are pilots, or the frozen plan differs.
    """
    if not files.exists(registration_file(runs, name)):
        registration = _new_registration(name, plan, study, runs, commands)
        try:
            registration.write(runs)
        except FileExistsError:
            pass  # another command was faster
        else:
            sha256 = registration.sha256[:HASH_DIGITS]
            logger.info("frozen: %s, sha256 %s", registration_file(runs, name), sha256)
            for line in _few_seeds(study):
                logger.warning("%s", line)
            return registration
    frozen = read_registration(runs, name)
    if difference := frozen.plan.difference(plan):
        key, there, here = difference
        raise UserError(
            f"sweeps={name}: {key} is {there} in the plan frozen at {frozen.time}, and {here} now; restore it, or give "
            "the study another name: that of its file, or AIAYN_SWEEP=<name>"
        )
    if frozen.code != code_version():
        logger.warning("the plan was frozen by %s, and this is %s", frozen.code.text, code_version().text)
    return frozen


def _new_registration(
    name: str, plan: StudyPlan, study: Study, runs: Path, commands: Mapping[Stage, str]
) -> Registration:
    """The plan with the results of its pilots; the arguments and errors are those of `freeze`."""
    check_no_pilots(runs, plan)
    pilots = Pilots.read(runs, plan.pilots, plan.base)
    if pilots.unfinished:
        raise UserError(
            f"{STAGE}=runs: {len(pilots.unfinished)} of {len(plan.pilot_runs)} pilots have not finished; run "
            f"{commands[Stage.pilots]}"
        )
    evidence = _evidence(plan, pilots)
    noises, powers = (
        evidence.noises(None),
        claim_powers(study.claims, plan.seeds, evidence, study_rules(study.base, study.terms)),
    )
    return Registration(
        name=name,
        plan=plan,
        time=utc_now(),
        code=code_version(),
        command=public_command(commands[Stage.runs]),  # the plan is published with its hash
        pilots=pilots.results(),
        noises=noises,
        powers={each.claim.id: each.power for each in powers},
        effects={each.claim.id: each.effects for each in powers},
    )


def _show_plan(study: Study, name: str, rows: Mapping[str, ComposedRow], runs: Path, pilots_command: str) -> None:
    """Print costs, and the power of the study by budget."""
    plans = {outcome.number: Plan.read(outcome.result) for outcome in JOBS.get().outcomes if outcome.result}
    costs = [
        StudyCosts(row, plans[number], len(study.seeds[row]), len(study.pilots.get(row, ())))
        for number, row in enumerate(rows)
        if number in plans
    ]
    names = {row: {seed: rows[row].names[seed] for seed in seeds} for row, seeds in study.pilots.items()}
    pilots = Pilots.read(runs, names, study.base)
    seeds = {row: len(each) for row, each in study.seeds.items()}
    plan = plan_of(study, rows)
    evidence, rules = _evidence(plan, pilots), study_rules(study.base, study.terms)
    StudyPlanView(
        costs=costs,
        powers=claim_powers(study.claims, seeds, evidence, rules),
        budgets=budgets(study.claims, seeds, evidence, rules),
        evidence=evidence.in_words(None),
        few_seeds=list(_few_seeds(study)),
        pilots=pilots,
        command=pilots_command,
        frozen=frozen_remark(runs, name, plan),
    ).print()
