"""Freezes the plans of pre-registered studies and runs them; other commands than train get all rows."""

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
from aiayn.config.third_parties import trial_reason
from aiayn.errors import UserError
from aiayn.extensions.lab.planned import pilots_of_studies
from aiayn.extensions.lab.power import POWER_FROM, Evidence, budgets, claim_powers
from aiayn.extensions.lab.registered import ANALYSIS, read_registered, study_rules
from aiayn.extensions.lab.registrations import (
    HASH_DIGITS,
    NAME,
    PlannedRow,
    Registration,
    StudyPlan,
    read_registration,
    registered_names,
    registration_file,
)
from aiayn.extensions.lab.schema import Stage
from aiayn.extensions.lab.study import PREFIX, Study, read_study
from aiayn.extensions.lab.study_plan import StudyCosts, StudyPlanView, frozen_remark
from aiayn.paper.claims import load_claims
from aiayn.paper.tables import load_table3
from aiayn.registry import named, plans
from aiayn.reports.comparability import PREFIX as TABLE3
from aiayn.reports.comparability import RowSettings, row_setting_differences
from aiayn.reports.judgement import FEWEST_SEEDS
from aiayn.runs.directory import RunDirectory
from aiayn.runs.plan import Plan
from aiayn.runs.provenance import code_version
from aiayn.runs.public import public_command
from aiayn.runs.record import utc_now
from aiayn.sweep.jobs import JOBS, checked
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
        raise UserError(f"sweeps={name}: state {STAGE}={Stage.freeze} or {Stage.runs}, which freezes the plan too")
    _check_words(study, arguments)
    rows = {row: compose_row(composed, row, words, arguments, study, loader) for row, words in study.rows.items()}
    HydraConfig.instance().set_config(composed)
    _check_rows(study, rows)
    _check_paper_rows(study, rows)
    os.environ[SWEPT_VARIABLE] = " ".join(dict.fromkeys(key for words in study.rows.values() for key in _keys(words)))
    if verb == "plan":
        JOBS.get().show = _plan_view(study, name, rows, runs).print  # there is no job
    elif verb != "train":
        _launch(launcher, [[*words, *arguments] for words in study.rows.values()])
    else:
        freeze(name, plan_of(study, rows), study, runs, shlex.join(["aiayn", "train", *arguments]))
        if study.stage is Stage.freeze:
            JOBS.get().show = partial(print, registration_file(runs, name))  # there is no job
            return
        _launch(launcher, [[*study.rows[row], *arguments, f"seed={seed}"] for row, seed in study.jobs])
        logger.info("report: aiayn report hypotheses study=%s", name)


def _launch(launcher: Launcher, jobs: Sequence[Sequence[str]]) -> None:
    for returned in launcher.launch(jobs, initial_job_idx=0):
        _ = returned.return_value  # raises the exception of a defect


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
    """Names of its runs below `paths.runs`, by seed."""
    plan: Plan | None
    """The cost of a run, where that is asked for."""

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
        plan = named(plans().plan_run)(config, overrides=[*words, *arguments]) if verb == "plan" else None
    except UserError as error:
        raise UserError(f"row {row}: {error}") from None
    names = {}
    for seed in study.seeds[row]:
        job.seed = seed  # the name and the hash follow
        names[seed] = str(job.identity.name)
    make_absolute(config)
    content = plain(config)
    settings = run_settings(content, fidelity=config.identity.fidelity)
    return ComposedRow(config.identity.experiment, settings, content["scale"], names, plan)


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
        for steps in study.terms.steps:
            if steps >= (all_steps := composed.settings["optimization.max_steps"]):
                raise UserError(f"{PREFIX}steps={steps}: row {row} has {all_steps} steps; state fewer")


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
        rows={name: PlannedRow(study.rows[name], row.settings, row.names) for name, row in rows.items()},
        looks=study.looks,
        claims={claim.id: dict(claim.entry) for claim in study.claims},
        analysis=ANALYSIS,
        terms=study.terms,
    )


def _unfinished(plan: StudyPlan, runs: Path) -> str:
    """What the study that tells the power lacks, in a line; empty if it has all runs, or is a published one."""
    if (source := plan.terms.power_from) is None or source not in registered_names(runs):
        return ""
    study = read_registered(runs, source)
    if study.is_complete:
        return ""
    lacking = len(study.planned) - len(study.finished)
    words = shlex.join([*folder_words(HydraConfig.get().overrides.hydra), f"{STAGE}={Stage.runs}"])
    return (
        f"{POWER_FROM}={source}: {lacking} of its {len(study.planned)} runs have not finished as planned; run "
        f"{study.registration.command} {words}"
    )


def _few_seeds(study: Study) -> Iterator[str]:
    """The claims on rows with too few seeds for a verdict, which are worth more of them before the plan is frozen."""
    for claim in study.claims:
        few = [f"{row} has {len(study.seeds[row])}" for row in claim.rows if len(study.seeds[row]) < FEWEST_SEEDS]
        if few:
            yield f"{claim.id} will not be tested: it needs {FEWEST_SEEDS} seeds of each row, {', '.join(few)}"


def freeze(name: str, plan: StudyPlan, study: Study, runs: Path, command: str) -> None:
    """Freeze a plan, unless it is frozen already; of several commands at once, one writes it.

    Args:
        name: the name of the study.
        plan: its content.
        study: what it states.
        runs: the folder of runs.
        command: the command line.

    Raises:
        UserError: the study that tells the power is not there or has not finished, a run is a pilot or would become
            one, or the frozen plan differs.
    """
    if not files.exists(registration_file(runs, name)):
        registration = _new_registration(name, plan, study, runs, command)
        try:
            registration.write(runs)
        except FileExistsError:
            pass  # another command was faster
        else:
            sha256 = registration.sha256[:HASH_DIGITS]
            logger.info("frozen: %s, sha256 %s", registration_file(runs, name), sha256)
            for line in _few_seeds(study):
                logger.warning("%s", line)
            return
    frozen = read_registration(runs, name)
    if difference := frozen.plan.difference(plan):
        key, there, here = difference
        raise UserError(
            f"sweeps={name}: {key} is {there} in the plan frozen at {frozen.time}, and {here} now; restore it, or give "
            "the study another name: that of its file, or AIAYN_SWEEP=<name>"
        )
    if frozen.code != code_version():
        logger.warning("the plan was frozen by %s, and this is %s", frozen.code.text, code_version().text)


def _check_pilots(plan: StudyPlan, runs: Path) -> None:
    """Refuse claims about runs that are in no table, and pilots that would be taken out of one."""
    pilots = pilots_of_studies(runs)
    planned = {study: {*read_registration(runs, study).plan.runs} - pilots[study] for study in registered_names(runs)}
    kind, others = ("pilot", pilots) if plan.claims else ("planned run", planned)
    for name, (row, seed) in plan.runs.items():
        own = f"{PREFIX}seeds: seed {seed} of row {row}"
        for study in (study for study, found in others.items() if name in found):
            raise UserError(f"{own} is a {kind} of study {study}; pilots are in no table: state other seeds")
        if not plan.claims and files.is_file(RunDirectory(runs / name).record):
            raise UserError(f"{own} has begun already; runs of a study without claims are pilots: state other seeds")


def _new_registration(name: str, plan: StudyPlan, study: Study, runs: Path, command: str) -> Registration:
    """The plan with its power; the arguments and errors are those of `freeze`."""
    _check_pilots(plan, runs)
    if lacking := _unfinished(plan, runs):
        raise UserError(lacking)
    evidence = Evidence.read(runs, plan)
    powers = claim_powers(study.claims, plan.seeds, evidence, study_rules(study.base, study.terms))
    return Registration(
        name=name,
        plan=plan,
        time=utc_now(),
        code=code_version(),
        command=public_command(command),  # the plan is published with its hash
        noises=evidence.noises(None),
        powers={each.claim.id: each.power for each in powers},
        effects={each.claim.id: each.effects for each in powers},
    )


def _plan_view(study: Study, name: str, rows: Mapping[str, ComposedRow], runs: Path) -> StudyPlanView:
    """The costs, and the power of the study by budget."""
    plan = plan_of(study, rows)
    evidence, rules = Evidence.read(runs, plan), study_rules(study.base, study.terms)
    return StudyPlanView(
        costs=[StudyCosts(row, len(each.names), each.plan) for row, each in rows.items() if each.plan is not None],
        powers=claim_powers(study.claims, plan.seeds, evidence, rules),
        budgets=budgets(study.claims, plan.seeds, evidence, rules),
        evidence=evidence.in_words if study.claims else "",
        unfinished=_unfinished(plan, runs),
        few_seeds=list(_few_seeds(study)),
        frozen=frozen_remark(runs, name, plan),
    )
