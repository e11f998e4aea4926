"""Closed word classes: determiners, pronouns, prepositions, conjunctions and times."""

from aiayn.data.grammar.lexicon import adverbs
from aiayn.data.grammar.meaning import Adverbial, Clock, Expletive, Link
from aiayn.data.grammar.words import (
    Adverb,
    Case,
    Determiner,
    EnglishVerb,
    GermanVerb,
    Person,
    Preposition,
    Pronoun,
    Verb,
)

THE = Determiner("the", "the", "d", "definite", definite=True)
A = Determiner("a", "", "ein", "ein", definite=False)
BARE = Determiner("", "", "", "bare", definite=False)
NO = Determiner("no", "no", "kein", "ein", definite=False)
THIS = Determiner("this", "these", "dies", "dieser", definite=True)
EVERY = Determiner("every", "", "jed", "dieser", definite=True)
MANY = Determiner("", "many", "viel", "quantity", definite=False)
SOME = Determiner("", "some", "einig", "quantity", definite=False)
MY = Determiner("my", "my", "mein", "ein", definite=True)
YOUR = Determiner("your", "your", "dein", "ein", definite=True)
HIS = Determiner("his", "his", "sein", "ein", definite=True)
HER = Determiner("her", "her", "ihr", "ein", definite=True)
OUR = Determiner("our", "our", "unser", "ein", definite=True)
THEIR = Determiner("their", "their", "ihr", "ein", definite=True)

I = Pronoun(("I", "me"), ("ich", "mich", "mir"), "mich", Person.FIRST)  # noqa: E741 - the English word
YOU = Pronoun(("you", "you"), ("du", "dich", "dir"), "dich", Person.SECOND)
HE = Pronoun(("he", "him"), ("er", "ihn", "ihm"), "sich", Person.THIRD)
SHE = Pronoun(("she", "her"), ("sie", "sie", "ihr"), "sich", Person.THIRD)
WE = Pronoun(("we", "us"), ("wir", "uns", "uns"), "uns", Person.PLURAL)
THEY = Pronoun(("they", "them"), ("sie", "sie", "ihnen"), "sich", Person.PLURAL)
IT = {
    "m": Pronoun(("it", "it"), ("er", "ihn", "ihm"), "sich", Person.THIRD),
    "f": Pronoun(("it", "it"), ("sie", "sie", "ihr"), "sich", Person.THIRD),
    "n": Pronoun(("it", "it"), ("es", "es", "ihm"), "sich", Person.THIRD),
}
"""English "it" by the gender of the German noun."""
PERSONAL = (I, YOU, HE, SHE, WE, THEY)
POSSESSIVES = {I: MY, YOU: YOUR, HE: HIS, SHE: HER, WE: OUR, THEY: THEIR}

IN = Preposition("in", "in", Case.DATIVE)
INTO = Preposition("into", "in", Case.ACCUSATIVE)
OUT_OF = Preposition("from", "aus", Case.DATIVE)
AT = Preposition("at", "an", Case.DATIVE)
TO = Preposition("to", "zu", Case.DATIVE)
FROM = Preposition("from", "von", Case.DATIVE)
ON = Preposition("on", "auf", Case.DATIVE)
ONTO = Preposition("onto", "auf", Case.ACCUSATIVE)
TO_CITY = Preposition("to", "nach", Case.DATIVE)
NEXT_TO = Preposition("next to", "neben", Case.DATIVE)
BEHIND = Preposition("behind", "hinter", Case.DATIVE)
IN_FRONT_OF = Preposition("in front of", "vor", Case.DATIVE)
UNDER = Preposition("under", "unter", Case.DATIVE)
THROUGH = Preposition("through", "durch", Case.ACCUSATIVE)
WITH = Preposition("with", "mit", Case.DATIVE)
WITHOUT = Preposition("without", "ohne", Case.ACCUSATIVE)
FOR = Preposition("for", "für", Case.ACCUSATIVE)
BEFORE = Preposition("before", "vor", Case.DATIVE)
AFTER = Preposition("after", "nach", Case.DATIVE)
DURING = Preposition("during", "während", Case.GENITIVE)
BECAUSE_OF = Preposition("because of", "wegen", Case.GENITIVE)
DESPITE = Preposition("despite", "trotz", Case.GENITIVE)
AGO = Preposition("ago", "vor", Case.DATIVE, follows=True)
HENCE = Preposition("in", "in", Case.DATIVE)
SINCE = Preposition("for", "seit", Case.DATIVE)

LOCATION: dict[str, tuple[Preposition, Preposition, Preposition]] = {
    "room": (IN, INTO, OUT_OF),
    "stop": (AT, TO, FROM),
    "ground": (ON, ONTO, FROM),
}
"""Prepositions of place, goal and origin, by the kind of the noun."""

CLOCK: tuple[Adverbial, ...] = tuple(Clock(hour, half) for hour in range(1, 13) for half in (False, True))
ANY_TIME: tuple[Adverbial, ...] = adverbs("any_time")
FREQUENCIES = adverbs("frequency")
NOW = adverbs("now")
PRESENT_TIMES: tuple[Adverbial, ...] = (*adverbs("present"), *ANY_TIME, *CLOCK)
_YEARS = tuple(Adverb(f"in {year}", f"im Jahr {year}") for year in range(1970, 2020))
PAST_TIMES: tuple[Adverbial, ...] = (*adverbs("past"), *_YEARS, *ANY_TIME, *CLOCK)
FUTURE_TIMES: tuple[Adverbial, ...] = (*adverbs("future"), *ANY_TIME, *CLOCK)
PERFECT_TIMES: tuple[Adverbial, ...] = adverbs("perfect")
ANIMAL_MANNERS = adverbs("manner")
MANNERS = (*ANIMAL_MANNERS, *adverbs("human_manner"), *adverbs("manner_of_one"))
MANNERS_OF_MANY = (*ANIMAL_MANNERS, *adverbs("human_manner"), *adverbs("manner_of_many"))
TRAVEL = adverbs("travel")
WHERE, WHEN, WHY = adverbs("question")

BECAUSE = Link("because", "weil", "subordinate")
ALTHOUGH = Link("although", "obwohl", "subordinate")
IF = Link("if", "wenn", "subordinate")
WHEN_ONCE = Link("when", "als", "subordinate")
WHILE = Link("while", "während", "subordinate")
BEFORE_DOING = Link("before", "bevor", "subordinate")
THAT = Link("that", "dass", "subordinate")
WHETHER = Link("whether", "ob", "subordinate")
AND = Link("and", "und", "coordinate")
BUT = Link("but", ", aber", "coordinate")
TO_DO = Link("to", "", "infinitive")
IN_ORDER_TO = Link("in order to", "um", "infinitive")

THERE = Expletive("there", "es")
WEATHER = Expletive("it", "es")
_BE = EnglishVerb("be", ("am", "are", "is", "are"), ("was", "were", "was", "were"), "been", "being")
_SEIN = GermanVerb("sein", ("bin", "bist", "ist", "sind"), ("war", "warst", "war", "waren"), "gewesen", with_sein=True)
_GEBEN = GermanVerb("geben", ("gebe", "gibst", "gibt", "geben"), ("gab", "gabst", "gab", "gaben"), "gegeben")
BE = Verb(_BE, _SEIN, subjects=(), objects=(), traits=frozenset({"stative"}))
EXIST = Verb(_BE, _GEBEN, subjects=(), objects=(), traits=frozenset({"stative"}))
