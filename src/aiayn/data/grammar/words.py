"""What English and German have to know about a word, and how the lexicon's lines are read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, get_args

Gender = Literal["m", "f", "n"]
Pattern = Literal["definite", "dieser", "ein", "quantity", "bare"]
Four = tuple[str, str, str, str]


class Case(IntEnum):
    """The German cases, in the order of every table of forms."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2
    GENITIVE = 3


class Person(IntEnum):
    """What a finite verb agrees with; neither language tells plural persons apart here, as "you" is always "du"."""

    FIRST = 0
    SECOND = 1
    THIRD = 2
    PLURAL = 3


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun; a mass noun has no plural forms."""

    kind: str
    english: str
    english_plural: str
    gender: Gender
    german: str
    german_genitive: str
    german_plural: str

    @property
    def mass(self) -> bool:
        """Whether it cannot be counted."""
        return not self.german_plural

    @property
    def animate(self) -> bool:
        """Whether English relates it with "who"."""
        return self.kind == "person"


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective with its comparative; `german_stem` is what endings are put on."""

    english: str
    english_comparative: str
    german: str
    german_stem: str
    german_comparative: str


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """A preposition with the case that it governs in German; `follows` for English "ago"."""

    english: str
    german: str
    case: Case
    follows: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Adverb:
    """An adverb or fixed phrase; `medial` ones stand at the verb in English, `negative` ones replace "nicht"."""

    english: str
    german: str
    medial: bool = False
    negative: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """An article or its like; German inflects it by its pattern."""

    english: str
    english_plural: str
    german: str
    pattern: Pattern
    definite: bool


@dataclass(frozen=True, slots=True, eq=False)
class Pronoun:
    """A personal pronoun: English subject and object, German nominative, accusative and dative."""

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
    """Forms by person without the separable prefix, and how the verb governs its object."""

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
    """A verb of both languages, and what it goes with.

    Traits: `stative` (no progressive), `lasting` (goes with "for three years"), `place`, `goal` and `source` (it needs
    one), `recipient` and `to` (a third participant, with "to" in English), `crossed` (the English subject is the German
    dative, as with "like" and "gefallen"), `that` and `whether` (it takes such a clause).
    """

    english: EnglishVerb
    german: GermanVerb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    traits: frozenset[str]


def plural_of(noun: str) -> str:
    """Spell the regular English plural."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def gender_of(letter: str) -> Gender:
    """Read a gender."""
    gender: Gender
    for gender in get_args(Gender):
        if letter == gender:
            return gender
    raise AssertionError(letter)


def parse_nouns(kind: str, lines: str) -> list[Noun]:
    """Read lines of `english[/plural] gender German genitive-suffix plural`, "-" for none."""
    nouns = []
    for line in lines.strip().splitlines():
        english, gender, german, suffix, german_plural = line.split()
        singular, _, plural = english.partition("/")
        nouns.append(
            Noun(
                kind=kind,
                english=singular,
                english_plural=plural or plural_of(singular),
                gender=gender_of(gender),
                german=german,
                german_genitive=german + suffix.strip("-"),
                german_plural=german_plural.strip("-"),
            )
        )
    return nouns


def parse_adjectives(lines: str) -> list[tuple[Adjective, list[str]]]:
    """Read lines of `english [comparative] | german[/stem] [comparative] | kinds of nouns`."""
    adjectives = []
    for line in lines.strip().splitlines():
        english, german, kinds = (field.split() for field in line.split("|"))
        base, _, stem = german[0].partition("/")
        stem = stem or base.removesuffix("e")
        comparative = german[1] if len(german) > 1 else stem + "er"
        english_comparative = english[1] if len(english) > 1 else f"more {english[0]}"
        adjectives.append((Adjective(english[0], english_comparative, base, stem, comparative), kinds))
    return adjectives


def parse_verb(line: str, nouns: dict[str, tuple[Noun, ...]]) -> Verb:
    """Read `english | german | subjects | objects | traits`; subjects and objects are nouns or kinds of nouns."""
    english, german, subjects, objects, traits = (field.split() for field in line.split("|"))
    return Verb(
        english=english_verb(english),
        german=german_verb(german, traits),
        subjects=tuple(noun for key in subjects for noun in nouns[key]),
        objects=tuple(noun for key in objects for noun in nouns[key]),
        traits=frozenset(traits),
    )


DOUBLED = frozenset({"get", "put", "run", "sit", "swim", "forget", "begin", "travel"})
"""Verbs that double their last letter before "-ing"."""


def english_verb(forms: list[str]) -> EnglishVerb:
    """Conjugate `base[+particle][:preposition] [past participle]`, regular where no form is given."""
    head, _, preposition = forms[0].partition(":")
    base, _, particle = head.partition("+")
    third = "has" if base == "have" else plural_of(base) if not base.endswith("o") else base + "es"
    regular = base[:-1] + "ied" if third.endswith("ies") else base + ("d" if base.endswith("e") else "ed")
    past, participle = forms[1:] if len(forms) > 1 else (regular, regular)
    if base.endswith("ie"):
        gerund = base[:-2] + "ying"
    elif base in DOUBLED:
        gerund = base + base[-1] + "ing"
    else:
        gerund = (base[:-1] if base.endswith("e") and not base.endswith("ee") else base) + "ing"
    return EnglishVerb(base, (base, base, third, base), (past,) * 4, participle, gerund, particle, preposition)


INSEPARABLE = ("be", "emp", "ent", "er", "ge", "ver", "zer")
"""Prefixes of verbs whose participle has no "ge-"."""


def german_verb(forms: list[str], traits: list[str]) -> GermanVerb:
    """Conjugate `[prefix+]infinitive[:preposition/case] [third past participle]`, weak where no form is given."""
    head, _, governed = forms[0].partition(":")
    prefix, _, infinitive = head.rpartition("+")
    preposition, _, case = governed.partition("/")
    stem = infinitive.removesuffix("n") if infinitive.endswith(("eln", "ern")) else infinitive.removesuffix("en")
    link = "e" if stem.endswith(("t", "d", "chn", "ffn", "gn")) else ""
    weak = stem + link + "t"
    unmarked = infinitive.startswith(INSEPARABLE) or infinitive.endswith("ieren")
    third, past, participle = forms[1:] if len(forms) > 1 else (weak, weak + "e", weak if unmarked else "ge" + weak)
    return GermanVerb(
        infinitive=infinitive,
        present=_german_present(infinitive, stem, third),
        past=_german_past(past),
        participle=participle,
        prefix=prefix,
        with_sein="sein" in traits,
        reflexive="sich" in traits,
        object_case=Case.DATIVE if case == "dative" or "dative" in traits else Case.ACCUSATIVE,
        preposition=preposition,
    )


def _german_present(infinitive: str, stem: str, third: str) -> Four:
    if not third.endswith("t"):  # kann, weiß: the first person is the third
        return third, third + ("t" if third.endswith(("s", "ß")) else "st"), third, infinitive
    first = stem[:-2] + "le" if infinitive.endswith("eln") else stem + "e"
    root = third[:-1]
    return first, root + ("t" if root.endswith(("s", "ß", "z")) else "st"), third, infinitive


def _german_past(past: str) -> Four:
    if past.endswith("e"):
        return past, past + "st", past, past + "n"
    return past, past + ("est" if past.endswith(("s", "ß", "z", "t", "d")) else "st"), past, past + "en"


def text(words: list[str], *, question: bool) -> str:
    """Join words and commas to a sentence: commas close up, never double, and give way to the final mark."""
    sentence = " ".join(words).replace(" ,", ",")
    while ",," in sentence:
        sentence = sentence.replace(",,", ",")
    sentence = sentence.strip(",")
    return sentence[0].upper() + sentence[1:] + ("?" if question else ".")
