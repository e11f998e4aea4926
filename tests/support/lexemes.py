"""Words of the lexicon, for tests of sentences."""

from aiayn.data.grammar import function_words as words
from aiayn.data.grammar.lexicon import ADJECTIVES, COLOURS, KINDS, REPORTING, VERBS
from aiayn.data.grammar.meaning import Clause, Nominal, Phrase, Thing
from aiayn.data.grammar.words import Adjective, Adverb, Determiner, Verb


def noun(english: str, determiner: Determiner = words.THE, *adjectives: str, plural: bool = False) -> Thing:
    (lexeme,) = KINDS[english]
    known = {each.english: each for each in (*ADJECTIVES[lexeme], *COLOURS[lexeme])}
    return Thing(lexeme, determiner, plural=plural, adjectives=tuple(known[each] for each in adjectives))


def adjective(english: str) -> Adjective:
    return next(each for known in ADJECTIVES.values() for each in known if each.english == english)


def verb(infinitive: str, *, preposition: str = "") -> Verb:
    """Find a verb by its German infinitive, separable prefix included."""
    for each in (*VERBS, *REPORTING):
        german = each.german
        if (german.prefix + german.infinitive, german.preposition) == (infinitive, preposition):
            return each
    raise AssertionError(infinitive)


def adverb(english: str) -> Adverb:
    known = (*words.PRESENT_TIMES, *words.PAST_TIMES, *words.FUTURE_TIMES, *words.PERFECT_TIMES, *words.FREQUENCIES)
    return next(each for each in (*known, *words.MANNERS) if isinstance(each, Adverb) and each.english == english)


def place(preposition: str, nominal: Nominal) -> Phrase:
    prepositions = {"in": words.IN, "into": words.INTO, "on": words.ON, "at": words.AT, "to": words.TO}
    return Phrase(prepositions[preposition], nominal)


MAN, WOMAN, CHILD, BOOK = noun("man"), noun("woman"), noun("child"), noun("book")
READS = Clause(verb("lesen"), MAN, object=BOOK)
SLEEPS = Clause(verb("schlafen"), MAN)
TWO_YEARS = Thing(KINDS["period"][3], words.BARE, plural=True, count=2)
