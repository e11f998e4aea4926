"""Parts of speech: the forms of a word in English and German."""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

Gender: TypeAlias = Literal["m", "f", "n"]
Pattern: TypeAlias = Literal["definite", "dieser", "ein", "quantity", "bare"]
Four: TypeAlias = tuple[str, str, str, str]
"""Forms by `Case`, or by `Person`."""


class Case(IntEnum):
    """German cases, in the order of all tables of forms."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2
    GENITIVE = 3


class Person(IntEnum):
    """Agreement of finite verbs; plural persons have equal forms, since "you" is always "du"."""

    FIRST = 0
    SECOND = 1
    THIRD = 2
    PLURAL = 3


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun; a mass noun has no German plural, and a relation is a person such as a mother."""

    kind: str
    english: str
    english_plural: str
    gender: Gender
    german: str
    german_genitive: str
    german_plural: str
    relation: bool

    @property
    def mass(self) -> bool:
        """Whether it is uncountable."""
        return not self.german_plural

    @property
    def animate(self) -> bool:
        """Whether its English relative pronoun is "who"."""
        return self.kind == "person"


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective; `german_stem` takes the endings, `temporary` ones describe a passing state."""

    english: str
    english_comparative: str
    german: str
    german_stem: str
    german_comparative: str
    temporary: bool


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """A preposition with its German case; `follows` for English "ago"."""

    english: str
    german: str
    case: Case
    follows: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Adverb:
    """An adverb or fixed phrase; `medial`: before the English main verb; `negative`: replaces "nicht"."""

    english: str
    german: str
    medial: bool = False
    negative: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """A determiner; `pattern` decides its German inflection."""

    english: str
    english_plural: str
    german: str
    pattern: Pattern
    definite: bool


@dataclass(frozen=True, slots=True, eq=False)
class Pronoun:
    """A personal pronoun: English subject and object; German nominative, accusative and dative."""

    english: tuple[str, str]
    german: tuple[str, str, str]
    reflexive: str
    person: Person


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A person or a city."""

    english: str
    german: str
    gender: Gender


@dataclass(frozen=True, slots=True, eq=False)
class EnglishVerb:
    """Forms by person, the particle of "get up" and the preposition of "wait for"."""

    base: str
    present: Four
    past: Four
    participle: str
    gerund: str
    particle: str = ""
    preposition: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GermanVerb:
    """Forms by person without the separable prefix, and the government of the object."""

    infinitive: str
    present: Four
    past: Four
    participle: str
    prefix: str = ""
    with_sein: bool = False
    reflexive: bool = False
    object_case: Case = Case.ACCUSATIVE
    preposition: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb in both languages, with the nouns that can be its subjects and objects.

    Traits: `stative` (no progressive), `lasting` (takes "for three years"), `easy` (takes manner and place); `place`,
    `surface`, `goal`, `onto`, `journey` and `source` (the adverbial that it needs); `recipient` and `to` (a third
    participant, with "to" in English); `crossed` (the English subject is the German dative, as of "like" and
    "gefallen"); `whether` and `infinitive` (its clause; others take "that"); `present` (no past); `sein` (auxiliary)
    and `sich` (reflexive).
    """

    english: EnglishVerb
    german: GermanVerb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    traits: frozenset[str]


def sentence_text(words: list[str], *, question: bool) -> str:
    """Join words and commas to a sentence; double commas, and a comma before the final mark, are removed."""
    sentence = re.sub(",+", ",", " ".join(words).replace(" ,", ",")).strip(",")
    return sentence[0].upper() + sentence[1:] + ("?" if question else ".")
