"""Frozen plans of pre-registered studies, in the folder `registrations` beside their runs.

`<name>.json` is the plan with its hash, written once; `<name>.looks` has a line for each report on the unfinished
study; `<name>.pilots` names the runs that are pilots.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from aiayn.config.identity import flatten
from aiayn.errors import UserError
from aiayn.paper.claims import Metric
from aiayn.runs.directory import RunDirectory
from aiayn.runs.provenance import Code
from aiayn.runs.record import json_text, utc_now
from aiayn.system import files
from aiayn.system.documents import parse_as, read_json

if TYPE_CHECKING:
    from aiayn.evaluation.decisions import Noise

FOLDER = "registrations"

NAME = re.compile(r"(?!run$)\w[\w.-]*")
"""Names of studies: they are names of files; run.json is excluded as it is the name of records."""

HASH_DIGITS = 12
"""Digits that are shown of the hash of a frozen plan."""


@dataclass(frozen=True)
class PlannedRow:
    """A row of a study and its runs."""

    overrides: tuple[str, ...]
    """Overrides as the study's file states them."""
    settings: Mapping[str, Any]
    """Everything that can change a result, except the seed, by dotted key."""
    runs: Mapping[int, str]
    """The names of its runs below `paths.runs`, by seed."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "overrides": list(self.overrides),
            "seeds": sorted(self.runs),
            "settings": dict(self.settings),
            "runs": {str(seed): name for seed, name in self.runs.items()},
        }


@dataclass(frozen=True)
class Floor:
    """The log PPL below which no model can be expected on a corpus."""

    log_ppl: float
    why: str


@dataclass(frozen=True)
class StudyTerms:
    """What a study may state beside its rows and claims; what it leaves out stands in no plan."""

    floor: Floor | None = None
    """Caps assumed differences."""
    steps: tuple[int, ...] = ()
    """Further budgets, after which claims are shown beside those of all steps."""
    processors: tuple[str, ...] = ()
    """Makes of processor on which runs are no deviation."""
    power_from: str | None = None
    """Folder of the published study whose runs tell the power; None: the pilots do."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {key: value for key, value in dataclasses.asdict(self).items() if value}


@dataclass(frozen=True)
class StudyPlan:
    """The content of a plan: rows and seeds, pilots, looks, claims, rules of analysis, and what else it states."""

    base: str
    """The row that others are compared with."""
    rows: Mapping[str, PlannedRow]
    pilots: Mapping[str, Mapping[int, str]]
    """The names of the pilots' runs, by row and seed."""
    looks: bool
    """Whether results may be looked at before the end."""
    claims: Mapping[str, Mapping[str, Any]]
    """Claims as in claims.yaml, by id, each effect stated."""
    analysis: Mapping[str, Any]
    """The rules by which claims are decided."""
    terms: StudyTerms = StudyTerms()
    other: Mapping[str, Any] = field(default_factory=dict)
    """What plans of earlier rules state beside, kept for their hash."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "base": self.base,
            "rows": {name: row.plain() for name, row in self.rows.items()},
            "pilots": {row: {str(seed): name for seed, name in runs.items()} for row, runs in self.pilots.items()},
            "looks": self.looks,
            "claims": {name: dict(claim) for name, claim in self.claims.items()},
            "analysis": dict(self.analysis),
            **({"terms": terms} if (terms := self.terms.plain()) else {}),
            **self.other,
        }

    @classmethod
    def read(cls, content: Mapping[str, Any], place: str = "plan") -> Self:
        """Read a plan from plain values; KeyError or TypeError for values of another form, UserError for its terms."""
        for key, kind in {"base": str, "claims": dict, "analysis": dict}.items():
            if not isinstance(content[key], kind):
                raise TypeError(f"{key} is {content[key]!r}")
        rows = {
            name: PlannedRow(tuple(row["overrides"]), row["settings"], _by_seed(row["runs"]))
            for name, row in content["rows"].items()
        }
        pilots = {row: _by_seed(runs) for row, runs in content["pilots"].items()}
        terms = parse_as(StudyTerms, json.dumps(content.get("terms", {})), f"{place}: terms")
        own = {each.name for each in dataclasses.fields(cls)} - {"other"}
        known = {key: value for key, value in content.items() if key in own}
        other = {key: value for key, value in content.items() if key not in own}
        return cls(**{**known, "rows": rows, "pilots": pilots, "terms": terms}, other=other)

    @property
    def text(self) -> str:
        """The content without regard to the order of keys: equal texts are equal plans."""
        return json.dumps(self.plain(), sort_keys=True)

    @property
    def seeds(self) -> dict[str, int]:
        """The number of planned runs of each row."""
        return {name: len(row.runs) for name, row in self.rows.items()}

    @property
    def runs(self) -> dict[str, tuple[str, int]]:
        """Row and seed of each planned run, by its name."""
        return {name: (row, seed) for row, planned in self.rows.items() for seed, name in planned.runs.items()}

    @property
    def pilot_runs(self) -> dict[str, tuple[str, int]]:
        """Row and seed of each pilot, by its name."""
        return {name: (row, seed) for row, runs in self.pilots.items() for seed, name in runs.items()}

    def difference(self, other: "StudyPlan") -> tuple[str, Any, Any] | None:
        """The first key in which two plans differ, and both values; a lacking key has None. None if equal."""
        own, theirs = (flatten(json.loads(each.text)) for each in (self, other))
        for key in {**flatten(self.plain()), **flatten(other.plain())}:
            if key not in own or key not in theirs or own[key] != theirs[key]:
                return key, own.get(key), theirs.get(key)
        return None


def _by_seed(runs: Mapping[str, str]) -> dict[int, str]:
    return {int(seed): name for seed, name in runs.items()}


@dataclass(frozen=True)
class PilotResult:
    """A finished pilot, as it was when the plan was frozen."""

    run: str
    """Its name below `paths.runs`."""
    row: str
    seed: int
    log_ppl: float | None
    """Log PPL on the development set; None if it is infinite."""
    data_fingerprint: str | None
    precision: str
    """Precision as trained, as in "32-true with TF32"."""
    code: str
    """The version of the code that trained it."""
    versions: Mapping[str, str]
    """Versions of the packages that can change a result."""
    hardware: str
    """The machine that trained it."""


@dataclass(frozen=True)
class Registration:
    """A frozen plan, and the facts at the time of freezing."""

    name: str
    """Name of the study."""
    plan: StudyPlan
    time: str
    """UTC, ISO 8601."""
    code: Code
    command: str
    pilots: tuple[PilotResult, ...]
    noises: "Mapping[Metric, Noise] | None"
    """By metric, the variances that power was computed with; None if unknown."""
    powers: Mapping[str, float | None]
    """Power for each claim and its assumed effects, by id; None if unknown."""
    effects: Mapping[str, Sequence[float]] | None = None
    """The assumed contrasts of each claim, by id; None in plans of earlier rules."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        content = self._content()
        return {"sha256": _checksum(content), **content}

    @property
    def sha256(self) -> str:
        """Hash of everything in the file."""
        return _checksum(self._content())

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "time": self.time,
            **self.code._asdict(),
            "command": self.command,
            "pilots": [dataclasses.asdict(pilot) for pilot in self.pilots],
            "noises": self.noises
            and {metric.value: dataclasses.asdict(noise) for metric, noise in self.noises.items()},
            "powers": dict(self.powers),
            **({} if self.effects is None else {"effects": {key: list(each) for key, each in self.effects.items()}}),
            "plan": self.plan.plain(),
        }

    def write(self, runs: Path) -> None:
        """Write the file; FileExistsError if the study has a frozen plan."""
        files.write_new(registration_file(runs, self.name), json_text(self.plain()))


def _checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of values as JSON writes them, without regard to the order of keys."""
    written = json.loads(json_text(content))
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()


def registration_file(runs: Path, name: str) -> Path:
    """The file of a study's frozen plan."""
    return runs / FOLDER / f"{name}.json"


def registration_files(runs: Path, name: str) -> list[Path]:
    """All files of a study that are there."""
    every = (registration_file(runs, name), _looks_file(runs, name), _pilots_file(runs, name))
    return [path for path in every if files.is_file(path)]


def registered_names(runs: Path) -> list[str]:
    """The studies below `paths.runs` that have a frozen plan."""
    return [path.stem for path in files.listed(runs / FOLDER, "*.json")]


def read_registration(runs: Path, name: str) -> Registration:
    """Read a frozen plan; UserError if the file is missing or damaged, or has changed."""
    from aiayn.evaluation.decisions import Noise  # and so numpy, which `aiayn train --help` has no use for

    path = registration_file(runs, name)
    try:
        content = read_json(path)
        plan = StudyPlan.read(content["plan"], f"{path}")
        own = {key: content[key] for key in ("name", "time", "command")}
        own |= {
            "noises": _part(path, dict[Metric, Noise] | None, content, "noises"),
            "powers": _part(path, dict[str, float | None], content, "powers"),
            "effects": _part(path, dict[str, list[float]] | None, content, "effects"),
        }
        code = Code(content["commit"], content["dirty"], content["patch"], content["version"])
        pilots = tuple(PilotResult(**pilot) for pilot in content["pilots"])
        registration, sha256 = Registration(plan=plan, code=code, pilots=pilots, **own), content.pop("sha256")
    except FileNotFoundError:
        known = ", ".join(registered_names(runs)) or "none"
        remedy = f"aiayn train sweeps={name} hydra.sweeper.stage=runs writes it"
        raise UserError(f"study={name}: no frozen plan {path} (there are: {known}); {remedy}") from None
    except UserError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not a frozen plan of this version ({error}); restore the file") from None
    if _checksum(content) != sha256:
        raise UserError(f"{path}: has changed since the plan was frozen, sha256 {_checksum(content)}; restore it")
    return registration


def _part(path: Path, kind: Any, content: Mapping[str, Any], key: str) -> Any:
    """A part of a frozen plan, whose absence is that of a value; UserError if it is of another form."""
    return parse_as(kind, json.dumps(content.get(key)), f"{path}: {key}")


@dataclass(frozen=True)
class Look:
    """A report on an unfinished study."""

    time: str
    """UTC, ISO 8601."""
    finished: int
    """Planned runs that had finished."""


def record_look(runs: Path, name: str, finished: int) -> None:
    """Add a look to those at a study."""
    look = Look(utc_now(), finished)
    files.append_line(_looks_file(runs, name), json.dumps(dataclasses.asdict(look)))


def read_looks(runs: Path, name: str) -> list[Look]:
    """The looks at a study, in their order; UserError if their file is damaged."""
    path = _looks_file(runs, name)
    try:
        lines = files.read_text(path).splitlines()
    except FileNotFoundError:
        return []
    return [parse_as(Look, line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _looks_file(runs: Path, name: str) -> Path:
    return runs / FOLDER / f"{name}.looks"


def add_pilots(runs: Path, name: str, pilots: Sequence[str]) -> None:
    """Mark runs, named below `paths.runs`, as pilots of a study.

    Raises:
        UserError: a run has begun before, or a frozen plan names it: its result would vanish from the tables.
    """
    known = pilots_below(runs, name)
    new = [pilot for pilot in pilots if runs / pilot not in known]
    planned = {run: study for study in registered_names(runs) for run in read_registration(runs, study).plan.runs}
    remedy = "pilots must be new runs; state other seeds in hydra.sweeper.pilots.seeds"
    for pilot in new:
        if pilot in planned:
            raise UserError(
                f"hydra.sweeper.pilots: {runs / pilot} is a planned run of study {planned[pilot]}: {remedy}"
            )
        if files.is_file(RunDirectory(runs / pilot).record):
            raise UserError(f"hydra.sweeper.pilots: {runs / pilot} has begun already: {remedy}")
    for pilot in new:
        files.append_line(_pilots_file(runs, name), pilot)


def check_no_pilots(runs: Path, plan: StudyPlan) -> None:
    """Refuse a plan of runs that are pilots of a study; UserError."""
    for study, pilots in pilots_of_studies(runs).items():
        for name, (row, seed) in plan.runs.items():
            if runs / name in pilots:
                raise UserError(
                    f"hydra.sweeper.seeds: seed {seed} of row {row} is a pilot of study {study}, in no table; state "
                    "other seeds"
                )


def pilots_below(runs: Path, name: str | None = None) -> set[Path]:
    """The directories of the pilots of a study, or of all."""
    pilots = pilots_of_studies(runs)
    return pilots.get(name, set()) if name is not None else set().union(*pilots.values())


def pilots_of_studies(runs: Path) -> dict[str, set[Path]]:
    """The directories of the pilots, by study."""
    found = {path.stem: files.read_text(path) for path in files.listed(runs / FOLDER, "*.pilots")}
    return {study: {runs / name for name in text.splitlines() if name} for study, text in found.items()}


def _pilots_file(runs: Path, name: str) -> Path:
    return runs / FOLDER / f"{name}.pilots"
