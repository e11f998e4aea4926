"""Draws plausible participants, places and times."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from aiayn.data.grammar import function_words as words
from aiayn.data.grammar.lexicon import ADJECTIVES, CITIES, COLOURS, KINDS, NAMES, nouns
from aiayn.data.grammar.meaning import Adverbial, Gap, Nominal, Phrase, Tense, Thing
from aiayn.data.grammar.words import Adjective, Determiner, Name, Noun, Preposition, Pronoun, Verb

T = TypeVar("T")

MAN, WOMAN = KINDS["man"][0], KINDS["woman"][0]
PERSONS, ANIMALS = KINDS["person"], KINDS["animal"]
PLACES = nouns("room stop ground")
_TIMES: dict[Tense, tuple[Adverbial, ...]] = {
    Tense.PRESENT: words.PRESENT_TIMES,
    Tense.PROGRESSIVE: words.NOW,
    Tense.PAST: words.PAST_TIMES,
    Tense.PERFECT: words.PERFECT_TIMES,
    Tense.FUTURE: words.FUTURE_TIMES,
}


@dataclass(frozen=True, slots=True)
class Topic:
    """A participant, and the noun that decides which verbs and adjectives fit it."""

    nominal: Nominal
    noun: Noun


def possessive_of(topic: Topic) -> Determiner:
    """Return the possessive that refers to a subject; "our" for things and children."""
    nominal = topic.nominal
    if isinstance(nominal, Pronoun):
        return words.POSSESSIVES.get(nominal, words.OUR)
    if not topic.noun.animate:
        return words.OUR
    if isinstance(nominal, Thing | Gap) and nominal.plural:
        return words.THEIR
    return {"m": words.HIS, "f": words.HER, "n": words.OUR}[topic.noun.gender]


class Dice:
    """Random choices by `random.Random.random` only, whose sequence is the same in all Python versions."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random  # noqa: S311 - sentences, not secrets

    def pick(self, items: Sequence[T]) -> T:
        """Choose an item uniformly."""
        return items[int(self._random() * len(items))]

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self._random() < probability

    def count(self, low: int, high: int) -> int:
        """Draw a number from low to high, inclusive."""
        return low + int(self._random() * (high - low + 1))


class PhraseSampler:
    """Draws noun phrases and adverbials."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def topic(self, tense: Tense) -> Topic:
        """Draw a subject: mostly a person, sometimes an animal."""
        roll = self._dice.count(1, 100)
        if roll <= 18:
            # The simple past with "du" ("du kauftest") is correct but unusual.
            pronoun = self._dice.pick(words.PERSONAL if tense is not Tense.PAST else words.PERSONAL[2:])
            return Topic(pronoun, WOMAN if pronoun is words.SHE else MAN)
        if roll <= 32:
            name = self._dice.pick(NAMES)
            return Topic(name, WOMAN if name.gender == "f" else MAN)
        noun = self._dice.pick(PERSONS if roll <= 91 else ANIMALS)
        return Topic(self.subject_thing(noun), noun)

    def subject_thing(self, noun: Noun) -> Thing:
        """Draw a noun phrase for a subject."""
        roll = self._dice.count(1, 100)
        if roll <= 55:
            return self.thing(noun, words.THE, plural=not noun.mass and self._dice.chance(0.3))
        if roll <= 63:
            return self.owned(noun, self._dice.pick((words.MY, words.OUR, words.YOUR)))
        if roll <= 71:
            return self.thing(noun, words.A)
        if roll <= 78:
            return self.thing(noun, words.THIS, plural=self._dice.chance(0.4))
        if roll <= 82:
            return self.thing(noun, words.EVERY)
        if roll <= 90:
            return self.thing(noun, self._dice.pick((words.MANY, words.SOME)), plural=True)
        return self.counted(noun)

    def counted(self, noun: Noun) -> Thing:
        """Draw a number of things, from 2 to 99; low numbers are more frequent."""
        count = self._dice.count(2, 12) if self._dice.chance(0.5) else self._dice.count(13, 99)
        return replace(self.thing(noun, words.BARE, plural=True), count=count)

    def owned(self, noun: Noun, owner: Determiner) -> Thing:
        """Draw a noun phrase with a possessive; a person has it only if a relation."""
        if noun.animate:
            return self.thing(noun, owner if noun.relation else words.THE)
        return self.thing(noun, owner, plural=self._dice.chance(0.2))

    def thing(self, noun: Noun, determiner: Determiner, *, plural: bool = False) -> Thing:
        """Add adjectives to a noun."""
        adjectives: tuple[Adjective, ...] = ()
        if ADJECTIVES[noun] and self._dice.chance(0.42):
            adjectives = (self._dice.pick(ADJECTIVES[noun]),)
        if COLOURS[noun] and self._dice.chance(0.2):
            adjectives = (*adjectives, self._dice.pick(COLOURS[noun]))
        return Thing(noun, determiner, plural=plural and not noun.mass, adjectives=adjectives)

    def object_thing(self, noun: Noun, owner: Determiner, *, plain: bool) -> Thing:
        """Draw a noun phrase for an object; `plain`: without a quantity, so that the clause can be negated."""
        roll = self._dice.count(1, 100 if not plain else 70)
        if roll <= 34:
            return self.thing(noun, words.THE, plural=self._dice.chance(0.25))
        if roll <= 54:
            plural = not noun.mass and self._dice.chance(0.35)
            return self.thing(noun, words.BARE if plural or noun.mass else words.A, plural=plural)
        if roll <= 66 or noun.mass:
            return self.owned(noun, owner)
        if roll <= 70:
            return self.thing(noun, words.THIS, plural=self._dice.chance(0.3))
        if roll <= 80:
            return replace(self.thing(noun, words.THE), owner=self.owner())
        if roll <= 88:
            return self.thing(noun, self._dice.pick((words.MANY, words.SOME)), plural=True)
        if roll <= 97:
            return self.counted(noun)
        return self.thing(noun, words.EVERY)

    def owner(self) -> Thing | Name:
        """Draw an owner in the genitive."""
        if self._dice.chance(0.4):
            return self._dice.pick(NAMES)
        return self.thing(self._dice.pick(PERSONS), words.THE)

    def participant(self, noun: Noun, subject: Topic, *, plain: bool, known: bool = False) -> Nominal:
        """Draw an object; persons may be pronouns and names; `known`: definite."""
        if noun.animate and self._dice.chance(0.3):
            pronoun = self._dice.pick(words.PERSONAL)
            if pronoun is not subject.nominal and self._dice.chance(0.5):
                return pronoun
            return self._dice.pick(NAMES)
        if known:
            return self.owned(noun, self._dice.pick((words.THE, words.THE, words.MY, words.OUR)))
        return self.object_thing(noun, possessive_of(subject), plain=plain)

    def place(self, *, at: int = 0) -> Phrase:
        """Draw a place: location (0), goal (1) or origin (2)."""
        if at != 1 and self._dice.chance(0.2):
            return Phrase((words.IN, words.TO_CITY, words.OUT_OF)[at], self._dice.pick(CITIES))
        noun = self._dice.pick(PLACES)
        if at == 0 and noun.kind == "room" and self._dice.chance(0.25):
            return Phrase(self._dice.pick((words.NEXT_TO, words.BEHIND, words.IN_FRONT_OF)), self._around(noun))
        return Phrase(words.LOCATION[noun.kind][at], self._around(noun))

    def surface(self) -> Phrase:
        """Draw a location on, under or next to furniture."""
        preposition: Preposition = self._dice.pick((words.ON, words.ON, words.UNDER, words.NEXT_TO, words.BEHIND))
        return Phrase(preposition, self._around(self._dice.pick(KINDS["furniture"])))

    def _around(self, noun: Noun) -> Thing:
        last = words.OUR if noun.kind in ("room", "furniture") else words.THE
        return self.thing(noun, self._dice.pick((words.THE, words.THE, words.THE, words.A, words.THIS, last)))

    def destination(self, verb: Verb) -> Phrase:
        """Draw the goal or origin of a motion."""
        if "journey" in verb.traits:
            return Phrase(words.TO_CITY, self._dice.pick(CITIES))
        if "onto" in verb.traits:
            return Phrase(words.ONTO, self._around(self._dice.pick(KINDS["ground"])))
        if "goal" in verb.traits and self._dice.chance(0.2):
            return Phrase(words.THROUGH, self._around(self._dice.pick(KINDS["room"])))
        return self.place(at=2 if "source" in verb.traits else 1)

    def time(self, tense: Tense, *, plain: bool = False) -> Adverbial:
        """Draw a time that fits the tense; `plain`: also fits a negated clause."""
        if tense is Tense.LASTING:
            return Phrase(words.SINCE, self._period())
        if tense is Tense.PROGRESSIVE or (tense is Tense.PERFECT and not plain):
            return self._dice.pick(_TIMES[tense])
        if tense is Tense.PERFECT:
            return self._dice.pick(words.PERFECT_TIMES[4:])
        roll = self._dice.count(1, 100)
        if tense is Tense.PRESENT and roll <= 35 and not plain:
            return self._dice.pick(words.FREQUENCIES)
        if roll <= 12 and tense is not Tense.PRESENT:
            return Phrase(words.AGO if tense is Tense.PAST else words.HENCE, self._period())
        if 35 < roll <= 47:
            preposition = self._dice.pick((words.BEFORE, words.AFTER, words.DURING))
            return Phrase(preposition, self.thing(self._dice.pick(KINDS["event"]), words.THE))
        if 47 < roll <= 54:
            preposition = self._dice.pick((words.BECAUSE_OF, words.DESPITE))
            return Phrase(preposition, Thing(self._dice.pick(KINDS["weather"]), words.THE))
        return self._dice.pick(_TIMES[tense])

    def _period(self) -> Thing:
        return Thing(self._dice.pick(KINDS["period"]), words.BARE, plural=True, count=self._dice.count(2, 30))
