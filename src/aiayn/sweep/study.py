"""A pre-registered study as its file in sweeps/ states it, checked: rows, seeds, pilots, gates and claims."""

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from omegaconf import DictConfig, OmegaConf

from aiayn.config.sweep_schema import RegisteredConfig, Stage
from aiayn.config.values import Count, Seed, check_value, check_values
from aiayn.errors import UserError
from aiayn.paper.claims import (
    Claim,
    Comparison,
    Converged,
    Gate,
    Metric,
    OverFitting,
    load_claims,
    read_claim,
    read_gate,
)

OTHERS = "others"
"""Stands for the rows whose seeds are not stated."""

FIRST_PILOT = 1001
"""The seed of the first pilot, far from those of runs."""

FEWEST_PILOTS = 2
"""The fewest pilots of a row: one has no variance."""

PREFIX = "hydra.sweeper."

GATE_KEYS = tuple(field.name for kind in (Converged, OverFitting) for field in fields(kind))

Seeds = Mapping[str, tuple[int, ...]]
"""The seeds of each row, by its name."""


@dataclass(frozen=True)
class Study:
    """A study."""

    stage: Stage | None
    """The runs to start; None: not stated."""
    base: str
    """The row that others are compared with."""
    rows: Mapping[str, tuple[str, ...]]
    """The overrides of each row."""
    seeds: Seeds
    pilots: Seeds
    """Seeds of the pilots, for the rows that have some."""
    looks: bool
    """Whether results may be looked at before the end."""
    claims: tuple[Claim, ...]

    def jobs(self, stage: Stage) -> list[tuple[str, int]]:
        """Row and seed of each run of a stage."""
        seeds = self.pilots if stage is Stage.pilots else self.seeds
        return [(row, seed) for row in self.rows for seed in seeds.get(row, ())]


def read_study(sweeper: DictConfig) -> Study:
    """The study of `hydra.sweeper`; UserError if a value is missing, of another kind, or contradicts another."""
    if missing := sorted(OmegaConf.missing_keys(sweeper)):
        raise UserError(f"{PREFIX}{missing[0]} has no value: state it in the file of the study")
    settings = OmegaConf.to_object(sweeper)
    assert isinstance(settings, RegisteredConfig)
    check_values(settings, PREFIX)
    rows = {name: tuple(words) for name, words in settings.rows.items()}
    _check_rows([settings.base], rows, "base")
    if OTHERS in rows:
        raise UserError(f"{PREFIX}rows.{OTHERS}: in seeds this name means all other rows; choose another one")
    seeds = _seeds(settings.seeds, rows)
    _check_rows(settings.pilots.rows, rows, "pilots.rows")
    return Study(
        stage=settings.stage,
        base=settings.base,
        rows=rows,
        seeds=seeds,
        pilots={row: _pilot_seeds(settings.pilots.seeds, row, seeds[row]) for row in settings.pilots.rows},
        looks=settings.looks,
        claims=_claims(settings, rows),
    )


def _check_rows(names: Collection[str], rows: Collection[str], key: str) -> None:
    for name in names:
        if name not in [*rows]:  # it may be of any type
            raise UserError(f"{PREFIX}{key}={name}: no such row; choose from {', '.join(rows)}")


def _seeds(stated: Any, rows: Collection[str]) -> Seeds:
    if not isinstance(stated, dict):
        raise UserError(f"{PREFIX}seeds={stated}: state them by row, as in {{{next(iter(rows))}: 8, {OTHERS}: 4}}")
    for name in stated:
        _check_name(name, (*rows, OTHERS), "seeds", "row")
    missing = [row for row in rows if row not in stated]
    if missing and OTHERS not in stated:
        raise UserError(f"{PREFIX}seeds: has none for row {missing[0]}; state them, or those of {OTHERS}")
    sources = {row: row if row in stated else OTHERS for row in rows}
    return {row: _seed_list(stated[name], f"seeds.{name}", first=1) for row, name in sources.items()}


def _seed_list(value: Any, key: str, *, first: int) -> tuple[int, ...]:
    """The seeds of a count, or of a list."""
    if not isinstance(value, list):
        check_value(f"{PREFIX}{key}", value, Count)
        return tuple(range(first, first + value))
    for seed in value:
        check_value(f"{PREFIX}{key}", seed, Seed)
    if not value or len(set(value)) < len(value):
        raise UserError(f"{PREFIX}{key}={value}: state each seed once, at least one")
    return tuple(value)


def _pilot_seeds(value: Any, row: str, planned: Collection[int]) -> tuple[int, ...]:
    seeds = () if isinstance(value, int) and value < 1 else _seed_list(value, "pilots.seeds", first=FIRST_PILOT)
    if len(seeds) < FEWEST_PILOTS:
        raise UserError(
            f"{PREFIX}pilots.seeds={value}: at least {FEWEST_PILOTS} are needed to estimate how seeds differ; "
            f"for a study without pilots state {PREFIX}pilots.rows=[]"
        )
    if shared := sorted({*seeds} & {*planned}):
        raise UserError(f"{PREFIX}pilots.seeds={value}: seed {shared[0]} is one of row {row}; pilots have other seeds")
    return seeds


def _claims(settings: RegisteredConfig, rows: Collection[str]) -> tuple[Claim, ...]:
    gates = {name: _gate(name, values) for name, values in settings.gates.items()}
    found: dict[str, Claim] = {}
    for number, entry in enumerate(settings.claims):
        claim = _claim(entry, f"claims[{number}]", gates)
        key = f"claims.{claim.id}"
        if claim.id in found:
            raise UserError(f"{PREFIX}{key}: there are two claims of this id; rename one")
        for comparison in (*claim.primary, *claim.secondary):
            _check_rows(comparison.rows, rows, key)
        _check_rows([gate.row for gate in claim.gates.values() if isinstance(gate, OverFitting)], rows, key)
        found[claim.id] = claim
        for name, gate in claim.gates.items():
            if gates.setdefault(name, gate) != gate:  # the paper's
                raise UserError(f"{PREFIX}gates.{name}: {key} has the paper's gate of this name; choose another one")
    if not found:
        raise UserError(f"{PREFIX}claims: states no claim; a study tests at least one")
    return tuple(found.values())


def _gate(name: str, values: Any) -> Gate:
    key = f"{PREFIX}gates.{name}"
    for field in values if isinstance(values, dict) else ():
        _check_name(field, GATE_KEYS, f"gates.{name}", "key")
    try:
        gate = read_gate(values)
    except TypeError:
        known = "{largest_fall: 0.01, last_share: 0.1} or {row: <row>, minimum_before: 0.8, smallest_rise: 0.01}"
        raise UserError(f"{key}={values}: is no gate; state {known}") from None
    for field, value in vars(gate).items():
        if field != "row" and not (isinstance(value, int | float) and 0 < value < 1):
            raise UserError(f"{key}.{field}={value}: must be a number between 0 and 1")
    return gate


def _claim(entry: Any, key: str, gates: Mapping[str, Gate]) -> Claim:
    if not isinstance(entry, dict):
        raise UserError(f"{PREFIX}{key}={entry}: is no claim; state id, statement and primary, or paper: <id>")
    if "paper" in entry:
        return _paper_claim(entry, key)
    _check_keys(entry, key, ("id", "statement", "primary"), ("secondary", "gates"))
    if not str(entry["id"]).strip() or not str(entry["statement"]).strip():
        raise UserError(f"{PREFIX}{key}: state an id and a statement of at least one letter")
    named = entry.get("gates", [])
    if not isinstance(named, list):
        raise UserError(f"{PREFIX}{key}.gates={named}: state a list of gates")
    unknown = [name for name in named if name not in [*gates]]
    if unknown:
        known = f"{PREFIX}gates has {', '.join(gates) or 'none'}"
        raise UserError(f"{PREFIX}{key}.gates={unknown[0]}: no such gate; {_nearest(unknown[0], gates, known)}")
    for kind in ("primary", "secondary"):
        comparisons = entry.get(kind, [])
        if not isinstance(comparisons, list) or (kind == "primary" and not comparisons):
            raise UserError(f"{PREFIX}{key}.{kind}={comparisons}: state a list of comparisons")
        for number, comparison in enumerate(comparisons):
            _check_comparison(comparison, f"{key}.{kind}[{number}]")
    own = {"id": str(entry["id"]), "statement": str(entry["statement"])}
    return read_claim(entry | own, gates, lambda *_: math.nan)  # all effects are stated


def _paper_claim(entry: Mapping[str, Any], key: str) -> Claim:
    _check_keys(entry, key, ("paper",), ())
    known = {claim.id: claim for claim in load_claims()}
    if entry["paper"] not in [*known]:
        raise UserError(f"{PREFIX}{key}.paper={entry['paper']}: no such claim; choose from {', '.join(known)}")
    return known[entry["paper"]]


def _check_comparison(comparison: Any, key: str) -> None:
    if not isinstance(comparison, dict):
        raise UserError(f"{PREFIX}{key}={comparison}: is no comparison; state better, worse and effect")
    size = "within" if "alike" in comparison else "effect"
    rows = ("alike",) if "alike" in comparison else ("better", "worse")
    _check_keys(comparison, key, (*rows, size), ("metric",))
    named = comparison["alike"] if "alike" in comparison else [comparison["better"], comparison["worse"]]
    if not isinstance(named, list) or len(named) != 2 or named[0] == named[1]:
        raise UserError(f"{PREFIX}{key}={named}: compares two rows; name two")
    value, metric = comparison[size], comparison.get("metric", Metric.ppl.value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UserError(f"{PREFIX}{key}.{size}={value}: must be a number greater than 0, a difference of the metric")
    if metric not in list(Metric):
        raise UserError(f"{PREFIX}{key}.metric={metric}: choose from {', '.join(Metric)}")


def _check_keys(entry: Mapping[str, Any], key: str, needed: Sequence[str], possible: Sequence[str]) -> None:
    for name in entry:  # before those that lack: one of them may be misspelled
        _check_name(name, (*needed, *possible), key, "key")
    for name in needed:
        if name not in entry:
            raise UserError(f"{PREFIX}{key}.{name} has no value: state it")


def _check_name(name: Any, known: Sequence[str], key: str, kind: str) -> None:
    """Refuse a name below a key that is none of the known ones; YAML has numbers as names too."""
    if name not in known:
        path = f"{PREFIX}{key}."
        nearest = _nearest(name, known, f"choose from {', '.join(known)}", path)
        raise UserError(f"{path}{name}: no such {kind}; {nearest}")


def _nearest(name: Any, known: Collection[str], otherwise: str, path: str = "") -> str:
    close = difflib.get_close_matches(str(name), known, n=1)
    return f"did you mean {path}{close[0]}?" if close else otherwise


def gate_entries(claims: Sequence[Claim]) -> dict[str, dict[str, Any]]:
    """The gates of claims, as `read_gate` reads them."""
    return {name: dict(vars(gate)) for claim in claims for name, gate in claim.gates.items()}


def claim_entry(claim: Claim) -> dict[str, Any]:
    """A claim as `read_claim` reads it, each effect stated."""
    return {
        **{name: getattr(claim, name) for name in ("id", "statement", "section", "group", "about")},
        "gates": list(claim.gates),
        "primary": [_comparison_entry(each) for each in claim.primary],
        "secondary": [_comparison_entry(each) for each in claim.secondary],
    }


def _comparison_entry(comparison: Comparison) -> dict[str, Any]:
    metric = comparison.metric
    if comparison.within is not None:
        return {"metric": metric.value, "alike": list(comparison.rows), "within": comparison.within}
    first, second = comparison.rows
    return {"metric": metric.value, "better": first, "worse": second, "effect": metric.sign * comparison.effect}
