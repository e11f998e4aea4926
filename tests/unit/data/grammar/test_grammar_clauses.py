"""Word order, verbs, negation and questions of the embedded corpus, in both languages."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexemes import CHILD, MAN, READS, SLEEPS, TWO_YEARS, WOMAN, adjective, adverb, noun, place, verb

from aiayn.data.grammar import english as grammar_english
from aiayn.data.grammar import function_words as words
from aiayn.data.grammar import german as grammar_german
from aiayn.data.grammar.clauses import ClauseSampler
from aiayn.data.grammar.lexicon import CITIES, VERBS
from aiayn.data.grammar.meaning import (
    Asked,
    Clause,
    Complement,
    Gap,
    Modal,
    Phrase,
    Sentence,
    Tense,
)
from aiayn.data.grammar.phrases import Dice
from aiayn.data.grammar.words import Verb

IS_TIRED = Clause(words.BE, MAN, predicate=adjective("tired"))


PHENOMENA: dict[str, tuple[Sentence, str, str]] = {
    "verb second after a time": (
        Sentence(replace(READS, verb=verb("kaufen"), tense=Tense.PAST, time=adverb("yesterday"), fronted="time")),
        "Yesterday, the man bought the book.",
        "Gestern kaufte der Mann das Buch.",
    ),
    "verb second after a place": (
        Sentence(replace(SLEEPS, place=place("in", noun("garden")), fronted="place")),
        "In the garden, the man sleeps.",
        "Im Garten schläft der Mann.",
    ),
    "verb last after because": (
        Sentence(SLEEPS, words.BECAUSE, Clause(words.BE, words.HE, predicate=adjective("tired"))),
        "The man sleeps because he is tired.",
        "Der Mann schläft, weil er müde ist.",
    ),
    "verb second after a subordinate clause": (
        Sentence(Clause(verb("schlafen"), words.HE), words.ALTHOUGH, IS_TIRED, reversed=True),
        "Although the man is tired, he sleeps.",
        "Obwohl der Mann müde ist, schläft er.",
    ),
    "verb last after that": (
        Sentence(Clause(verb("glauben"), WOMAN, complement=Complement(words.THAT, READS))),
        "The woman believes that the man reads the book.",
        "Die Frau glaubt, dass der Mann das Buch liest.",
    ),
    "coordination": (
        Sentence(SLEEPS, words.BUT, Clause(verb("arbeiten"), WOMAN)),
        "The man sleeps, but the woman works.",
        "Der Mann schläft, aber die Frau arbeitet.",
    ),
    "relative pronoun in the nominative": (
        Sentence(replace(SLEEPS, subject=replace(MAN, relative=replace(READS, subject=Gap(MAN.noun))))),
        "The man who reads the book sleeps.",
        "Der Mann, der das Buch liest, schläft.",
    ),
    "relative pronoun in the accusative": (
        Sentence(replace(SLEEPS, subject=replace(MAN, relative=Clause(verb("sehen"), WOMAN, object=Gap(MAN.noun))))),
        "The man whom the woman sees sleeps.",
        "Der Mann, den die Frau sieht, schläft.",
    ),
    "relative pronoun in the dative": (
        Sentence(replace(SLEEPS, subject=replace(MAN, relative=Clause(verb("helfen"), WOMAN, object=Gap(MAN.noun))))),
        "The man whom the woman helps sleeps.",
        "Der Mann, dem die Frau hilft, schläft.",
    ),
    "relative pronoun after a preposition, clause behind the verb": (
        Sentence(
            Clause(
                verb("suchen"),
                CHILD,
                Tense.PERFECT,
                object=replace(
                    noun("bus"),
                    relative=Clause(verb("warten", preposition="auf"), MAN, object=Gap(noun("bus").noun)),
                ),
            )
        ),
        "The child has looked for the bus that the man waits for.",
        "Das Kind hat den Bus gesucht, auf den der Mann wartet.",
    ),
    "relative clause of place": (
        Sentence(
            Clause(
                words.BE,
                replace(
                    noun("house"),
                    relative=Clause(verb("wohnen"), WOMAN, place=place("in", Gap(noun("house").noun))),
                ),
                predicate=adjective("old"),
            )
        ),
        "The house in which the woman lives is old.",
        "Das Haus, in dem die Frau wohnt, ist alt.",
    ),
    "separable verb in a main clause": (
        Sentence(Clause(verb("anrufen"), MAN, object=words.SHE)),
        "The man calls her.",
        "Der Mann ruft sie an.",
    ),
    "separable verb in a subordinate clause": (
        Sentence(SLEEPS, words.IF, Clause(verb("aufwachen"), CHILD)),
        "The man sleeps if the child wakes up.",
        "Der Mann schläft, wenn das Kind aufwacht.",
    ),
    "particle after a pronoun": (
        Sentence(Clause(verb("abholen"), MAN, object=words.I)),
        "The man picks me up.",
        "Der Mann holt mich ab.",
    ),
    "nicht after a definite object": (
        Sentence(replace(READS, negated=True, time=adverb("today"))),
        "The man does not read the book today.",
        "Der Mann liest das Buch heute nicht.",
    ),
    "kein for an indefinite object": (
        Sentence(replace(READS, object=noun("book", words.A, "old"), negated=True)),
        "The man does not read an old book.",
        "Der Mann liest kein altes Buch.",
    ),
    "any, and kein of the plural": (
        Sentence(replace(READS, object=noun("book", words.BARE, "old", plural=True), negated=True, tense=Tense.PAST)),
        "The man did not read any old books.",
        "Der Mann las keine alten Bücher.",
    ),
    "nicht before a predicate": (
        Sentence(replace(IS_TIRED, negated=True, time=adverb("today"))),
        "The man is not tired today.",
        "Der Mann ist heute nicht müde.",
    ),
    "modal verb": (
        Sentence(replace(READS, modal=Modal.CAN)),
        "The man can read the book.",
        "Der Mann kann das Buch lesen.",
    ),
    "negated modal": (
        Sentence(replace(READS, modal=Modal.MUST, negated=True)),
        "The man does not have to read the book.",
        "Der Mann muss das Buch nicht lesen.",
    ),
    "modal verb in a subordinate clause": (
        Sentence(IS_TIRED, words.BECAUSE, Clause(verb("aufstehen"), words.HE, Tense.PAST, modal=Modal.MUST)),
        "The man is tired because he had to get up.",
        "Der Mann ist müde, weil er aufstehen musste.",
    ),
    "gern for like to": (
        Sentence(replace(READS, modal=Modal.LIKE)),
        "The man likes to read the book.",
        "Der Mann liest das Buch gern.",
    ),
    "subject and object crossed": (
        Sentence(Clause(verb("gefallen"), WOMAN, object=noun("picture"))),
        "The woman likes the picture.",
        "Das Bild gefällt der Frau.",
    ),
    "crossed in a relative clause": (
        Sentence(
            replace(
                SLEEPS,
                subject=replace(WOMAN, relative=Clause(verb("gefallen"), Gap(WOMAN.noun), object=noun("picture"))),
            )
        ),
        "The woman who likes the picture sleeps.",
        "Die Frau, der das Bild gefällt, schläft.",
    ),
    "perfect with haben": (
        Sentence(replace(READS, tense=Tense.PERFECT, time=adverb("already"))),
        "The man has already read the book.",
        "Der Mann hat das Buch schon gelesen.",
    ),
    "perfect with sein": (
        Sentence(Clause(verb("gehen"), WOMAN, Tense.PERFECT, goal=place("into", noun("house")))),
        "The woman has gone into the house.",
        "Die Frau ist ins Haus gegangen.",
    ),
    "perfect in a subordinate clause": (
        Sentence(SLEEPS, words.BECAUSE, Clause(verb("einkaufen"), WOMAN, Tense.PERFECT)),
        "The man sleeps because the woman has gone shopping.",
        "Der Mann schläft, weil die Frau eingekauft hat.",
    ),
    "present for what lasts": (
        Sentence(
            Clause(
                verb("wohnen"),
                words.I,
                Tense.LASTING,
                place=place("in", CITIES[5]),
                time=Phrase(words.SINCE, TWO_YEARS),
            )
        ),
        "I have lived in Munich for two years.",
        "Ich wohne seit zwei Jahren in München.",
    ),
    "progressive": (
        Sentence(Clause(verb("arbeiten"), words.WE, Tense.PROGRESSIVE, time=words.NOW[0])),
        "We are working now.",
        "Wir arbeiten jetzt.",
    ),
    "future": (
        Sentence(Clause(verb("arbeiten"), words.YOU, Tense.FUTURE, time=adverb("tomorrow"))),
        "You will work tomorrow.",
        "Du wirst morgen arbeiten.",
    ),
    "yes-no question": (
        Sentence(READS, question=True),
        "Does the man read the book?",
        "Liest der Mann das Buch?",
    ),
    "question for the subject": (
        Sentence(replace(READS, subject=Asked(person=True)), question=True),
        "Who reads the book?",
        "Wer liest das Buch?",
    ),
    "question for the object": (
        Sentence(replace(READS, object=Asked(person=False), fronted="object"), question=True),
        "What does the man read?",
        "Was liest der Mann?",
    ),
    "question for the place": (
        Sentence(Clause(verb("wohnen"), WOMAN, Tense.PAST, place=words.WHERE, fronted="place"), question=True),
        "Where did the woman live?",
        "Wo wohnte die Frau?",
    ),
    "purpose": (
        Sentence(
            replace(
                Clause(verb("gehen"), MAN, goal=place("into", noun("house"))),
                complement=Complement(words.IN_ORDER_TO, Clause(verb("anschauen"), MAN, object=noun("picture"))),
            )
        ),
        "The man goes into the house in order to look at the picture.",
        "Der Mann geht ins Haus, um das Bild anzuschauen.",
    ),
    "infinitive with a reflexive that agrees": (
        Sentence(
            Clause(
                verb("versuchen"),
                words.I,
                complement=Complement(
                    words.TO_DO, Clause(verb("erinnern", preposition="an"), words.I, object=noun("woman"))
                ),
            )
        ),
        "I try to remember the woman.",
        "Ich versuche, mich an die Frau zu erinnern.",
    ),
    "reflexive before a full subject": (
        Sentence(Clause(verb("ausruhen"), MAN, Tense.PAST, time=adverb("yesterday"), fronted="time")),
        "Yesterday, the man rested.",
        "Gestern ruhte sich der Mann aus.",
    ),
    "existence": (
        Sentence(Clause(words.EXIST, words.THERE, object=noun("chair", words.A), place=place("in", noun("house")))),
        "There is a chair in the house.",
        "Es gibt im Haus einen Stuhl.",
    ),
    "first person": (
        Sentence(Clause(verb("spielen"), words.I, time=adverb("often"))),
        "I often play.",
        "Ich spiele oft.",
    ),
    "cannot": (
        Sentence(replace(SLEEPS, modal=Modal.CAN, negated=True)),
        "The man cannot sleep.",
        "Der Mann kann nicht schlafen.",
    ),
}


@pytest.mark.parametrize(("meaning", "english", "german"), PHENOMENA.values(), ids=PHENOMENA.keys())
def test_a_meaning_is_realised_in_both_languages(meaning: Sentence, english: str, german: str) -> None:
    assert grammar_english.realise(meaning) == english
    assert grammar_german.realise(meaning) == german


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
