"""Sentences of the embedded corpus in both languages: word order, agreement, cases, verbs, negation and questions."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexemes import BOOK, CHILD, MAN, READS, SLEEPS, TWO_YEARS, WOMAN, adjective, adverb, noun, place, verb

from aiayn.data.grammar import english as grammar_english
from aiayn.data.grammar import function_words as words
from aiayn.data.grammar import german as grammar_german
from aiayn.data.grammar.clauses import ClauseSampler
from aiayn.data.grammar.inflection import adjective_ending, article, decline
from aiayn.data.grammar.inflection import number as german_number
from aiayn.data.grammar.lexicon import CITIES, KINDS, NAMES, VERBS
from aiayn.data.grammar.meaning import Asked, Clause, Clock, Complement, Gap, Modal, Phrase, Sentence, Tense, Thing
from aiayn.data.grammar.phrases import Dice
from aiayn.data.grammar.words import Case, Determiner, Verb

ANNA = NAMES[0]
IS_TIRED = Clause(words.BE, MAN, predicate=adjective("tired"))
PICTURE, HOUSE, BUS = noun("picture"), noun("house"), noun("bus")

MEANINGS: dict[str, Clause | Sentence] = {
    "The child sees an old dog. = Das Kind sieht einen alten Hund.": Clause(
        verb("sehen"), CHILD, object=noun("dog", words.A, "old")
    ),
    "The woman sees this student. = Die Frau sieht diesen Studenten.": Clause(
        verb("sehen"), WOMAN, object=noun("student", words.THIS)
    ),
    "The man gives the child a book. = Der Mann gibt dem Kind ein Buch.": Clause(
        verb("geben"), MAN, object=noun("book", words.A), recipient=CHILD
    ),
    "The child reads the old man's book. = Das Kind liest das Buch des alten Mannes.": Clause(
        verb("lesen"), CHILD, object=replace(BOOK, owner=noun("man", words.THE, "old"))
    ),
    "The man reads Anna's old book. = Der Mann liest Annas altes Buch.": Clause(
        verb("lesen"), MAN, object=replace(noun("book", words.THE, "old"), owner=ANNA)
    ),
    "The woman loses her new key. = Die Frau verliert ihren neuen Schlüssel.": Clause(
        verb("verlieren"), WOMAN, object=noun("key", words.HER, "new")
    ),
    "The man drinks cold water. = Der Mann trinkt kaltes Wasser.": Clause(
        verb("trinken"), MAN, object=noun("water", words.BARE, "cold")
    ),
    "The man buys twenty-one books. = Der Mann kauft einundzwanzig Bücher.": Clause(
        verb("kaufen"), MAN, object=Thing(BOOK.noun, words.BARE, plural=True, count=21)
    ),
    "She worked two years ago. = Sie arbeitete vor zwei Jahren.": Clause(
        verb("arbeiten"), words.SHE, Tense.PAST, time=Phrase(words.AGO, TWO_YEARS)
    ),
    "The book lies on the table. = Das Buch liegt auf dem Tisch.": Clause(
        verb("liegen"), BOOK, place=place("on", noun("table"))
    ),
    "The man runs into a garden. = Der Mann läuft in einen Garten.": Clause(
        verb("laufen"), MAN, goal=place("into", noun("garden", words.A))
    ),
    "The man goes to the station. = Der Mann geht zum Bahnhof.": Clause(
        verb("gehen"), MAN, goal=place("to", noun("station"))
    ),
    "The man sleeps during the concert. = Der Mann schläft während des Konzerts.": replace(
        SLEEPS, time=Phrase(words.DURING, noun("concert"))
    ),
    "The man is older than the woman. = Der Mann ist älter als die Frau.": Clause(
        words.BE, MAN, predicate=adjective("old"), compared=WOMAN
    ),
    "The man sleeps at half past three. = Der Mann schläft um halb vier.": replace(SLEEPS, time=Clock(3, half=True)),
    "The man reads the book because it is interesting. = Der Mann liest das Buch, weil es interessant ist.": Sentence(
        READS, words.BECAUSE, Clause(words.BE, words.IT["n"], predicate=adjective("interesting"))
    ),
    "Yesterday, the man bought the book. = Gestern kaufte der Mann das Buch.": replace(
        READS, verb=verb("kaufen"), tense=Tense.PAST, time=adverb("yesterday"), fronted="time"
    ),
    "In the garden, the man sleeps. = Im Garten schläft der Mann.": replace(
        SLEEPS, place=place("in", noun("garden")), fronted="place"
    ),
    "The man sleeps because he is tired. = Der Mann schläft, weil er müde ist.": Sentence(
        SLEEPS, words.BECAUSE, Clause(words.BE, words.HE, predicate=adjective("tired"))
    ),
    "Although the man is tired, he sleeps. = Obwohl der Mann müde ist, schläft er.": Sentence(
        Clause(verb("schlafen"), words.HE), words.ALTHOUGH, IS_TIRED, reversed=True
    ),
    "The woman believes that the man reads the book. = Die Frau glaubt, dass der Mann das Buch liest.": Clause(
        verb("glauben"), WOMAN, complement=Complement(words.THAT, READS)
    ),
    "The man sleeps, but the woman works. = Der Mann schläft, aber die Frau arbeitet.": Sentence(
        SLEEPS, words.BUT, Clause(verb("arbeiten"), WOMAN)
    ),
    "The man who reads the book sleeps. = Der Mann, der das Buch liest, schläft.": replace(
        SLEEPS, subject=replace(MAN, relative=replace(READS, subject=Gap(MAN.noun)))
    ),
    "The man whom the woman sees sleeps. = Der Mann, den die Frau sieht, schläft.": replace(
        SLEEPS, subject=replace(MAN, relative=Clause(verb("sehen"), WOMAN, object=Gap(MAN.noun)))
    ),
    "The man whom the woman helps sleeps. = Der Mann, dem die Frau hilft, schläft.": replace(
        SLEEPS, subject=replace(MAN, relative=Clause(verb("helfen"), WOMAN, object=Gap(MAN.noun)))
    ),
    "He has looked for the bus that the man waits for. = Er hat den Bus gesucht, auf den der Mann wartet.": Clause(
        verb("suchen"),
        words.HE,
        Tense.PERFECT,
        object=replace(BUS, relative=Clause(verb("warten", preposition="auf"), MAN, object=Gap(BUS.noun))),
    ),
    "The house in which the woman lives is old. = Das Haus, in dem die Frau wohnt, ist alt.": Clause(
        words.BE,
        replace(HOUSE, relative=Clause(verb("wohnen"), WOMAN, place=place("in", Gap(HOUSE.noun)))),
        predicate=adjective("old"),
    ),
    "The man calls her. = Der Mann ruft sie an.": Clause(verb("anrufen"), MAN, object=words.SHE),
    "The man picks me up. = Der Mann holt mich ab.": Clause(verb("abholen"), MAN, object=words.I),
    "The man does not read the book today. = Der Mann liest das Buch heute nicht.": replace(
        READS, negated=True, time=adverb("today")
    ),
    "The man does not read an old book. = Der Mann liest kein altes Buch.": replace(
        READS, object=noun("book", words.A, "old"), negated=True
    ),
    "The man did not read any old books. = Der Mann las keine alten Bücher.": replace(
        READS, object=noun("book", words.BARE, "old", plural=True), negated=True, tense=Tense.PAST
    ),
    "The man is not tired today. = Der Mann ist heute nicht müde.": replace(
        IS_TIRED, negated=True, time=adverb("today")
    ),
    "The man does not have to read the book. = Der Mann muss das Buch nicht lesen.": replace(
        READS, modal=Modal.MUST, negated=True
    ),
    "The man is tired because he had to get up. = Der Mann ist müde, weil er aufstehen musste.": Sentence(
        IS_TIRED, words.BECAUSE, Clause(verb("aufstehen"), words.HE, Tense.PAST, modal=Modal.MUST)
    ),
    "The man likes to read the book. = Der Mann liest das Buch gern.": replace(READS, modal=Modal.LIKE),
    "The woman likes the picture. = Das Bild gefällt der Frau.": Clause(verb("gefallen"), WOMAN, object=PICTURE),
    "The man has already read the book. = Der Mann hat das Buch schon gelesen.": replace(
        READS, tense=Tense.PERFECT, time=adverb("already")
    ),
    "The woman has gone into the house. = Die Frau ist ins Haus gegangen.": Clause(
        verb("gehen"), WOMAN, Tense.PERFECT, goal=place("into", HOUSE)
    ),
    "I have lived in Munich for two years. = Ich wohne seit zwei Jahren in München.": Clause(
        verb("wohnen"), words.I, Tense.LASTING, place=place("in", CITIES[5]), time=Phrase(words.SINCE, TWO_YEARS)
    ),
    "You will work tomorrow. = Du wirst morgen arbeiten.": Clause(
        verb("arbeiten"), words.YOU, Tense.FUTURE, time=adverb("tomorrow")
    ),
    "Does the man read the book? = Liest der Mann das Buch?": Sentence(READS, question=True),
    "Who reads the book? = Wer liest das Buch?": Sentence(replace(READS, subject=Asked(person=True)), question=True),
    "What does the man read? = Was liest der Mann?": Sentence(
        replace(READS, object=Asked(person=False), fronted="object"), question=True
    ),
    "Where did the woman live? = Wo wohnte die Frau?": Sentence(
        Clause(verb("wohnen"), WOMAN, Tense.PAST, place=words.WHERE, fronted="place"), question=True
    ),
    "She goes into the house in order to look at the picture. = Sie geht ins Haus, um das Bild anzuschauen.": replace(
        Clause(verb("gehen"), words.SHE, goal=place("into", HOUSE)),
        complement=Complement(words.IN_ORDER_TO, Clause(verb("anschauen"), MAN, object=PICTURE)),
    ),
    "I try to remember the woman. = Ich versuche, mich an die Frau zu erinnern.": Clause(
        verb("versuchen"),
        words.I,
        complement=Complement(words.TO_DO, Clause(verb("erinnern", preposition="an"), words.I, object=noun("woman"))),
    ),
    "Yesterday, the man rested. = Gestern ruhte sich der Mann aus.": Clause(
        verb("ausruhen"), MAN, Tense.PAST, time=adverb("yesterday"), fronted="time"
    ),
    "There is a chair in the house. = Es gibt im Haus einen Stuhl.": Clause(
        words.EXIST, words.THERE, object=noun("chair", words.A), place=place("in", HOUSE)
    ),
    "The man cannot sleep. = Der Mann kann nicht schlafen.": replace(SLEEPS, modal=Modal.CAN, negated=True),
}


@pytest.mark.parametrize(("pair", "meaning"), MEANINGS.items(), ids=MEANINGS.keys())
def test_a_meaning_is_realised_in_both_languages(pair: str, meaning: Clause | Sentence) -> None:
    sentence = meaning if isinstance(meaning, Sentence) else Sentence(meaning)
    assert f"{grammar_english.realise(sentence)} = {grammar_german.realise(sentence)}" == pair


def drawn_clause(seed: int) -> Clause:
    """Draw an action."""
    dice = Dice(f"clause/{seed}")
    clauses, tense = ClauseSampler(dice), dice.pick(tuple(Tense))
    return clauses.action(tense, clauses.phrases.topic(tense))


@given(st.integers(0, 10**9))
@settings(max_examples=300, deadline=None)
def test_only_the_finite_verb_changes_its_position(seed: int) -> None:
    """A yes-no question has it first, a subordinate clause last, joined to its separable prefix."""
    clause = drawn_clause(seed)
    first = grammar_german.realise(Sentence(clause, question=True)).removesuffix("?")
    last = grammar_german.realise(Sentence(IS_TIRED, words.BECAUSE, clause)).removesuffix(".").partition(", weil ")[2]
    finite = first.split()[0].lower()
    assert last.split()[-1].endswith(finite)
    assert sorted(first.lower().replace(" ", "")) == sorted(last.lower().replace(" ", ""))


@given(st.sampled_from([each for each in VERBS if "crossed" not in each.traits]))
def test_the_verb_agrees_with_its_subject(chosen: Verb) -> None:
    """The third word is the verb: "Der Mann schläft.", "Die Männer schlafen."."""
    for subject, german, english in (
        (MAN, chosen.german.present[2], chosen.english.present[2]),
        (replace(MAN, plural=True), chosen.german.infinitive, chosen.english.base),
    ):
        meaning = Sentence(Clause(chosen, subject))
        assert grammar_german.realise(meaning).rstrip(".").split()[2] == german
        assert grammar_english.realise(meaning).rstrip(".").split()[2] == english


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
    column = "p" if plural else lexeme.gender
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
