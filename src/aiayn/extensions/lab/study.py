"""A pre-registered study as its file in sweeps/ states it, checked: rows, seeds and claims."""

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf

from aiayn.config.values import Count, Positive, Seed, check_value, check_values
from aiayn.errors import UserError
from aiayn.extensions.lab.registrations import Floor, StudyTerms
from aiayn.extensions.lab.schema import RegisteredConfig, Stage
from aiayn.paper.claims import Claim, Metric, load_claims, read_claim

OTHERS = "others"
"""Stands for the rows whose seeds are not stated."""

PREFIX = "hydra.sweeper."


@dataclass(frozen=True)
class Study:
    """A study."""

    stage: Stage | None
    """What to do; None: not stated."""
    base: str
    """The row that others are compared with."""
    rows: Mapping[str, tuple[str, ...]]
    """The overrides of each row."""
    seeds: Mapping[str, tuple[int, ...]]
    """The seeds of each row."""
    looks: bool
    """Whether results may be looked at before the end."""
    claims: tuple[Claim, ...]
    terms: StudyTerms

    @property
    def jobs(self) -> list[tuple[str, int]]:
        """Row and seed of each run."""
        return [(row, seed) for row, seeds in self.seeds.items() for seed in seeds]


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
    return Study(
        stage=settings.stage,
        base=settings.base,
        rows=rows,
        seeds=_seeds(settings.seeds, rows),
        looks=settings.looks,
        claims=_claims(settings, rows),
        terms=_terms(settings),
    )


def job_count(sweeper: DictConfig) -> int:
    """The number of jobs of a study."""
    return len(read_study(sweeper).jobs)


def _terms(settings: RegisteredConfig) -> StudyTerms:
    floor = None
    if (stated := settings.floor) is not None:
        _check_keys(stated, "floor", ("log_ppl", "why"))
        check_value(f"{PREFIX}floor.log_ppl", stated["log_ppl"], Positive)
        floor = Floor(float(stated["log_ppl"]), _text(stated["why"], "floor.why"))
    for steps in settings.steps:
        check_value(f"{PREFIX}steps", steps, Count)
    if len({*settings.steps}) < len(settings.steps):
        raise UserError(f"{PREFIX}steps={settings.steps}: state each number once")
    for processor in settings.processors:
        _text(processor, "processors")
    return StudyTerms(floor, tuple(settings.steps), tuple(settings.processors), settings.power_from)


def _check_rows(names: Collection[str], rows: Collection[str], key: str) -> None:
    for name in names:
        if name not in [*rows]:  # it may be of any type
            raise UserError(f"{PREFIX}{key}={name}: no such row; choose from {', '.join(rows)}")


def _seeds(stated: Any, rows: Collection[str]) -> dict[str, tuple[int, ...]]:
    if not isinstance(stated, dict):
        raise UserError(f"{PREFIX}seeds={stated}: state them by row, as in {{{next(iter(rows))}: 8, {OTHERS}: 4}}")
    for name in stated:
        _check_name(name, (*rows, OTHERS), "seeds", "row")
    missing = [row for row in rows if row not in stated]
    if missing and OTHERS not in stated:
        raise UserError(f"{PREFIX}seeds: has none for row {missing[0]}; state them, or those of {OTHERS}")
    sources = {row: row if row in stated else OTHERS for row in rows}
    return {row: _seed_list(stated[name], f"seeds.{name}") for row, name in sources.items()}


def _seed_list(value: Any, key: str) -> tuple[int, ...]:
    """The seeds of a count, or of a list."""
    if not isinstance(value, list):
        check_value(f"{PREFIX}{key}", value, Count)
        return tuple(range(1, 1 + value))
    for seed in value:
        check_value(f"{PREFIX}{key}", seed, Seed)
    if not value or len(set(value)) < len(value):
        raise UserError(f"{PREFIX}{key}={value}: state each seed once, at least one")
    return tuple(value)


def _claims(settings: RegisteredConfig, rows: Collection[str]) -> tuple[Claim, ...]:
    found: dict[str, Claim] = {}
    for number, entry in enumerate(settings.claims):
        claim = _claim(entry, f"claims[{number}]", rows)
        key = f"claims.{claim.id}"
        if claim.id in found:
            raise UserError(f"{PREFIX}{key}: there are two claims of this id; rename one")
        for comparison in (*claim.primary, *claim.secondary):
            _check_rows(comparison.rows, rows, key)
        found[claim.id] = claim
    for claim in found.values():
        if claim.requires is None:
            continue
        if claim.requires not in found:
            raise UserError(f"{PREFIX}claims.{claim.id}: requires claim {claim.requires}; state it too")
        if (further := found[claim.requires].requires) is not None:
            raise UserError(
                f"{PREFIX}claims.{claim.id}: requires claim {claim.requires}, which requires {further}; state one that "
                "requires none"
            )
    return tuple(found.values())


def _claim(entry: Any, key: str, rows: Collection[str]) -> Claim:
    if not isinstance(entry, dict):
        raise UserError(f"{PREFIX}{key}={entry}: is no claim; state id, statement and primary, or paper: <id>")
    if "paper" in entry:
        return _paper_claim(entry, key)
    _check_keys(entry, key, ("id", "statement", "primary"), ("secondary", "may_fail", "requires"))
    texts = {name: _text(entry[name], f"{key}.{name}") for name in ("id", "statement", "requires") if name in entry}
    if not isinstance(entry.get("may_fail", False), bool):
        raise UserError(f"{PREFIX}{key}.may_fail={entry['may_fail']}: state true or false")
    for kind in ("primary", "secondary"):
        comparisons = entry.get(kind, [])
        if not isinstance(comparisons, list) or (kind == "primary" and not comparisons):
            raise UserError(f"{PREFIX}{key}.{kind}={comparisons}: state a list of comparisons")
        for number, comparison in enumerate(comparisons):
            _check_comparison(comparison, f"{key}.{kind}[{number}]", rows)
    return read_claim({**entry, **texts})


def _text(value: Any, key: str) -> str:
    """A text, or a number as text: one line of at least one letter."""
    text = "" if value is None or isinstance(value, bool | list | dict) else str(value)
    if not text.strip() or not text.isprintable():
        raise UserError(f"{PREFIX}{key}={value}: must be a line of text")
    return text


def _paper_claim(entry: Mapping[str, Any], key: str) -> Claim:
    _check_keys(entry, key, ("paper",))
    known = {claim.id: claim for claim in load_claims()}
    if entry["paper"] not in [*known]:
        raise UserError(f"{PREFIX}{key}.paper={entry['paper']}: no such claim; choose from {', '.join(known)}")
    return known[entry["paper"]]


def _check_comparison(comparison: Any, key: str, rows: Collection[str]) -> None:
    if not isinstance(comparison, dict):
        raise UserError(f"{PREFIX}{key}={comparison}: is no comparison; state better, worse and effect")
    size = "effect"
    if "trend" in comparison:
        names: tuple[str, ...] = ("trend",)
    elif "alike" not in comparison:
        names = ("better", "worse")
    elif "within" in comparison:
        names, size = ("alike",), "within"
    else:
        names = ("alike", "share_of")
    _check_keys(comparison, key, (*names, size), ("metric",))
    stated = [comparison[name] for name in names]
    if "trend" in comparison:
        _check_trend(stated[0], f"{key}.trend", rows)
    else:
        _check_pairs(stated if "alike" in comparison else [stated], key, rows)
    metric = comparison.get("metric", Metric.ppl.value)
    if metric not in list(Metric):
        raise UserError(f"{PREFIX}{key}.metric={metric}: choose from {', '.join(Metric)}")
    check_value(f"{PREFIX}{key}.{size}", comparison[size], Positive)


def _check_trend(sizes: Any, key: str, rows: Collection[str]) -> None:
    if not isinstance(sizes, dict) or len(sizes) < 2:
        raise UserError(f"{PREFIX}{key}={sizes}: state the size of at least two rows, as in {{small: 2, large: 4}}")
    _check_rows(sizes, rows, key)
    for row, size in sizes.items():
        check_value(f"{PREFIX}{key}.{row}", size, Positive)
    if len({*sizes.values()}) < len(sizes):
        raise UserError(f"{PREFIX}{key}={sizes}: two rows have the same size; a trend is over different ones")


def _check_pairs(pairs: Sequence[Any], key: str, rows: Collection[str]) -> None:
    for named in pairs:
        if not isinstance(named, list) or len(named) != 2 or named[0] == named[1]:
            raise UserError(f"{PREFIX}{key}={named}: compares two rows; name two")
        _check_rows(named, rows, key)
    if len({frozenset(named) for named in pairs}) < len(pairs):
        raise UserError(f"{PREFIX}{key}={pairs[0]}: a difference is never less than a quarter of itself; name others")


def _check_keys(entry: Mapping[str, Any], key: str, needed: Sequence[str], possible: Sequence[str] = ()) -> None:
    for name in entry:  # before those that lack: one of them may be misspelled
        _check_name(name, (*needed, *possible), key, "key")
    for name in needed:
        if name not in entry:
            raise UserError(f"{PREFIX}{key}.{name} has no value: state it")


def _check_name(name: Any, known: Sequence[str], key: str, kind: str) -> None:
    """Refuse a name below a key that is none of the known ones; YAML has numbers as names too."""
    if name not in known:
        path, close = f"{PREFIX}{key}.", difflib.get_close_matches(str(name), known, n=1)
        remedy = f"did you mean {path}{close[0]}?" if close else f"choose from {', '.join(known)}"
        raise UserError(f"{path}{name}: no such {kind}; {remedy}")
