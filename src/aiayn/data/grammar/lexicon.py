"""The open word classes and fixed adverbials, read from the TSV files beside this module.

Each line is a lexeme with all its forms; `-` is an empty field. The order of lines decides what a seed generates.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from aiayn.data.grammar.words import Adjective, Adverb, Case, EnglishVerb, Four, Gender, GermanVerb, Name, Noun, Verb

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Row = Mapping[str, str]


def _rows(name: str) -> Iterator[Row]:
    with files(__package__).joinpath(name).open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield {column: "" if value == "-" else value for column, value in row.items()}


def _read_nouns() -> dict[str, tuple[Noun, ...]]:
    by_kind: dict[str, tuple[Noun, ...]] = {}
    for row in _rows("nouns.tsv"):
        noun = Noun(
            kind=row["kind"],
            english=row["english"],
            english_plural=row["plural"],
            gender=_gender(row),
            german=row["german"],
            german_genitive=row["genitive"],
            german_plural=row["german_plural"],
            relation=bool(row["relation"]),
        )
        by_kind[noun.kind] = (*by_kind.get(noun.kind, ()), noun)
    by_noun = {noun.english: (noun,) for nouns in by_kind.values() for noun in nouns}
    return by_noun | by_kind  # where a kind and a noun have the same name ("room"), it means the kind


def _read_adjectives(group: str) -> dict[Noun, tuple[Adjective, ...]]:
    by_noun: dict[Noun, dict[Adjective, None]] = {noun: {} for noun in NOUNS}
    for row in _rows("adjectives.tsv"):
        if row["group"] == group:
            adjective = Adjective(
                english=row["english"],
                english_comparative=row["comparative"],
                german=row["german"],
                german_stem=row["stem"],
                german_comparative=row["german_comparative"],
                temporary=bool(row["temporary"]),
            )
            for noun in _nouns(row["nouns"]):
                by_noun[noun][adjective] = None
    return {noun: tuple(adjectives) for noun, adjectives in by_noun.items()}


def _read_verbs(group: str) -> tuple[Verb, ...]:
    return tuple(_verb(row) for row in _rows("verbs.tsv") if row["group"] == group)


def _verb(row: Row) -> Verb:
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
        subjects=_nouns(row["subjects"]),
        objects=_nouns(row["objects"]),
        traits=traits,
    )


def _four(forms: str) -> Four:
    first, second, third, plural = forms.split()
    return first, second, third, plural


def _gender(row: Row) -> Gender:
    assert row["gender"] in ("m", "f", "n"), row
    return cast("Gender", row["gender"])


def _nouns(keys: str) -> tuple[Noun, ...]:
    return tuple(noun for key in keys.split() for noun in KINDS[key])


def _read_names(group: str) -> tuple[Name, ...]:
    return tuple(
        Name(row["english"], row["german"], _gender(row)) for row in _rows("names.tsv") if row["group"] == group
    )


def adverbs(group: str) -> tuple[Adverb, ...]:
    """Return the adverbs of a group in `adverbs.tsv`."""
    return tuple(
        Adverb(row["english"], row["german"], medial=bool(row["medial"]), negative=bool(row["negative"]))
        for row in _rows("adverbs.tsv")
        if row["group"] == group
    )


KINDS = _read_nouns()
"""Nouns by kind, and each noun alone by its English name."""
NOUNS = tuple(noun for kind, nouns in KINDS.items() for noun in nouns if noun.kind == kind)
ADJECTIVES = _read_adjectives("quality")
"""The adjectives that can describe a noun."""
COLOURS = _read_adjectives("colour")
"""Colours and nationalities, which stand next to the noun if there are two adjectives."""
VERBS = _read_verbs("action")
REPORTING = _read_verbs("report")
"""Verbs with a subordinate clause or an infinitive."""
(COST,) = _read_verbs("price")
WEATHER_VERBS = _read_verbs("weather")
NAMES, CITIES = _read_names("person"), _read_names("city")
