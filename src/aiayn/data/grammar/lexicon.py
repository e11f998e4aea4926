"""The open word classes and fixed adverbials, read from the TSV files beside this module.

Each line is a lexeme with all its forms; `-` is an empty field. The order of lines decides what a seed generates.
"""

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from aiayn.data.grammar.words import Adjective, Adverb, Case, EnglishVerb, Four, GermanVerb, Name, Noun, Verb

_VALUES: dict[str, Any] = {"-": "", "yes": True, "no": False}


def _rows(name: str, group: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file, or of one group of it; columns are named as the fields of `words`."""
    with files(__package__).joinpath(name).open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if group is None or row.pop("group") == group:
                yield {column: _VALUES.get(value, value) for column, value in row.items()}


def _read_adjectives(group: str) -> dict[Noun, tuple[Adjective, ...]]:
    by_noun: dict[Noun, list[Adjective]] = {noun: [] for noun in NOUNS}
    for row in _rows("adjectives.tsv", group):
        described = dict.fromkeys(nouns(row.pop("nouns")))
        adjective = Adjective(**row)
        for noun in described:
            by_noun[noun].append(adjective)
    return {noun: tuple(adjectives) for noun, adjectives in by_noun.items()}


def _read_verb(row: dict[str, Any]) -> Verb:
    base, past, traits = row["english"], row["past"], frozenset(row["traits"].split())
    return Verb(
        english=EnglishVerb(
            base,
            present=(base, base, row["third_person"], base),
            past=(past, past, past, past),
            participle=row["participle"],
            gerund=row["gerund"],
            particle=row["particle"],
            preposition=row["preposition"],
        ),
        german=GermanVerb(
            infinitive=row["german"],
            present=_four(row["german_present"]),
            past=_four(row["german_past"]),
            participle=row["german_participle"],
            prefix=row["prefix"],
            with_sein="sein" in traits,
            reflexive="sich" in traits,
            object_case=Case.DATIVE if row["german_case"] == "dative" else Case.ACCUSATIVE,
            preposition=row["german_preposition"],
        ),
        subjects=nouns(row["subjects"]),
        objects=nouns(row["objects"]),
        traits=traits,
    )


def _four(forms: str) -> Four:
    first, second, third, plural = forms.split()
    return first, second, third, plural


def nouns(keys: str) -> tuple[Noun, ...]:
    """Return the nouns of keys of `KINDS`, separated by spaces."""
    return tuple(noun for key in keys.split() for noun in KINDS[key])


def adverbs(group: str) -> tuple[Adverb, ...]:
    """Return the adverbs of a group in `adverbs.tsv`."""
    return tuple(Adverb(**row) for row in _rows("adverbs.tsv", group))


NOUNS = tuple(Noun(**row) for row in _rows("nouns.tsv"))
KINDS: dict[str, tuple[Noun, ...]] = {
    **{noun.english: (noun,) for noun in NOUNS},
    **{kind: tuple(noun for noun in NOUNS if noun.kind == kind) for kind in dict.fromkeys(noun.kind for noun in NOUNS)},
}
"""Nouns by kind, and each noun alone by its English name; "room", which is both, is the kind."""
ADJECTIVES = _read_adjectives("quality")
"""The adjectives that can describe a noun."""
COLOURS = _read_adjectives("colour")
"""Colours and nationalities, which stand next to the noun if there are two adjectives."""
VERBS, REPORTING, (COST,), WEATHER_VERBS = (
    tuple(map(_read_verb, _rows("verbs.tsv", group))) for group in ("action", "report", "price", "weather")
)
"""Reporting verbs have a subordinate clause or an infinitive."""
NAMES, CITIES = (tuple(Name(**row) for row in _rows("names.tsv", group)) for group in ("person", "city"))
