"""Articles, endings, cases, numbers and prepositions of the embedded corpus, in both languages."""

from dataclasses import replace

import pytest
from lexemes import BOOK, CHILD, MAN, READS, SLEEPS, TWO_YEARS, WOMAN, adjective, noun, place, verb

from aiayn.data.grammar import english as grammar_english
from aiayn.data.grammar import function_words as words
from aiayn.data.grammar import german as grammar_german
from aiayn.data.grammar.inflection import adjective_ending, article, column_of, decline
from aiayn.data.grammar.inflection import number as german_number
from aiayn.data.grammar.lexicon import KINDS, NAMES
from aiayn.data.grammar.meaning import Clause, Clock, Phrase, Sentence, Tense, Thing
from aiayn.data.grammar.words import Case, Determiner

ANNA = NAMES[0]


PHENOMENA: dict[str, tuple[Sentence, str, str]] = {
    "accusative of the masculine": (
        Sentence(Clause(verb("sehen"), CHILD, object=noun("dog", words.A, "old"))),
        "The child sees an old dog.",
        "Das Kind sieht einen alten Hund.",
    ),
    "dative object": (
        Sentence(Clause(verb("helfen"), MAN, object=noun("woman", words.A, "old"))),
        "The man helps an old woman.",
        "Der Mann hilft einer alten Frau.",
    ),
    "weak masculine": (
        Sentence(Clause(verb("sehen"), WOMAN, object=noun("student", words.THIS))),
        "The woman sees this student.",
        "Die Frau sieht diesen Studenten.",
    ),
    "dative before accusative": (
        Sentence(Clause(verb("geben"), MAN, object=noun("book", words.A), recipient=CHILD)),
        "The man gives the child a book.",
        "Der Mann gibt dem Kind ein Buch.",
    ),
    "genitive": (
        Sentence(Clause(verb("lesen"), CHILD, object=replace(BOOK, owner=noun("man", words.THE, "old")))),
        "The child reads the old man's book.",
        "Das Kind liest das Buch des alten Mannes.",
    ),
    "owner by name": (
        Sentence(Clause(verb("lesen"), MAN, object=replace(noun("book", words.THE, "old"), owner=ANNA))),
        "The man reads Anna's old book.",
        "Der Mann liest Annas altes Buch.",
    ),
    "possessive": (
        Sentence(Clause(verb("verlieren"), WOMAN, object=noun("key", words.HER, "new"))),
        "The woman loses her new key.",
        "Die Frau verliert ihren neuen Schlüssel.",
    ),
    "strong endings of a mass noun": (
        Sentence(Clause(verb("trinken"), MAN, object=noun("water", words.BARE, "cold"))),
        "The man drinks cold water.",
        "Der Mann trinkt kaltes Wasser.",
    ),
    "strong endings of the plural": (
        Sentence(Clause(verb("kaufen"), MAN, object=noun("book", words.SOME, "old", plural=True))),
        "The man buys some old books.",
        "Der Mann kauft einige alte Bücher.",
    ),
    "numbers, units before tens": (
        Sentence(Clause(verb("kaufen"), MAN, object=Thing(BOOK.noun, words.BARE, plural=True, count=21))),
        "The man buys twenty-one books.",
        "Der Mann kauft einundzwanzig Bücher.",
    ),
    "dative plural": (
        Sentence(Clause(verb("helfen"), MAN, object=noun("child", words.THE, plural=True))),
        "The man helps the children.",
        "Der Mann hilft den Kindern.",
    ),
    "ago": (
        Sentence(Clause(verb("arbeiten"), words.SHE, Tense.PAST, time=Phrase(words.AGO, TWO_YEARS))),
        "She worked two years ago.",
        "Sie arbeitete vor zwei Jahren.",
    ),
    "two-way preposition: where": (
        Sentence(Clause(verb("liegen"), BOOK, place=place("on", noun("table")))),
        "The book lies on the table.",
        "Das Buch liegt auf dem Tisch.",
    ),
    "two-way preposition: where to": (
        Sentence(Clause(verb("laufen"), MAN, goal=place("into", noun("garden", words.A)))),
        "The man runs into a garden.",
        "Der Mann läuft in einen Garten.",
    ),
    "contraction": (
        Sentence(Clause(verb("gehen"), MAN, goal=place("to", noun("station")))),
        "The man goes to the station.",
        "Der Mann geht zum Bahnhof.",
    ),
    "preposition with genitive": (
        Sentence(replace(SLEEPS, time=Phrase(words.DURING, noun("concert")))),
        "The man sleeps during the concert.",
        "Der Mann schläft während des Konzerts.",
    ),
    "comparison": (
        Sentence(Clause(words.BE, MAN, predicate=adjective("old"), compared=WOMAN)),
        "The man is older than the woman.",
        "Der Mann ist älter als die Frau.",
    ),
    "half hours": (
        Sentence(replace(SLEEPS, time=Clock(3, half=True))),
        "The man sleeps at half past three.",
        "Der Mann schläft um halb vier.",
    ),
    "it by the gender of the German noun": (
        Sentence(READS, words.BECAUSE, Clause(words.BE, words.IT["n"], predicate=adjective("interesting"))),
        "The man reads the book because it is interesting.",
        "Der Mann liest das Buch, weil es interessant ist.",
    ),
}


@pytest.mark.parametrize(("meaning", "english", "german"), PHENOMENA.values(), ids=PHENOMENA.keys())
def test_a_meaning_is_realised_in_both_languages(meaning: Sentence, english: str, german: str) -> None:
    assert grammar_english.realise(meaning) == english
    assert grammar_german.realise(meaning) == german


PARADIGMS = {
    ("man", words.THE): "der alte Mann|den alten Mann|dem alten Mann|des alten Mannes",
    ("man", words.A): "ein alter Mann|einen alten Mann|einem alten Mann|eines alten Mannes",
    ("woman", words.THE): "die alte Frau|die alte Frau|der alten Frau|der alten Frau",
    ("woman", words.MY): "meine alte Frau|meine alte Frau|meiner alten Frau|meiner alten Frau",
    ("house", words.THE): "das alte Haus|das alte Haus|dem alten Haus|des alten Hauses",
    ("house", words.NO): "kein altes Haus|kein altes Haus|keinem alten Haus|keines alten Hauses",
    ("bear", words.THIS): "dieser alte Bär|diesen alten Bären|diesem alten Bären|dieses alten Bären",
    ("wine", words.BARE): "alter Wein|alten Wein|altem Wein|alten Weins",
    ("child/p", words.THE): "die alten Kinder|die alten Kinder|den alten Kindern|der alten Kinder",
    ("child/p", words.NO): "keine alten Kinder|keine alten Kinder|keinen alten Kindern|keiner alten Kinder",
    ("child/p", words.MANY): "viele alte Kinder|viele alte Kinder|vielen alten Kindern|vieler alter Kinder",
    ("car/p", words.BARE): "alte Autos|alte Autos|alten Autos|alter Autos",
}


@pytest.mark.parametrize(("key", "forms"), PARADIGMS.items(), ids=[each[0] for each in PARADIGMS])
def test_noun_phrases_are_declined(key: tuple[str, Determiner], forms: str) -> None:
    name, _, plural = key[0].partition("/")
    (lexeme,) = KINDS[name]
    column = column_of(lexeme, plural=bool(plural))
    phrases = []
    for case in Case:
        word, shown = article(key[1], column, case)
        old = "alt" + adjective_ending(column, case, shown=shown)
        phrases.append(f"{word} {old} {decline(lexeme, case, plural=bool(plural))}".strip())
    assert "|".join(phrases) == forms


def test_numbers_are_spelt_in_both_languages() -> None:
    assert [grammar_english.number(value) for value in (2, 12, 13, 20, 21, 34, 99)] == [
        *("two", "twelve", "thirteen", "twenty", "twenty-one", "thirty-four", "ninety-nine")
    ]
    assert [german_number(value) for value in (2, 12, 16, 17, 30, 21, 34, 77, 99)] == [
        *("zwei", "zwölf", "sechzehn", "siebzehn", "dreißig", "einundzwanzig", "vierunddreißig"),
        *("siebenundsiebzig", "neunundneunzig"),
    ]
    assert len({german_number(value) for value in range(100)}) == 100
