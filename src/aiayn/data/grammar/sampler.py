"""Draws whole sentences: statements, questions and combined clauses."""

from dataclasses import replace

from aiayn.data.grammar import function_words as words
from aiayn.data.grammar.clauses import INANIMATE, ClauseSampler, compatible_tense, pronoun_of
from aiayn.data.grammar.lexicon import REPORTING, VERBS
from aiayn.data.grammar.meaning import Asked, Clause, Complement, Link, Sentence, Tense, Thing
from aiayn.data.grammar.phrases import Dice, Topic
from aiayn.data.grammar.words import Adverb, Verb

_PRESENT, _PAST, _PERFECT, _FUTURE = Tense.PRESENT, Tense.PAST, Tense.PERFECT, Tense.FUTURE
_COMMON = (_PRESENT, _PAST, _PERFECT, _FUTURE)
_TENSES = (*(_PRESENT,) * 7, *(_PAST,) * 7, *(_PERFECT,) * 3, *(_FUTURE,) * 3, *(Tense.PROGRESSIVE,) * 2, Tense.LASTING)
_PAIRS: dict[Link, tuple[tuple[Tense, Tense], ...]] = {
    words.BECAUSE: (
        (_PRESENT, _PRESENT),
        (_PRESENT, _PERFECT),
        *((_PAST, _PAST),) * 2,
        (_FUTURE, _PRESENT),
        (_PERFECT, _PRESENT),
    ),
    words.ALTHOUGH: ((_PRESENT, _PRESENT), (_PAST, _PAST), (_PERFECT, _PRESENT), (_FUTURE, _PRESENT)),
    words.IF: ((_PRESENT, _PRESENT), (_FUTURE, _PRESENT)),
    words.WHEN_ONCE: ((_PAST, _PAST),),
    words.WHILE: ((_PAST, _PAST), (_PRESENT, _PRESENT)),
    words.BEFORE_DOING: ((_PAST, _PAST), (_PRESENT, _PRESENT)),
}
"""Compatible tenses of the main and the subordinate clause, by conjunction."""
_LINKS = (words.BECAUSE, words.BECAUSE, *_PAIRS)
_MOTIONS = tuple(verb for verb in VERBS if verb.traits & {"goal", "journey"})
_PURPOSES = tuple(verb for verb in VERBS if verb.objects and "easy" in verb.traits)
_ATTEMPTS = tuple(verb for verb in REPORTING if "infinitive" in verb.traits)
_REPORTS = tuple(verb for verb in REPORTING if "infinitive" not in verb.traits)
_ASKED_FOR = tuple(
    verb
    for verb in VERBS
    if verb.objects and not any(noun.animate for noun in verb.objects) and not verb.german.preposition
)
_REPORTED_TENSES = (_PRESENT, _PERFECT, _FUTURE, _PAST)


class SentenceSampler:
    """Draws sentences from a seed."""

    def __init__(self, seed: str) -> None:
        self._dice = Dice(seed)
        self._clauses = ClauseSampler(self._dice)
        shares = (
            (23, self._statement),
            (37, self._subordinate),
            (9, self._coordinate),
            (11, self._report),
            (8, self._purpose),
            (5, self._attempt),
            (7, self._question),
        )
        self._patterns = tuple(pattern for share, pattern in shares for _ in range(share))

    def sentence(self) -> Sentence:
        """Draw the next sentence."""
        return self._dice.pick(self._patterns)()

    def _statement(self) -> Sentence:
        tense = self._dice.pick(_TENSES)
        return Sentence(self._any_clause(tense, main=True)[0])

    def _any_clause(self, tense: Tense, *, main: bool = False, timed: bool = True) -> tuple[Clause, Topic | None]:
        """Draw a clause of any kind, and the topic that a pronoun in the next clause can refer to."""
        clauses, roll = self._clauses, self._dice.count(1, 100)
        if roll <= 76:
            topic = clauses.topic(tense)
            return clauses.action(tense, topic, main=main, timed=timed), topic
        if roll <= 83:
            topic = clauses.topic(tense)
            return clauses.state(tense, topic, timed=timed), topic
        if roll <= 88:
            topic = clauses.inanimate()
            return clauses.state(tense, topic, timed=timed), topic
        if roll <= 91:
            return clauses.weather(tense, timed=timed), None
        tense = tense if tense in (_PAST, _FUTURE) else _PRESENT
        if roll <= 94:
            return clauses.event(tense), None
        if roll <= 97 or tense is _PAST:
            return clauses.existence(tense, main=main), None
        return clauses.price(tense), None

    def _subordinate(self) -> Sentence:
        link = self._dice.pick(_LINKS)
        if link in (words.WHILE, words.BEFORE_DOING):
            return self._concurrent(link)
        main_tense, other_tense = self._dice.pick(_PAIRS[link])
        if self._dice.chance(0.4):
            # The subordinate clause comes first and introduces the topic.
            other, topic = self._any_clause(other_tense)
            main = self._following(main_tense, topic)
            return Sentence(replace(main, fronted=None), link, other, reversed=True)
        main, topic = self._any_clause(main_tense, main=True)
        thing = main.object
        if isinstance(thing, Thing) and thing.determiner.definite and thing.noun in INANIMATE:
            topic = Topic(thing, thing.noun) if self._dice.chance(0.4) else topic
        return Sentence(main, link, self._following(other_tense, topic))

    def _concurrent(self, link: Link) -> Sentence:
        """Draw two simultaneous activities, of one person or two; only the main clause has a time."""
        tense, other_tense = self._dice.pick(_PAIRS[link])
        first, second = self._clauses.topic(tense), self._clauses.topic(tense)
        pronoun = pronoun_of(first)
        if pronoun is not None and self._dice.chance(0.6):
            second = Topic(pronoun, first.noun)
        comes_first = self._dice.chance(0.4)
        main = self._doing(tense, second if comes_first else first, timed=True)
        other = self._doing(other_tense, first if comes_first else second, timed=False)
        return Sentence(main, link, replace(other, negated=False), reversed=comes_first)

    def _doing(self, tense: Tense, topic: Topic, *, timed: bool) -> Clause:
        verb = self._clauses.verb(topic.noun, tense, easy=True)
        return self._clauses.action(tense, topic, verb=verb, timed=timed)

    def _following(self, tense: Tense, topic: Topic | None, *, timed: bool = False) -> Clause:
        """Draw a clause about the topic of the previous one, or about another."""
        pronoun = pronoun_of(topic) if topic is not None and self._dice.chance(0.6) else None
        if topic is None or pronoun is None or (pronoun is words.YOU and tense is _PAST):
            return self._any_clause(tense, timed=timed)[0]
        referring = Topic(pronoun, topic.noun)
        if topic.noun in INANIMATE or self._dice.chance(0.25):
            return self._clauses.state(tense, referring, timed=timed)
        return self._clauses.action(tense, referring, timed=timed)

    def _coordinate(self) -> Sentence:
        tense = self._dice.pick((_PRESENT, _PAST, _FUTURE, _PERFECT))
        main, topic = self._any_clause(tense, main=True)
        return Sentence(main, self._dice.pick((words.AND, words.BUT)), self._following(tense, topic))

    def _report(self) -> Sentence:
        verb = self._dice.pick(_REPORTS)
        tense = _PRESENT if "present" in verb.traits else self._dice.pick((_PRESENT, _PAST))
        topic = self._person(tense)
        inner_tense = _PAST if tense is _PAST else self._dice.pick(_REPORTED_TENSES)
        link = words.WHETHER if "whether" in verb.traits else words.THAT
        timed = self._dice.chance(0.5)
        complement = Complement(link, self._following(inner_tense, topic, timed=not timed))
        return Sentence(self._opening(verb, tense, topic, complement, timed=timed))

    def _person(self, tense: Tense) -> Topic:
        while True:
            topic = self._clauses.topic(tense)
            if topic.noun.animate:
                return topic

    def _attempt(self) -> Sentence:
        tense = self._dice.pick(_COMMON)
        topic = self._person(tense)
        complement = Complement(words.TO_DO, self._infinitive(self._dice.pick(_PURPOSES), topic))
        opening = self._opening(self._dice.pick(_ATTEMPTS), tense, topic, complement, timed=self._dice.chance(0.6))
        return Sentence(opening)

    def _opening(self, verb: Verb, tense: Tense, topic: Topic, complement: Complement, *, timed: bool) -> Clause:
        """Draw a clause around its complement; its time must not follow the complement."""
        tense = compatible_tense(tense, verb)
        clause = Clause(verb, topic.nominal, tense, complement=complement)
        if not timed:
            return clause
        time = self._clauses.phrases.time(tense)
        medial = isinstance(time, Adverb) and time.medial
        return replace(clause, time=time, fronted=None if medial else "time")

    def _purpose(self) -> Sentence:
        tense = self._dice.pick(_COMMON)
        topic = self._person(tense)
        main = replace(self._clauses.action(tense, topic, verb=self._dice.pick(_MOTIONS), main=True), negated=False)
        inner = self._infinitive(self._dice.pick(_PURPOSES), topic)
        return Sentence(replace(main, complement=Complement(words.IN_ORDER_TO, inner)))

    def _infinitive(self, verb: Verb, topic: Topic) -> Clause:
        clause = self._clauses.complete(Clause(verb, topic.nominal), topic, main=True)
        if isinstance(clause.object, Thing) and clause.object.relative is None and self._dice.chance(0.3):
            return replace(clause, place=self._clauses.phrases.place())
        return clause

    def _question(self) -> Sentence:
        tense = self._dice.pick(_COMMON)
        roll = self._dice.count(1, 5)
        if roll == 1:
            topic = Topic(Asked(person=True), self._clauses.phrases.topic(tense).noun)
            return Sentence(self._clauses.action(tense, topic), question=True)
        topic = self._person(tense)
        if roll == 2:
            return Sentence(self._clauses.action(tense, topic), question=True)
        if roll == 3:
            verb = self._dice.pick(_ASKED_FOR)
            clause = Clause(
                verb, topic.nominal, compatible_tense(tense, verb), object=Asked(person=False), fronted="object"
            )
            return Sentence(clause, question=True)
        clause = self._clauses.action(tense, topic)
        if roll == 4 and clause.place is not None:
            return Sentence(replace(clause, place=words.WHERE, fronted="place", negated=False), question=True)
        adverb = self._dice.pick((words.WHEN, words.WHY, words.WHY))
        return Sentence(replace(clause, time=adverb, fronted="time"), question=True)
