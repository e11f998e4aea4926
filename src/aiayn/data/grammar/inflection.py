"""German word forms: articles, endings, nouns in their cases, numbers, verb clusters."""

from typing import NamedTuple, TypeAlias

from aiayn.data.grammar.meaning import Clause, Modal, Tense
from aiayn.data.grammar.words import Case, Determiner, Four, GermanVerb, Noun, Person

Column: TypeAlias = str
"""Column of the declension tables: the gender m, f or n, or "p" for plural."""

_STRONG: dict[Column, Four] = {
    "m": ("er", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "es"),
    "p": ("e", "e", "en", "er"),
}
_DEFINITE: dict[Column, Four] = {
    "m": ("der", "den", "dem", "des"),
    "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"),
    "p": ("die", "die", "den", "der"),
}
RELATIVE: dict[Column, Four] = {
    "m": ("der", "den", "dem", "dessen"),
    "f": ("die", "die", "der", "deren"),
    "n": ("das", "das", "dem", "dessen"),
    "p": ("die", "die", "denen", "deren"),
}
_CONTRACTED = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}
_NUMBERS = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
)
_ONES, _TENS = _NUMBERS.split()[:20], _NUMBERS.split()[20:]

_HABEN: Four = ("habe", "hast", "hat", "haben")
_SEIN: Four = ("bin", "bist", "ist", "sind")
_WERDEN: Four = ("werde", "wirst", "wird", "werden")
_MODALS: dict[Modal, tuple[Four, Four]] = {
    Modal.CAN: (("kann", "kannst", "kann", "können"), ("konnte", "konntest", "konnte", "konnten")),
    Modal.MUST: (("muss", "musst", "muss", "müssen"), ("musste", "musstest", "musste", "mussten")),
    Modal.MAY: (("darf", "darfst", "darf", "dürfen"), ("durfte", "durftest", "durfte", "durften")),
    Modal.WANT: (("will", "willst", "will", "wollen"), ("wollte", "wolltest", "wollte", "wollten")),
    Modal.SHOULD: (("sollte", "solltest", "sollte", "sollten"),) * 2,
}
"""Present and past."""


def article(determiner: Determiner, column: Column, case: Case) -> tuple[str, bool]:
    """Decline a determiner; also return whether it marks gender and case, which makes adjective endings weak."""
    pattern = determiner.pattern
    if pattern == "definite":
        return _DEFINITE[column][case], True
    if pattern == "bare" or (column == "p" and determiner.german == "ein"):
        return "", False
    if pattern == "ein" and (column, case) in {("m", 0), ("n", 0), ("n", 1)}:
        return determiner.german, False
    return determiner.german + _STRONG[column][case], pattern != "quantity"


def adjective_ending(column: Column, case: Case, *, shown: bool) -> str:
    """Return the weak ending if the determiner marks gender and case, else the strong one."""
    if shown:
        return "e" if (case == 0 and column != "p") or (case == 1 and column in "fn") else "en"
    return "en" if case == Case.GENITIVE and column in "mn" else _STRONG[column][case]


def decline(noun: Noun, case: Case, *, plural: bool) -> str:
    """Return the form of a noun."""
    if plural:
        bare = case != Case.DATIVE or noun.german_plural.endswith(("n", "s"))
        return noun.german_plural if bare or noun.kind == "money" else noun.german_plural + "n"
    if case == Case.NOMINATIVE:
        return noun.german
    # Weak masculines ("den Studenten") have one form for all cases but the nominative.
    weak = noun.gender == "m" and noun.german_genitive.endswith("n")
    return noun.german_genitive if case == Case.GENITIVE or weak else noun.german


def contracted(preposition: str, words: list[str]) -> list[str]:
    """Contract a preposition and the following definite article: "im", "zur"."""
    joined = _CONTRACTED.get((preposition, words[0]))
    return [preposition, *words] if joined is None else [joined, *words[1:]]


def number(value: int) -> str:
    """Spell a number from 0 to 99."""
    if value < len(_ONES):
        return _ONES[value]
    tens, ones = divmod(value, 10)
    unit = "ein" if ones == 1 else _ONES[ones]
    return f"{unit}und{_TENS[tens - 2]}" if ones else _TENS[tens - 2]


class Cluster(NamedTuple):
    """The verb forms of a clause: finite form, separable prefix, and the forms at the end."""

    finite: str
    prefix: str
    end: list[str]


def cluster(clause: Clause, person: Person) -> Cluster:
    """Conjugate the verb of a clause."""
    verb, tense = clause.verb.german, clause.tense
    infinitive = verb.prefix + verb.infinitive
    if clause.modal is not None and clause.modal is not Modal.LIKE:
        return Cluster(_MODALS[clause.modal][tense is Tense.PAST][person], "", [infinitive])
    if tense is Tense.PERFECT:
        return Cluster((_SEIN if verb.with_sein else _HABEN)[person], "", [verb.prefix + verb.participle])
    if tense is Tense.FUTURE:
        return Cluster(_WERDEN[person], "", [infinitive])
    return Cluster((verb.past if tense is Tense.PAST else verb.present)[person], verb.prefix, [])


def infinitive_with_zu(verb: GermanVerb) -> list[str]:
    """Return "zu lesen", or "aufzustehen" for a separable verb."""
    return [f"{verb.prefix}zu{verb.infinitive}"] if verb.prefix else ["zu", verb.infinitive]
