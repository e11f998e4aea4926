"""The meaning of a sentence, independent of both languages.

The realisers `english` and `german` decide order, agreement, auxiliaries, case and punctuation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

from aiayn.data.grammar.words import Adjective, Adverb, Determiner, Name, Noun, Person, Preposition, Pronoun, Verb


class Tense(Enum):
    """Time and aspect; each has one English and one German form."""

    PRESENT = auto()
    """reads, liest"""
    PROGRESSIVE = auto()
    """is reading, liest"""
    PAST = auto()
    """wrote, schrieb"""
    PERFECT = auto()
    """has read, hat gelesen"""
    FUTURE = auto()
    """will read, wird lesen"""
    LASTING = auto()
    """has lived for two years, wohnt seit zwei Jahren"""


class Modal(Enum):
    """A modal verb, or "like to", which is "gern" in German."""

    CAN = auto()
    MUST = auto()
    MAY = auto()
    SHOULD = auto()
    WANT = auto()
    LIKE = auto()


@dataclass(frozen=True, slots=True)
class Thing:
    """A noun phrase; `count` (2 to 99) requires a plural, `owner` a definite article, `relative` has one `Gap`."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    count: int | None = None
    adjectives: tuple[Adjective, ...] = ()
    owner: Thing | Name | None = None
    relative: Clause | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """The head noun inside its relative clause, realised as the relative pronoun."""

    noun: Noun
    plural: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """The participant that a question asks for: who, or what."""

    person: bool


@dataclass(frozen=True, slots=True)
class Expletive:
    """A subject without meaning: "it" rains, "there" is."""

    english: str
    german: str


Nominal = Thing | Pronoun | Name | Gap | Asked | Expletive


@dataclass(frozen=True, slots=True)
class Phrase:
    """A preposition with its noun phrase."""

    preposition: Preposition
    nominal: Nominal


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day: the hour (1 to 12) or half past it."""

    hour: int
    half: bool


Adverbial = Adverb | Phrase | Clock
Slot = Literal["subject", "object", "time", "place"]


@dataclass(frozen=True, slots=True)
class Link:
    """A conjunction, or the mark of an infinitive."""

    english: str
    german: str
    kind: Literal["subordinate", "coordinate", "infinitive"]


@dataclass(frozen=True, slots=True)
class Complement:
    """A clause inside another; the subject of an infinitive is not realised."""

    link: Link
    clause: Clause


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb with its participants and adverbials.

    `predicate` (and `compared`, "older than") are used with "be". `fronted` is the first constituent.
    """

    verb: Verb
    subject: Nominal
    tense: Tense = Tense.PRESENT
    object: Nominal | None = None
    recipient: Nominal | None = None
    predicate: Adjective | None = None
    compared: Nominal | None = None
    modal: Modal | None = None
    negated: bool = False
    time: Adverbial | None = None
    manner: Adverbial | None = None
    place: Adverbial | None = None
    goal: Adverbial | None = None
    fronted: Slot | None = None
    complement: Complement | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A main clause, optionally with a second one after it or, if `reversed`, before it."""

    main: Clause
    link: Link | None = None
    other: Clause | None = None
    reversed: bool = False
    question: bool = False


def person_of(nominal: Nominal) -> Person:
    """Return the agreement of a finite verb with this subject."""
    if isinstance(nominal, Thing | Gap):
        return Person.PLURAL if nominal.plural else Person.THIRD
    if isinstance(nominal, Pronoun):
        return nominal.person
    return Person.THIRD


def gap_of(clause: Clause) -> Literal["subject", "object", "place"]:
    """Find the gap of a relative clause."""
    if isinstance(clause.subject, Gap):
        return "subject"
    if isinstance(clause.object, Gap):
        return "object"
    assert isinstance(clause.place, Phrase), clause
    assert isinstance(clause.place.nominal, Gap), clause
    return "place"
