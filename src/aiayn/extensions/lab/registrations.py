"""Frozen plans of pre-registered studies, in the folder `registrations` beside their runs.

`<name>.json` is the plan with its hash, written once; `<name>.looks` has a line for each report on the unfinished
study. The runs of a plan without claims are pilots, which are in no table; earlier plans named theirs in
`<name>.pilots`.
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
    """The study whose runs tell the power: one with a frozen plan beside this one, or the folder of a published one."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {key: value for key, value in dataclasses.asdict(self).items() if value}


@dataclass(frozen=True)
class StudyPlan:
    """The content of a plan: rows and seeds, looks, claims, rules of analysis, and what else it states."""

    base: str
    """The row that others are compared with."""
    rows: Mapping[str, PlannedRow]
    looks: bool
    """Whether results may be looked at before the end."""
    claims: Mapping[str, Mapping[str, Any]]
    """Claims as in claims.yaml, by id, each effect stated; none in a study of pilots."""
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
            name: PlannedRow(
                tuple(row["overrides"]), row["settings"], {int(seed): run for seed, run in row["runs"].items()}
            )
            for name, row in content["rows"].items()
        }
        terms = parse_as(StudyTerms, json.dumps(content.get("terms", {})), f"{place}: terms")
        parse_as(dict[str, dict[int, str]], json.dumps(content.get("pilots", {})), f"{place}: pilots")
        own = {each.name for each in dataclasses.fields(cls)} - {"other"}
        known = {key: value for key, value in content.items() if key in own}
        other = {key: value for key, value in content.items() if key not in own}
        return cls(**{**known, "rows": rows, "terms": terms}, other=other)

    @property
    def seeds(self) -> dict[str, int]:
        """The number of planned runs of each row."""
        return {name: len(row.runs) for name, row in self.rows.items()}

    @property
    def runs(self) -> dict[str, tuple[str, int]]:
        """Row and seed of each planned run, by its name."""
        return {name: (row, seed) for row, planned in self.rows.items() for seed, name in planned.runs.items()}

    @property
    def pilots(self) -> set[str]:
        """The names of the runs that are in no table: all runs of a plan without claims, or those of earlier rules."""
        named = {run for runs in self.other.get("pilots", {}).values() for run in runs.values()}
        return named if self.claims else named | self.runs.keys()

    def difference(self, other: "StudyPlan") -> tuple[str, Any, Any] | None:
        """The first key in which two plans differ, and both values; a lacking key has None. None if equal.

        An empty mapping counts as a lacking key: plans that commit c8e1be8e froze state that they have no pilots.
        """
        contents = (json.loads(json_text(each.plain())) for each in (self, other))
        own, theirs = (flatten({key: value for key, value in each.items() if value != {}}) for each in contents)
        for key in {**own, **theirs}:
            if key not in own or key not in theirs or own[key] != theirs[key]:
                return key, own.get(key), theirs.get(key)
        return None


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
    noises: "Mapping[Metric, Noise] | None"
    """By metric, the variances that power was computed with; None if unknown."""
    powers: Mapping[str, float | None]
    """Power for each claim and its assumed effects, by id; None if unknown."""
    effects: Mapping[str, Sequence[float]] | None = None
    """The assumed contrasts of each claim, by id; None in plans of earlier rules."""
    other: Mapping[str, Any] = field(default_factory=dict)
    """What files of earlier versions state beside, kept for their hash."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        content: dict[str, Any] = {
            "name": self.name,
            "time": self.time,
            **self.code._asdict(),
            "command": self.command,
            "noises": self.noises
            and {metric.value: dataclasses.asdict(noise) for metric, noise in self.noises.items()},
            "powers": dict(self.powers),
            **({} if self.effects is None else {"effects": {key: list(each) for key, each in self.effects.items()}}),
            **self.other,
            "plan": self.plan.plain(),
        }
        return {"sha256": _checksum(content), **content}

    @property
    def sha256(self) -> str:
        """Hash of everything in the file."""
        sha256: str = self.plain()["sha256"]
        return sha256

    def write(self, runs: Path) -> None:
        """Write the file; FileExistsError if the study has a frozen plan."""
        files.write_new(registration_file(runs, self.name), json_text(self.plain()))


def _checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of values as JSON writes them, without regard to the order of keys."""
    written = json.loads(json_text(content))
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()


def registration_file(runs: Path, name: str, suffix: str = "json") -> Path:
    """The file of a study's frozen plan, or with another suffix one beside it."""
    return runs / FOLDER / f"{name}.{suffix}"


def registration_files(runs: Path, name: str) -> list[Path]:
    """All files of a study that are there."""
    every = (registration_file(runs, name, suffix) for suffix in ("json", "looks", "pilots"))
    return [path for path in every if files.is_file(path)]


def registered_names(runs: Path) -> list[str]:
    """The studies below `paths.runs` that have a frozen plan."""
    return [path.stem for path in files.listed(runs / FOLDER, "*.json")]


def read_registration(runs: Path, name: str) -> Registration:
    """Read a frozen plan; UserError if the file is missing or damaged, or has changed."""
    from aiayn.evaluation.decisions import Noise  # and so numpy, which `aiayn train --help` has no use for

    path = registration_file(runs, name)
    kinds: dict[str, Any] = {
        "noises": dict[Metric, Noise] | None,
        "powers": dict[str, float | None],
        "effects": dict[str, list[float]] | None,
    }
    try:
        content = read_json(path)
        sha256, plan = content.pop("sha256"), StudyPlan.read(content["plan"], f"{path}")
        parts: dict[str, Any] = {
            key: parse_as(kind, json.dumps(content.get(key)), f"{path}: {key}") for key, kind in kinds.items()
        }
        own: dict[str, Any] = {key: content[key] for key in ("name", "time", "command")}
        code = Code(*(content[key] for key in Code._fields))
        other = {key: value for key, value in content.items() if key not in {*own, *kinds, *Code._fields, "plan"}}
        registration = Registration(plan=plan, code=code, other=other, **own, **parts)
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
    files.append_line(registration_file(runs, name, "looks"), json.dumps(dataclasses.asdict(look)))


def read_looks(runs: Path, name: str) -> list[Look]:
    """The looks at a study, in their order; UserError if their file is damaged."""
    path = registration_file(runs, name, "looks")
    try:
        lines = files.read_text(path).splitlines()
    except FileNotFoundError:
        return []
    return [parse_as(Look, line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def leading_studies(runs: Path) -> list[str]:
    """The studies with a frozen plan, without those that tell the power of another one."""
    names = registered_names(runs)
    sources = {read_registration(runs, name).plan.terms.power_from for name in names}
    return [name for name in names if name not in sources]
