"""German: realises a meaning as a sentence.

The finite verb is second in a main clause, first in a yes-no question and last in a subordinate clause; the front
precedes it in a main clause. The order of the middle field is fixed, so that one meaning has one sentence.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from aiayn.data.grammar.function_words import NO
from aiayn.data.grammar.inflection import (
    RELATIVE,
    adjective_ending,
    article,
    cluster,
    contracted,
    decline,
    infinitive_with_zu,
    number,
)
from aiayn.data.grammar.meaning import (
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
    Slot,
    Thing,
    gap_of,
    person_of,
)
from aiayn.data.grammar.words import Adverb, Case, Determiner, Name, Pronoun, sentence_text


def realise(sentence: Sentence) -> str:
    """Return the German sentence."""
    if sentence.link is None:
        return sentence_text(_main(sentence.main, question=sentence.question), question=sentence.question)
    assert sentence.other is not None
    conjunction = sentence.link.german
    if sentence.link.kind == "coordinate":
        words = [*_main(sentence.main), conjunction, *_main(sentence.other)]
    elif sentence.reversed:
        words = [conjunction, *_verb_last(_crossed(sentence.other)), ",", *_main(sentence.main, front=False)]
    else:
        main = _main(sentence.main, question=sentence.question)
        words = [*main, ",", conjunction, *_verb_last(_crossed(sentence.other))]
    return sentence_text(words, question=sentence.question)


def _main(clause: Clause, *, question: bool = False, front: bool = True) -> list[str]:
    """Realise a verb-second clause; verb first in a yes-no question or after a subordinate clause."""
    clause = _crossed(clause)
    finite, prefix, end = cluster(clause, person_of(clause.subject))
    asks_subject = isinstance(clause.subject, Asked)
    slot: Slot | None = clause.fronted or (None if not front or (question and not asks_subject) else "subject")
    words = [] if slot is None else _slot(clause, slot)
    words += [finite, *_middle(clause, slot)]
    return [*words, *([prefix] if prefix else []), *end, *_after_verb(clause)]


def _verb_last(clause: Clause, front: Slot | None = None) -> list[str]:
    finite, prefix, end = cluster(clause, person_of(clause.subject))
    return [*_middle(clause, front), *end, prefix + finite, *_after_verb(clause)]


def _crossed(clause: Clause) -> Clause:
    """Exchange subject and object where German does: "I like it" is "es gefällt mir"."""
    if "crossed" not in clause.verb.traits:
        return clause
    assert clause.object is not None
    fronted: Slot | None = "subject" if clause.fronted == "object" else clause.fronted
    return replace(clause, subject=clause.object, object=None, recipient=clause.subject, fronted=fronted)


def _slot(clause: Clause, slot: Slot) -> list[str]:
    if slot == "subject":
        return _nominal(clause.subject, Case.NOMINATIVE)
    if slot == "object":
        return _object(clause)
    adverbial = clause.time if slot == "time" else clause.place
    assert adverbial is not None
    return _adverbial(adverbial)


def _middle(clause: Clause, front: Slot | None) -> Iterable[str]:
    """Yield the words between the finite verb or conjunction and the end of the clause."""
    never = isinstance(clause.time, Adverb) and clause.time.negative
    negation = "nie" if never else "nicht" if clause.negated else ""
    fused = clause.negated and not clause.verb.german.preposition and _negates_article(clause.object)
    rank = _rank(clause, negation) if clause.object is not None and front != "object" else None

    yield from _participants(clause, front)
    if rank == "before time":
        yield from _object(clause)
    if clause.time is not None and front != "time" and not never:
        yield from _adverbial(clause.time)
    if rank == "after time":
        yield from _object(clause)
    if negation and not fused:
        yield negation
    yield from _manner_and_place(clause, front)
    if rank == "last":
        yield from _object(clause, fused=fused)
    if clause.goal is not None:
        yield from _adverbial(clause.goal)
    yield from _predicate(clause)


def _rank(clause: Clause, negation: str) -> Literal["before time", "after time", "last"] | None:
    """Return the object's position: definite ones early, indefinite ones late; None for pronouns, which come first."""
    verb, thing = clause.verb.german, clause.object
    if verb.preposition:
        return "last"
    if isinstance(thing, Pronoun):
        return None
    if isinstance(thing, Thing) and not thing.determiner.definite and thing.owner is None:
        return "last"
    frequent = isinstance(clause.time, Adverb) and clause.time.medial
    early = negation or frequent or isinstance(thing, Name) or verb.object_case == Case.DATIVE
    return "before time" if early else "after time"


def _manner_and_place(clause: Clause, front: Slot | None) -> Iterable[str]:
    if clause.modal is Modal.LIKE:
        yield "gern"
    if clause.manner is not None:
        yield from _adverbial(clause.manner)
    if clause.place is not None and front != "place":
        yield from _adverbial(clause.place)


def _participants(clause: Clause, front: Slot | None) -> Iterable[str]:
    """Yield subject, pronouns and recipient; the reflexive follows a pronoun and precedes a noun."""
    subject = [] if front == "subject" else _nominal(clause.subject, Case.NOMINATIVE)
    reflexive = []
    if clause.verb.german.reflexive:
        reflexive = [clause.subject.reflexive if isinstance(clause.subject, Pronoun) else "sich"]
    if isinstance(clause.subject, Pronoun | Expletive):
        yield from (*subject, *reflexive)
    else:
        yield from (*reflexive, *subject)
    if isinstance(clause.object, Pronoun) and not clause.verb.german.preposition and front != "object":
        yield from _object(clause)
    if clause.recipient is not None:
        yield from _nominal(clause.recipient, Case.DATIVE)


def _predicate(clause: Clause) -> list[str]:
    if clause.predicate is None:
        return []
    if clause.compared is None:
        return [clause.predicate.german]
    return [clause.predicate.german_comparative, "als", *_nominal(clause.compared, Case.NOMINATIVE)]


def _object(clause: Clause, *, fused: bool = False) -> list[str]:
    """Return the object without its relative clause, which follows the verb."""
    verb, nominal = clause.verb.german, clause.object
    assert nominal is not None
    if isinstance(nominal, Thing):
        words = _thing(nominal, verb.object_case, determiner=NO if fused else nominal.determiner)
        joins = nominal.determiner.pattern == "definite" and nominal.relative is None
    else:
        words, joins = _nominal(nominal, verb.object_case), False
    if not verb.preposition or not words:
        return words
    return contracted(verb.preposition, words) if joins else [verb.preposition, *words]


def _after_verb(clause: Clause) -> list[str]:
    """Return the clauses after the verb: complement, or relative clause of the object."""
    if isinstance(clause.object, Thing) and clause.object.relative is not None:
        return [",", *_relative(clause.object.relative), ","]
    if clause.complement is None:
        return []
    link, inner = clause.complement.link, clause.complement.clause
    if link.kind == "infinitive":
        opening = [link.german] if link.german else []
        # The implicit subject is the outer one; a reflexive agrees with it.
        middle = _middle(replace(inner, subject=clause.subject), "subject")
        return [",", *opening, *middle, *infinitive_with_zu(inner.verb.german), *_after_verb(inner), ","]
    return [",", link.german, *_verb_last(_crossed(inner)), ","]


def _negates_article(nominal: Nominal | None) -> bool:
    """Whether negating the clause turns the object's article into "kein"."""
    if not isinstance(nominal, Thing) or nominal.count is not None or nominal.owner is not None:
        return False
    return nominal.determiner.german in ("ein", "")


def _adverbial(adverbial: Adverbial) -> list[str]:
    if isinstance(adverbial, Adverb):
        return [adverbial.german]
    if isinstance(adverbial, Clock):
        hour = adverbial.hour
        if adverbial.half:
            return ["um", "halb", number(hour % 12 + 1)]
        return ["um", "ein" if hour == 1 else number(hour), "Uhr"]
    return _phrase(adverbial.preposition.german, adverbial.preposition.case, adverbial.nominal)


def _phrase(preposition: str, case: Case, nominal: Nominal) -> list[str]:
    words = _nominal(nominal, case)
    if isinstance(nominal, Thing) and nominal.determiner.pattern == "definite" and nominal.relative is None:
        return contracted(preposition, words)
    return [preposition, *words] if words else []


def _nominal(nominal: Nominal, case: Case) -> list[str]:
    if isinstance(nominal, Thing):
        words = _thing(nominal, case, determiner=nominal.determiner)
        return words if nominal.relative is None else [*words, ",", *_relative(nominal.relative), ","]
    if isinstance(nominal, Pronoun):
        return [nominal.german[case]]
    if isinstance(nominal, Name):
        return [nominal.german + "s" if case == Case.GENITIVE else nominal.german]
    if isinstance(nominal, Expletive):
        return [nominal.german]
    if isinstance(nominal, Asked):
        return [("wer", "wen", "wem", "wessen")[case] if nominal.person else "was"]
    return []  # a gap is realised as the relative pronoun


def _thing(thing: Thing, case: Case, *, determiner: Determiner) -> list[str]:
    """Return a noun phrase without its relative clause."""
    noun, plural = thing.noun, thing.plural
    column = "p" if plural else noun.gender
    if isinstance(thing.owner, Name):
        word, shown = _nominal(thing.owner, Case.GENITIVE)[0], False
    else:
        word, shown = article(determiner, column, case)
    words = [word] if word else []
    if thing.count is not None:
        words.append(number(thing.count))
    if thing.adjectives:
        ending = adjective_ending(column, case, shown=shown)
        words += [adjective.german_stem + ending for adjective in thing.adjectives]
    words.append(decline(noun, case, plural=plural))
    if isinstance(thing.owner, Thing):
        words += _nominal(thing.owner, Case.GENITIVE)
    return words


def _relative(clause: Clause) -> list[str]:
    clause = _crossed(clause)
    verb = clause.verb.german
    if isinstance(clause.recipient, Gap):
        slot: Slot | None = None
        gap, preposition, case = clause.recipient, "", Case.DATIVE
    elif (slot := gap_of(clause)) == "place":
        assert isinstance(clause.place, Phrase)
        assert isinstance(clause.place.nominal, Gap)
        gap, preposition, case = clause.place.nominal, clause.place.preposition.german, clause.place.preposition.case
    else:
        nominal = clause.subject if slot == "subject" else clause.object
        assert isinstance(nominal, Gap)
        gap, preposition = nominal, verb.preposition if slot == "object" else ""
        case = verb.object_case if slot == "object" else Case.NOMINATIVE
    pronoun = RELATIVE["p" if gap.plural else gap.noun.gender][case]
    return [*([preposition] if preposition else []), pronoun, *_verb_last(clause, slot)]
