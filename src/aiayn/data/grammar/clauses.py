"""Draws single clauses, with relative clauses inside."""

from dataclasses import replace

from aiayn.data.grammar import function_words as words
from aiayn.data.grammar.lexicon import ADJECTIVES, COST, KINDS, NOUNS, VERBS, WEATHER_VERBS, nouns
from aiayn.data.grammar.meaning import Adverbial, Clause, Gap, Modal, Nominal, Phrase, Slot, Tense, Thing, person_of
from aiayn.data.grammar.phrases import Dice, PhraseSampler, Topic, possessive_of
from aiayn.data.grammar.words import Adverb, Determiner, Noun, Person, Pronoun, Verb

INANIMATE = nouns("text thing device clothing furniture vehicle room abstract event")
_PRICED = nouns("thing device clothing furniture vehicle")
_COUNTABLE = nouns("person thing furniture animal")
_BEINGS = frozenset(nouns("person animal"))
_BY_SUBJECT = {noun: tuple(verb for verb in VERBS if noun in verb.subjects) for noun in NOUNS}
_LASTING = {noun: tuple(verb for verb in verbs if "lasting" in verb.traits) for noun, verbs in _BY_SUBJECT.items()}
_EASY = {noun: tuple(verb for verb in verbs if "easy" in verb.traits) for noun, verbs in _BY_SUBJECT.items()}
_BY_OBJECT = {noun: tuple(verb for verb in VERBS if noun in verb.objects) for noun in NOUNS}
_IN_PLACE = tuple(verb for verb in VERBS if "lasting" in verb.traits and verb.subjects[0].animate and not verb.objects)
_PAST_MODALS = (Modal.CAN, Modal.MUST, Modal.WANT, Modal.LIKE)
_UNCHANGING = {Tense.PAST: (Tense.PAST,), Tense.FUTURE: (Tense.PRESENT, Tense.PERFECT)}
_QUANTITIES: frozenset[Determiner] = frozenset({words.EVERY, words.MANY, words.SOME, words.NO})
_DESCRIBED: frozenset[Determiner] = frozenset({words.THE, words.A, words.BARE, words.THIS})


class ClauseSampler:
    """Draws clauses about a topic."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self.phrases = PhraseSampler(dice)

    def topic(self, tense: Tense) -> Topic:
        """Draw a subject, perhaps with a relative clause."""
        topic = self.phrases.topic(tense)
        if isinstance(topic.nominal, Thing) and self._dice.chance(0.16):
            return Topic(self._with_relative(topic.nominal, tense), topic.noun)
        return topic

    def action(
        self, tense: Tense, topic: Topic, *, verb: Verb | None = None, main: bool = False, timed: bool = True
    ) -> Clause:
        """Draw an action of the topic; a main clause may have a fronted adverbial and relative clauses."""
        verb = verb or self.verb(topic.noun, tense)
        tense = compatible_tense(tense, verb)
        clause = Clause(
            verb,
            topic.nominal,
            tense,
            modal=self._modal(verb, tense, topic),
            negated=self._negated(topic.nominal, tense),
        )
        clause = self.complete(clause, topic, main=main)
        return self._with_adverbials(clause, topic, main=main, timed=timed)

    def state(self, tense: Tense, topic: Topic, *, timed: bool = True) -> Clause:
        """Draw an adjective or a comparison with "be"."""
        used = topic.nominal.adjectives if isinstance(topic.nominal, Thing) else ()
        adjectives = [each for each in ADJECTIVES[topic.noun] if each not in used]
        if topic.noun in _BEINGS and self._dice.chance(0.7):
            adjectives = [each for each in adjectives if each.temporary]
        adjective = self._dice.pick(adjectives)
        tense = compatible_tense(tense, words.BE) if adjective.temporary or tense is Tense.PAST else Tense.PRESENT
        negated = self._negated(topic.nominal, tense)
        compared: Nominal | None = None
        time: Adverbial | None = None
        kin = [noun for noun in KINDS[topic.noun.kind] if adjective in ADJECTIVES[noun] and noun is not topic.noun]
        if kin and self._dice.chance(0.25):
            noun = self._dice.pick(kin)
            compared = self.phrases.owned(noun, self._dice.pick((words.THE, possessive_of(topic))))
        elif timed and adjective.temporary and self._dice.chance(0.5):
            time = self.phrases.time(tense, plain=negated)
        return Clause(
            words.BE, topic.nominal, tense, predicate=adjective, compared=compared, time=time, negated=negated
        )

    def inanimate(self) -> Topic:
        """Draw an inanimate subject."""
        noun = self._dice.pick(INANIMATE)
        determiner = self._dice.pick((words.THE, words.THE, words.THE, words.MY, words.THIS, words.OUR, words.YOUR))
        return Topic(self.phrases.thing(noun, determiner, plural=self._dice.chance(0.25)), noun)

    def weather(self, tense: Tense, *, timed: bool = True) -> Clause:
        """Draw rain or snow."""
        # The English present is always progressive: "it is raining".
        tense = Tense.PROGRESSIVE if tense in (Tense.PRESENT, Tense.LASTING) else tense
        time = self.phrases.time(tense) if timed and self._dice.chance(0.6) else None
        return Clause(self._dice.pick(WEATHER_VERBS), words.WEATHER, tense, time=time)

    def existence(self, tense: Tense, *, main: bool) -> Clause:
        """Draw a clause with "there is"; a main clause may have its place fronted."""
        noun = self._dice.pick(_COUNTABLE)
        roll = self._dice.count(1, 10)
        if roll <= 4:
            thing = self.phrases.counted(noun)
        elif roll <= 7:
            thing = self.phrases.thing(noun, self._dice.pick((words.MANY, words.SOME)), plural=True)
        else:
            thing = self.phrases.thing(noun, self._dice.pick((words.A, words.NO)))
        place = self.phrases.place()
        fronted = self._front("place", 0.4 if main else 0.0)
        return Clause(words.EXIST, words.THERE, tense, object=thing, place=place, fronted=fronted)

    def price(self, tense: Tense) -> Clause:
        """Draw the price of something."""
        noun = self._dice.pick(_PRICED)
        subject = self.phrases.thing(noun, self._dice.pick((words.THE, words.THIS, words.OUR, words.YOUR)))
        if self._dice.chance(0.3):
            subject = self._with_relative(subject, tense)
        amount = Thing(KINDS["money"][0], words.BARE, plural=True, count=self._dice.count(2, 99))
        return Clause(COST, subject, tense, object=amount)

    def event(self, tense: Tense) -> Clause:
        """Draw the begin or end of an event."""
        noun = self._dice.pick(KINDS["event"])
        tense = Tense.FUTURE if tense in (Tense.PROGRESSIVE, Tense.LASTING, Tense.PERFECT) else tense
        clause = Clause(self.verb(noun, tense), self.phrases.thing(noun, words.THE), tense)
        return replace(clause, time=self._dice.pick(words.CLOCK if self._dice.chance(0.6) else words.ANY_TIME))

    def complete(self, clause: Clause, topic: Topic, *, main: bool) -> Clause:
        """Add the objects and adverbials that the verb needs."""
        verb, phrases = clause.verb, self.phrases
        if verb.objects:
            thing = phrases.participant(
                self._dice.pick(verb.objects), topic, plain=clause.negated, known="crossed" in verb.traits
            )
            if main and isinstance(thing, Thing) and "recipient" not in verb.traits and self._dice.chance(0.18):
                thing = self._with_relative(thing, clause.tense)
            recipient: Nominal | None = None
            if "recipient" in verb.traits:
                recipient = phrases.participant(self._dice.pick(KINDS["person"]), topic, plain=True, known=True)
            return replace(clause, object=thing, recipient=recipient)
        if verb.traits & {"goal", "onto", "journey", "source"}:
            travels = "journey" in verb.traits and self._dice.chance(0.4)
            manner = self._dice.pick(words.TRAVEL) if travels else None
            return replace(clause, goal=phrases.destination(verb), manner=manner)
        if verb.traits & {"place", "surface"}:
            return replace(clause, place=phrases.surface() if "surface" in verb.traits else phrases.place())
        return clause

    def verb(self, noun: Noun, tense: Tense, *, easy: bool = False) -> Verb:
        """Draw a verb; the past excludes verbs whose past equals the present ("read")."""
        lasting = tense is Tense.LASTING and bool(_LASTING[noun])
        while True:
            verb = self._dice.pick(_LASTING[noun] if lasting else (_EASY if easy else _BY_SUBJECT)[noun])
            if tense is not Tense.PAST or verb.english.past[0] != verb.english.base:
                return verb

    def _modal(self, verb: Verb, tense: Tense, topic: Topic) -> Modal | None:
        unfit = {"stative", "crossed"} & verb.traits or not topic.noun.animate
        if unfit or tense not in (Tense.PRESENT, Tense.PAST) or not self._dice.chance(0.2):
            return None
        modal = self._dice.pick(tuple(Modal) if tense is Tense.PRESENT else _PAST_MODALS)
        return modal if modal is not Modal.LIKE or "easy" in verb.traits else Modal.WANT

    def _negated(self, subject: Nominal, tense: Tense) -> bool:
        quantified = isinstance(subject, Thing) and (subject.count is not None or subject.determiner in _QUANTITIES)
        return tense is not Tense.LASTING and not quantified and self._dice.chance(0.12)

    def _with_adverbials(self, clause: Clause, topic: Topic, *, main: bool, timed: bool) -> Clause:
        """Add time, manner and place."""
        dice, phrases = self._dice, self.phrases
        # An adverbial after a relative clause would belong to it, so it must be fronted or medial.
        closed = isinstance(clause.object, Thing) and clause.object.relative is not None
        manner, place, time = clause.manner, clause.place, None
        fronted: Slot | None = None
        plain = clause.negated or (isinstance(clause.object, Thing) and clause.object.determiner is words.NO)
        if clause.tense is Tense.LASTING or (timed and _takes_time(clause) and dice.chance(0.6)):
            time = phrases.time(clause.tense, plain=plain or clause.modal is not None)
            medial = isinstance(time, Adverb) and time.medial
            fronted = None if medial else self._front("time", 0.35 if main else 0.0)
            if closed and not medial:
                fronted, time = ("time", time) if main else (None, None)
        if "easy" in clause.verb.traits and not closed and clause.tense is not Tense.LASTING:
            if clause.modal is not Modal.LIKE and manner is None and not plain and dice.chance(0.3):
                manner = self._manner(clause, topic)
            if place is None and clause.goal is None and dice.chance(0.35):
                place = phrases.place()
                fronted = fronted or self._front("place", 0.15 if main else 0.0)
        return replace(clause, manner=manner, place=place, time=time, fronted=fronted)

    def _manner(self, clause: Clause, topic: Topic) -> Adverbial:
        if not topic.noun.animate:
            return self._dice.pick(words.ANIMAL_MANNERS)
        if self._dice.chance(0.5):
            several = person_of(clause.subject) == Person.PLURAL
            return self._dice.pick(words.MANNERS_OF_MANY if several else words.MANNERS)
        noun = self._dice.pick(KINDS["person"])
        given = isinstance(clause.object, Thing) and not clause.object.determiner.definite
        preposition = self._dice.pick((words.WITH, words.WITH, words.WITHOUT, words.FOR if given else words.WITH))
        owner = self._dice.pick((words.THE, words.A, words.MY, possessive_of(topic)))
        return Phrase(preposition, self.phrases.owned(noun, owner))

    def _front(self, slot: Slot, probability: float) -> Slot | None:
        return slot if probability and self._dice.chance(probability) else None

    def _with_relative(self, thing: Thing, tense: Tense) -> Thing:
        """Add a relative clause, unless an owner or a quantity makes its head ambiguous."""
        if thing.owner is not None or thing.determiner not in _DESCRIBED:
            return thing
        noun = thing.noun
        tense = self._dice.pick(_UNCHANGING.get(tense, (Tense.PRESENT, Tense.PRESENT, Tense.PERFECT, Tense.PAST)))
        gap = Gap(noun, thing.plural)
        clause: Clause | None = None
        if noun.kind in words.LOCATION and self._dice.chance(0.6):
            topic = self.phrases.topic(tense)
            verb = self._dice.pick(_IN_PLACE)
            clause = Clause(verb, topic.nominal, tense, place=Phrase(words.LOCATION[noun.kind][0], gap))
        elif _BY_SUBJECT[noun] and self._dice.chance(0.65 if noun.animate else 0.3):
            clause = self.action(tense, Topic(gap, noun), timed=self._dice.chance(0.3))
        elif _BY_OBJECT[noun]:
            clause = self._object_relative(gap, tense)
        return thing if clause is None else replace(thing, relative=clause)

    def _object_relative(self, gap: Gap, tense: Tense) -> Clause | None:
        """Draw a relative clause whose object is the noun."""
        verb = self._dice.pick(_BY_OBJECT[gap.noun])
        if tense is Tense.PAST and verb.english.past[0] == verb.english.base:
            return None
        topic = self.phrases.topic(tense)
        if topic.noun not in verb.subjects:
            return None
        clause = self.complete(Clause(verb, topic.nominal, compatible_tense(tense, verb)), topic, main=False)
        timed = _takes_time(clause) and self._dice.chance(0.2)
        return replace(clause, object=gap, time=self.phrases.time(clause.tense) if timed else None)


def _takes_time(clause: Clause) -> bool:
    """Whether a time such as "at nine" fits: not for states in the present."""
    return clause.tense is not Tense.PRESENT or "stative" not in clause.verb.traits


def compatible_tense(tense: Tense, verb: Verb) -> Tense:
    """Replace a tense that the verb does not have."""
    if tense is Tense.PROGRESSIVE and "stative" in verb.traits:
        return Tense.PRESENT
    if tense is Tense.LASTING and "lasting" not in verb.traits:
        return Tense.PERFECT
    return tense


def pronoun_of(topic: Topic) -> Pronoun | None:
    """Return the pronoun for a topic; None if German gender differs from the natural one, as of "das Mädchen"."""
    nominal, noun = topic.nominal, topic.noun
    if isinstance(nominal, Pronoun):
        return nominal
    if isinstance(nominal, Thing) and nominal.plural:
        return words.THEY
    if isinstance(nominal, Thing) and nominal.determiner in _QUANTITIES:
        return None
    if noun.animate:
        return {"m": words.HE, "f": words.SHE, "n": None}[noun.gender]
    return words.IT[noun.gender]
