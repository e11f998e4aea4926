"""English: from a meaning to a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiayn.data.grammar_meaning import (
    Adverbial,
    Asked,
    Clause,
    Clock,
    Expletive,
    Gap,
    Modal,
    Nominal,
    Phrase,
    Sentence,
    Tense,
    Thing,
    gap_of,
    person_of,
)
from aiayn.data.grammar_words import Adverb, Name, Person, Pronoun, text

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_ONES, _TENS = _NUMBERS.split()[:20], _NUMBERS.split()[20:]
_HAVE = ("have", "have", "has", "have")
_DO = ("do", "do", "does", "do")
_PLAIN_MODALS = {Modal.CAN: ("can", "could"), Modal.MAY: ("may", "may"), Modal.SHOULD: ("should", "should")}
_FULL_MODALS = {
    Modal.MUST: (("have", "have", "has", "have"), "had", "have", "to"),
    Modal.WANT: (("want", "want", "wants", "want"), "wanted", "want", "to"),
    Modal.LIKE: (("like", "like", "likes", "like"), "liked", "like", "to"),
}


def realise(sentence: Sentence) -> str:
    """Say it in English."""
    words = _clause(sentence.main, question=sentence.question)
    if sentence.link is not None:
        assert sentence.other is not None
        other = _clause(sentence.other)
        if sentence.reversed:
            words = [sentence.link.english, *other, ",", *words]
        else:
            comma = [","] if sentence.link.kind == "coordinate" else []
            words = [*words, *comma, sentence.link.english, *other]
    return text(words, question=sentence.question).replace("can not ", "cannot ")


def number(value: int) -> str:
    """Spell 0 to 99."""
    if value < len(_ONES):
        return _ONES[value]
    tens, ones = divmod(value, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")


def _clause(clause: Clause, *, question: bool = False) -> list[str]:
    inverted = question and not isinstance(clause.subject, Asked)
    before, verb = _verb_group(clause, support=inverted or clause.negated)
    subject = _nominal(clause.subject, 0)
    medial = _adverbial(clause.time) if clause.time is not None and _is_medial(clause.time) else []
    words = _fronted(clause, question=question)
    negation = ["not"] if clause.negated else []
    if inverted:
        words += [*before, *subject, *negation]
    else:
        words += [*subject, *before, *negation]
    return [*words, *medial, *verb, *_after_verb(clause), *_complement(clause)]


def _verb_group(clause: Clause, *, support: bool) -> tuple[list[str], list[str]]:
    """Split the verb into what precedes "not" (at most one auxiliary) and the rest."""
    verb, tense = clause.verb.english, clause.tense
    person = person_of(clause.object if isinstance(clause.subject, Expletive) and clause.object else clause.subject)
    if clause.modal is not None:
        return _modal_group(clause, person, support=support)
    if tense is Tense.PROGRESSIVE:
        return [("am", "are", "is", "are")[person]], [verb.gerund]
    if tense in (Tense.PERFECT, Tense.LASTING):
        return [_HAVE[person]], [verb.participle]
    if tense is Tense.FUTURE:
        return ["will"], [verb.base]
    past = tense is Tense.PAST
    finite = (verb.past if past else verb.present)[person]
    if verb.base == "be":
        return [finite], []
    if support:
        return ["did" if past else _DO[person]], [verb.base]
    return [], [finite]


def _modal_group(clause: Clause, person: Person, *, support: bool) -> tuple[list[str], list[str]]:
    assert clause.modal is not None
    past, base = clause.tense is Tense.PAST, clause.verb.english.base
    if clause.modal in _PLAIN_MODALS:
        return [_PLAIN_MODALS[clause.modal][past]], [base]
    if clause.modal is Modal.MUST and not past and not support:
        return ["must"], [base]
    present, preterite, plain, particle = _FULL_MODALS[clause.modal]
    if support:
        return ["did" if past else _DO[person]], [plain, particle, base]
    return [], [preterite if past else present[person], particle, base]


def _fronted(clause: Clause, *, question: bool) -> list[str]:
    if clause.fronted == "object":
        assert clause.object is not None
        return _nominal(clause.object, 1)
    if clause.fronted == "time":
        assert clause.time is not None
        return [*_adverbial(clause.time), *([] if question else [","])]
    if clause.fronted == "place":
        assert clause.place is not None
        return [*_adverbial(clause.place), *([] if question else [","])]
    return []


def _after_verb(clause: Clause) -> Iterable[str]:
    """Particle, objects, predicate, manner, goal, place, time."""
    yield from _objects(clause)
    if clause.predicate is not None:
        if clause.compared is None:
            yield clause.predicate.english
        else:
            yield from (clause.predicate.english_comparative, "than", *_nominal(clause.compared, 0))
    for adverbial in (clause.manner, clause.goal):
        if adverbial is not None:
            yield from _adverbial(adverbial)
    if clause.place is not None and clause.fronted != "place" and not _lacks_noun(clause.place):
        yield from _adverbial(clause.place)
    if clause.time is not None and clause.fronted != "time" and not _is_medial(clause.time):
        yield from _adverbial(clause.time)


def _objects(clause: Clause) -> Iterable[str]:
    verb = clause.verb.english
    direct = [] if clause.object is None or clause.fronted == "object" else _nominal(clause.object, 1, clause.negated)
    if verb.preposition and clause.object is not None:
        direct = [verb.preposition, *direct]
    particle = [verb.particle] if verb.particle else []
    if isinstance(clause.object, Pronoun) and not verb.preposition:
        direct, particle = [*direct, *particle], []
    if clause.recipient is None:
        return [*particle, *direct]
    recipient = _nominal(clause.recipient, 1)
    if "to" in clause.verb.traits:
        return [*direct, "to", *recipient]
    return [*recipient, *direct]


def _complement(clause: Clause) -> list[str]:
    if clause.complement is None:
        return []
    link, inner = clause.complement.link, clause.complement.clause
    if link.kind == "infinitive":
        return [link.english, inner.verb.english.base, *_after_verb(inner)]
    return [link.english, *_clause(inner)]


def _is_medial(adverbial: Adverbial) -> bool:
    return isinstance(adverbial, Adverb) and adverbial.medial


def _lacks_noun(adverbial: Adverbial) -> bool:
    return isinstance(adverbial, Phrase) and isinstance(adverbial.nominal, Gap)


def _adverbial(adverbial: Adverbial) -> list[str]:
    if isinstance(adverbial, Adverb):
        return [adverbial.english]
    if isinstance(adverbial, Clock):
        return ["at half past", number(adverbial.hour)] if adverbial.half else ["at", number(adverbial.hour), "o'clock"]
    nominal = _nominal(adverbial.nominal, 1)
    if adverbial.preposition.follows:
        return [*nominal, adverbial.preposition.english]
    return [adverbial.preposition.english, *nominal]


def _nominal(nominal: Nominal, role: int, negated: bool = False) -> list[str]:
    """Words of a participant as subject (role 0) or object (role 1)."""
    if isinstance(nominal, Thing):
        return _thing(nominal, negated=negated)
    if isinstance(nominal, Pronoun):
        return [nominal.english[role]]
    if isinstance(nominal, Name | Expletive):
        return [nominal.english]
    if isinstance(nominal, Asked):
        return ["who" if nominal.person and role == 0 else "whom" if nominal.person else "what"]
    return []  # a gap is said as the relative pronoun


def _thing(thing: Thing, *, negated: bool) -> list[str]:
    noun = thing.noun
    words = _determiner(thing, negated=negated)
    if thing.count is not None:
        words.append(number(thing.count))
    words += [adjective.english for adjective in thing.adjectives]
    words.append(noun.english_plural if thing.plural else noun.english)
    if words[0] == "a" and words[1][0] in "aeiou" and not words[1].startswith("use"):
        words[0] = "an"
    if thing.relative is not None:
        words += _relative(thing.relative, animate=noun.animate)
    return words


def _determiner(thing: Thing, *, negated: bool) -> list[str]:
    if thing.owner is not None:
        *words, last = _nominal(thing.owner, 0)
        return [*words, f"{last}'s"]
    word = thing.determiner.english_plural if thing.plural else thing.determiner.english
    if negated and not word and thing.count is None:
        word = "any"
    return [word] if word else []


def _relative(clause: Clause, *, animate: bool) -> list[str]:
    gap = gap_of(clause)
    if gap == "place":
        assert isinstance(clause.place, Phrase)
        return [clause.place.preposition.english, "which", *_clause(clause)]
    if not animate:
        return ["that", *_clause(clause)]
    return ["who" if gap == "subject" else "whom", *_clause(clause)]
