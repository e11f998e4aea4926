"""English: realises a meaning as a sentence, or as its constituency tree."""

from collections.abc import Iterator, Sequence

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
    Tense,
    Thing,
    gap_of,
    person_of,
)
from aiayn.data.grammar.nodes import COMMA, Node, fixed, phrase, preposition, tag_of, words_of
from aiayn.data.grammar.tree import Tree
from aiayn.data.grammar.words import Adverb, Four, Name, Person, Pronoun, sentence_text

_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_ONES, _TENS = _NUMBERS.split()[:20], _NUMBERS.split()[20:]
_HAVE = ("have", "have", "has", "have")
_DO = ("do", "do", "does", "do")
_PLAIN_MODALS = {Modal.CAN: ("can", "could"), Modal.MAY: ("may", "may"), Modal.SHOULD: ("should", "should")}
_FULL_MODALS = {
    Modal.MUST: ("have", "has", "had"),
    Modal.WANT: ("want", "wants", "wanted"),
    Modal.LIKE: ("like", "likes", "liked"),
}
"""Base, third person and past of modals with "to"."""


def realise(sentence: Sentence) -> str:
    """Return the English sentence."""
    words = words_of(_constituents(sentence))
    return sentence_text(words, question=sentence.question).replace("can not ", "cannot ")


def parse(sentence: Sentence) -> Tree:
    """Return the tree of the sentence of `realise`; as in the Penn Treebank, "cannot" and "Anna's" are two words."""
    label, mark = "S", "."
    if sentence.question:
        label, mark = "SBARQ" if isinstance(sentence.main.subject, Asked) or sentence.main.fronted else "SQ", "?"
    return _capitalised(_tree((label, [*_constituents(sentence), (".", mark)])))


def number(value: int) -> str:
    """Spell a number from 0 to 99."""
    if value < len(_ONES):
        return _ONES[value]
    tens, ones = divmod(value, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")


def _constituents(sentence: Sentence) -> list[Node]:
    """Return the constituents of a sentence, without its final mark."""
    main = _clause(sentence.main, question=sentence.question)
    if sentence.link is None:
        return main
    assert sentence.other is not None
    link, other = sentence.link.english, phrase("S", *_clause(sentence.other))
    if sentence.link.kind == "coordinate":
        return [phrase("S", *main), COMMA, ("CC", link), other]
    subordinate = _subordinate(link, other)
    return [subordinate, COMMA, *main] if sentence.reversed else [*main, subordinate]


def _subordinate(link: str, clause: Node) -> Node:
    return phrase("SBAR", phrase("WHADVP", ("WRB", link)) if link == "when" else ("IN", link), clause)


def _clause(clause: Clause, *, question: bool = False) -> list[Node]:
    asked = isinstance(clause.subject, Asked)
    inverted = question and not asked
    before, verbs = _verb_group(clause, support=inverted or clause.negated)
    subject = _nominal(clause.subject, 0)
    medial = [_adverbial(clause.time)] if clause.time is not None and _is_medial(clause.time) else []
    fronted = _fronted(clause, question=question)
    negation: list[Node] = [("RB", "not")] if clause.negated else []
    rest = _verb_phrase(verbs, [*_after_verb(clause), *_complement(clause)])
    if inverted:
        inside = [*before, *subject, *negation, *medial, *rest]
        return [*fronted, phrase("SQ", *inside)] if fronted else inside
    predicate = [*negation, *medial, *rest]
    predicate = [phrase("VP", *before, *predicate)] if before else predicate
    return [*fronted, *subject, phrase("SQ", *predicate)] if asked else [*fronted, *subject, *predicate]


def _verb_phrase(verbs: Sequence[Node], rest: Sequence[Node]) -> list[Node]:
    """Nest phrases: each verb's phrase contains the next one, the innermost `rest`."""
    inside = list(rest)
    for number_, verb in reversed([*enumerate(verbs)]):
        inside = [phrase("VP", verb, *inside)]
        if verb[0] == "TO" and number_:  # an infinitive after a verb is a clause without subject
            inside = [phrase("S", *inside)]
    return inside


def _verb_group(clause: Clause, *, support: bool) -> tuple[list[Node], list[Node]]:
    """Split the verb forms into those before "not" (at most one auxiliary) and the rest; `support`: use "do"."""
    verb, tense, modal = clause.verb.english, clause.tense, clause.modal
    past, infinitive = tense is Tense.PAST, ("VB", verb.base)
    person = person_of(clause.object if isinstance(clause.subject, Expletive) and clause.object else clause.subject)
    present_tag = "VBZ" if person is Person.THIRD else "VBP"

    def finite(present: Four, past_form: str) -> Node:
        return ("VBD", past_form) if past else (present_tag, present[person])

    if modal in _PLAIN_MODALS:
        return [("MD", _PLAIN_MODALS[modal][past])], [infinitive]
    if modal is Modal.MUST and not past and not support:
        return [("MD", "must")], [infinitive]
    if modal is not None:
        base, third, past_form = _FULL_MODALS[modal]
        to: list[Node] = [("TO", "to"), infinitive]
        if support:
            return [finite(_DO, "did")], [("VB", base), *to]
        return [], [finite((base, base, third, base), past_form), *to]
    if tense is Tense.PROGRESSIVE:
        return [(present_tag, ("am", "are", "is", "are")[person])], [("VBG", verb.gerund)]
    if tense in (Tense.PERFECT, Tense.LASTING):
        return [(present_tag, _HAVE[person])], [("VBN", verb.participle)]
    if tense is Tense.FUTURE:
        return [("MD", "will")], [infinitive]
    main = finite(verb.present, verb.past[person])
    if verb.base == "be":
        return [main], []
    return ([finite(_DO, "did")], [infinitive]) if support else ([], [main])


def _fronted(clause: Clause, *, question: bool) -> list[Node]:
    if clause.fronted == "object":
        assert clause.object is not None
        return _nominal(clause.object, 1)
    fronted = {"time": clause.time, "place": clause.place}.get(clause.fronted or "")
    return [] if fronted is None else [_adverbial(fronted), *([] if question else [COMMA])]


def _after_verb(clause: Clause) -> Iterator[Node]:
    """Yield particle, objects, predicate, manner, goal, place, time."""
    yield from _objects(clause)
    if clause.predicate is not None:
        yield _predicate(clause)
    for adverbial in (clause.manner, clause.goal):
        if adverbial is not None:
            yield _adverbial(adverbial)
    gap = isinstance(clause.place, Phrase) and isinstance(clause.place.nominal, Gap)
    if clause.place is not None and clause.fronted != "place" and not gap:
        yield _adverbial(clause.place)
    if clause.time is not None and clause.fronted != "time" and not _is_medial(clause.time):
        yield _adverbial(clause.time)


def _predicate(clause: Clause) -> Node:
    assert clause.predicate is not None
    if clause.compared is None:
        return phrase("ADJP", ("JJ", clause.predicate.english))
    *more, adjective = clause.predicate.english_comparative.split()
    compared: list[Node] = [("RBR", "more"), ("JJ", adjective)] if more else [("JJR", adjective)]
    return phrase("ADJP", *compared, preposition("than", _nominal(clause.compared, 0)))


def _objects(clause: Clause) -> list[Node]:
    verb = clause.verb.english
    direct = [] if clause.object is None or clause.fronted == "object" else _nominal(clause.object, 1, clause.negated)
    if verb.preposition and clause.object is not None:
        direct = [preposition(verb.preposition, direct)]
    particle = [phrase("PRT", ("RP", verb.particle))] if verb.particle else []
    if isinstance(clause.object, Pronoun) and not verb.preposition:
        direct, particle = [*direct, *particle], []
    if clause.recipient is None:
        return [*particle, *direct]
    recipient = _nominal(clause.recipient, 1)
    if "to" in clause.verb.traits:
        return [*direct, preposition("to", recipient)]
    return [*recipient, *direct]


def _complement(clause: Clause) -> list[Node]:
    if clause.complement is None:
        return []
    link, inner = clause.complement.link, clause.complement.clause
    if link.kind != "infinitive":
        return [_subordinate(link.english, phrase("S", *_clause(inner)))]
    *purpose, to = link.english.split()
    verbs: list[Node] = [("TO", to), ("VB", inner.verb.english.base)]
    infinitive = phrase("S", *_verb_phrase(verbs, [*_after_verb(inner)]))
    return [phrase("SBAR", *((tag_of(word), word) for word in purpose), infinitive)] if purpose else [infinitive]


def _is_medial(adverbial: Adverbial) -> bool:
    return isinstance(adverbial, Adverb) and adverbial.medial


def _adverbial(adverbial: Adverbial) -> Node:
    if isinstance(adverbial, Adverb):
        return fixed(adverbial.english)
    if isinstance(adverbial, Clock):
        hour: Node = ("CD", number(adverbial.hour))
        time: tuple[Node, ...] = (("NN", "half"), ("IN", "past"), hour) if adverbial.half else (hour, ("RB", "o'clock"))
        return preposition("at", [phrase("NP", *time)])
    nominal = _nominal(adverbial.nominal, 1)
    if adverbial.preposition.follows:
        return phrase("ADVP", *nominal, ("RB", adverbial.preposition.english))
    return preposition(adverbial.preposition.english, nominal)


def _nominal(nominal: Nominal, role: int, negated: bool = False) -> list[Node]:
    """Realise a participant as subject (role 0) or object (role 1)."""
    if isinstance(nominal, Thing):
        return [_thing(nominal, negated=negated)]
    if isinstance(nominal, Pronoun):
        return [phrase("NP", ("PRP", nominal.english[role]))]
    if isinstance(nominal, Name):
        return [phrase("NP", ("NNP", nominal.english))]
    if isinstance(nominal, Expletive):
        return [phrase("NP", ("EX" if nominal.english == "there" else "PRP", nominal.english))]
    if isinstance(nominal, Asked):
        word = "who" if nominal.person and role == 0 else "whom" if nominal.person else "what"
        return [phrase("WHNP", ("WP", word))]
    return []  # a gap is realised as the relative pronoun


def _thing(thing: Thing, *, negated: bool) -> Node:
    noun = thing.noun
    parts = _determiner(thing, negated=negated)
    if thing.count is not None:
        parts.append(("CD", number(thing.count)))
    parts += [("JJ", adjective.english) for adjective in thing.adjectives]
    parts.append(("NNS", noun.english_plural) if thing.plural else ("NN", noun.english))
    following = str(parts[1][1]) if len(parts) > 1 else ""
    if parts[0][1] == "a" and following[0] in "aeiou" and not following.startswith("use"):
        parts[0] = ("DT", "an")
    head = phrase("NP", *parts)
    return head if thing.relative is None else phrase("NP", head, _relative(thing.relative, animate=noun.animate))


def _determiner(thing: Thing, *, negated: bool) -> list[Node]:
    if thing.owner is not None:
        ((label, owner),) = _nominal(thing.owner, 0)
        return [(label, [*owner, ("POS", "'s")])]
    word = thing.determiner.english_plural if thing.plural else thing.determiner.english
    if negated and not word and thing.count is None:
        word = "any"
    return [(tag_of(word), word)] if word else []


def _relative(clause: Clause, *, animate: bool) -> Node:
    gap = gap_of(clause)
    if gap == "place":
        assert isinstance(clause.place, Phrase)
        which = phrase("WHNP", ("WDT", "which"))
        pronoun = phrase("WHPP", *preposition(clause.place.preposition.english, [which])[1])
    elif animate:
        pronoun = phrase("WHNP", ("WP", "who" if gap == "subject" else "whom"))
    else:
        pronoun = phrase("WHNP", ("WDT", "that"))
    return phrase("SBAR", pronoun, phrase("S", *_clause(clause)))


def _tree(node: Node) -> Tree:
    label, content = node
    return Tree(label, word=content) if isinstance(content, str) else Tree(label, tuple(map(_tree, content)))


def _capitalised(tree: Tree) -> Tree:
    """Return the tree with its first word capitalised."""
    if tree.word is not None:
        return Tree(tree.label, word=tree.word[0].upper() + tree.word[1:])
    return Tree(tree.label, (_capitalised(tree.children[0]), *tree.children[1:]))
