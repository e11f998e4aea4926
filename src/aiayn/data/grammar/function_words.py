"""The closed classes of the embedded corpus: determiners, pronouns, prepositions, adverbs, conjunctions, names."""

from __future__ import annotations

from aiayn.data.grammar.lexicon import KINDS
from aiayn.data.grammar.meaning import Adverbial, Clock, Expletive, Link
from aiayn.data.grammar.words import (
    Adverb,
    Case,
    Determiner,
    EnglishVerb,
    GermanVerb,
    Name,
    Noun,
    Person,
    Preposition,
    Pronoun,
    Verb,
    gender_of,
    german_verb,
    parse_verb,
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
"""English "it" by the gender of the German noun that it stands for."""
PERSONAL = (I, YOU, HE, SHE, WE, THEY)
POSSESSIVES = {I: MY, YOU: YOUR, HE: HIS, SHE: HER, WE: OUR, THEY: THEIR}

_NAMES = "Anna f, Peter m, Maria f, Paul m, Julia f, Martin m, Emma f, David m, Laura f, Daniel m, Clara f, Simon m"
NAMES = tuple(Name(name, name, gender_of(gender)) for name, gender in map(str.split, _NAMES.split(", ")))
_CITIES = (
    "Berlin Hamburg London Paris Madrid Munich/München Vienna/Wien Cologne/Köln Rome/Rom Zurich/Zürich Prague/Prag "
    "Brussels/Brüssel Lisbon/Lissabon Warsaw/Warschau Geneva/Genf"
)
CITIES = tuple(
    Name(english, german or english, "n") for english, _, german in (city.partition("/") for city in _CITIES.split())
)

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
"""At, to and from a place, by the kind of its noun."""

_DAYS = {
    "Monday": "Montag",
    "Tuesday": "Dienstag",
    "Wednesday": "Mittwoch",
    "Thursday": "Donnerstag",
    "Friday": "Freitag",
    "Saturday": "Samstag",
    "Sunday": "Sonntag",
}


def _adverbs(pairs: str, *, medial: bool = False) -> tuple[Adverb, ...]:
    split = (pair.strip().split(" = ") for pair in pairs.split(","))
    return tuple(Adverb(english, german, medial) for english, german in split)


NEVER = Adverb("never", "nie", medial=True, negative=True)
CLOCK: tuple[Adverbial, ...] = tuple(Clock(hour, half) for hour in range(1, 13) for half in (False, True))
ANY_TIME: tuple[Adverbial, ...] = (
    *_adverbs("in the morning = am Morgen, in the afternoon = am Nachmittag, in the evening = am Abend"),
    *(Adverb(f"on {english}", f"am {german}") for english, german in _DAYS.items()),
)
FREQUENCIES = (
    *_adverbs("often = oft, always = immer, sometimes = manchmal, rarely = selten, usually = meistens", medial=True),
    NEVER,
)
NOW = _adverbs("now = jetzt, at the moment = im Moment, today = heute")
PRESENT_TIMES: tuple[Adverbial, ...] = (
    *_adverbs("today = heute, every day = jeden Tag, every week = jede Woche, every month = jeden Monat"),
    *_adverbs("every morning = jeden Morgen, every evening = jeden Abend, every year = jedes Jahr"),
    *_adverbs("in summer = im Sommer, in winter = im Winter, in spring = im Frühling, in autumn = im Herbst"),
    *(Adverb(f"every {english}", f"jeden {german}") for english, german in _DAYS.items()),
    *ANY_TIME,
    *CLOCK,
)
PAST_TIMES: tuple[Adverbial, ...] = (
    *_adverbs("yesterday = gestern, the day before yesterday = vorgestern, last night = letzte Nacht"),
    *_adverbs("yesterday evening = gestern Abend, last week = letzte Woche, last month = letzten Monat"),
    *_adverbs("last year = letztes Jahr, last summer = letzten Sommer, last winter = letzten Winter, then = dann"),
    *(Adverb(f"last {english}", f"letzten {german}") for english, german in _DAYS.items()),
    *(Adverb(f"in {year}", f"im Jahr {year}") for year in range(1970, 2020)),
    *ANY_TIME,
    *CLOCK,
)
FUTURE_TIMES: tuple[Adverbial, ...] = (
    *_adverbs("tomorrow = morgen, the day after tomorrow = übermorgen, soon = bald, next week = nächste Woche"),
    *_adverbs("next month = nächsten Monat, next year = nächstes Jahr, tomorrow evening = morgen Abend"),
    *(Adverb(f"next {english}", f"nächsten {german}") for english, german in _DAYS.items()),
    *ANY_TIME,
    *CLOCK,
)
PERFECT_TIMES: tuple[Adverbial, ...] = (
    *_adverbs("already = schon, just = gerade, often = oft", medial=True),
    NEVER,
    *_adverbs("today = heute, this week = diese Woche, this year = dieses Jahr"),
)
ANIMAL_MANNERS = _adverbs("slowly = langsam, quietly = leise, quickly = schnell")
_HUMAN_MANNERS = _adverbs(
    "carefully = vorsichtig, patiently = geduldig, secretly = heimlich, happily = fröhlich, well = gut"
)
MANNERS = (*ANIMAL_MANNERS, *_HUMAN_MANNERS, *_adverbs("alone = allein"))
MANNERS_OF_MANY = (*ANIMAL_MANNERS, *_HUMAN_MANNERS, *_adverbs("together = zusammen"))
TRAVEL = _adverbs(
    "by train = mit dem Zug, by bus = mit dem Bus, by car = mit dem Auto, by taxi = mit dem Taxi, "
    "by ship = mit dem Schiff, by bicycle = mit dem Fahrrad"
)
WHERE, WHEN, WHY = _adverbs("where = wo, when = wann, why = warum")

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
BE = Verb(
    EnglishVerb("be", ("am", "are", "is", "are"), ("was", "were", "was", "were"), "been", "being"),
    GermanVerb(
        "sein",
        ("bin", "bist", "ist", "sind"),
        ("war", "warst", "war", "waren"),
        "gewesen",
        with_sein=True,
    ),
    subjects=(),
    objects=(),
    traits=frozenset({"stative"}),
)
EXIST = Verb(BE.english, german_verb(["geben", "gibt", "gab", "gegeben"], []), (), (), frozenset({"stative"}))
COST = parse_verb("cost cost cost | kosten | | | stative", {})
SKY = (
    parse_verb("rain | regnen | | |", {}),
    parse_verb("snow | schneien | | |", {}),
)
EURO: Noun = KINDS["money"][0]
