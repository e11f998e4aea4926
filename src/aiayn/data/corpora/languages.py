"""A cheap test of a sentence's language, by function words: good enough to find sides that were not translated."""

import re
from collections.abc import Mapping

from aiayn.errors import UserError

_WORD = re.compile(r"[^\W\d_]+")
_FEWEST = 3
"""Function words of another language that a sentence must hold; names and titles hold fewer."""

_WORDS = {
    "en": """
        the of and to is that for it with be this are by not or from have has they you we which their been would there
        were he she but can what when who its if than your these should into how about
    """,
    "de": """
        der die das und ist nicht sie mit sich auf dem ein eine einen einem einer zu im von auch als wir ich aber oder
        wie werden wird haben für über nach bei durch zum zur kann dass daß sind noch nur aus wenn diese dieser
    """,
    "fr": """
        le la les et est un une que qui dans pour pas sur avec il elle nous vous ce cette au aux du de par sont mais ou
        leur être à ont été ne se je ils sa son cela comme tout fait même aussi
    """,
}

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {name: frozenset(words.split()) for name, words in _WORDS.items()}
"""Frequent words of each language that is known, none of which is among the others' words."""


def is_in_another_language(sentence: str, language: str) -> bool:
    """Whether a sentence reads like another known language than the one it should be in.

    It does with three or more function words of another one, and more than twice as many as of its own. Most short
    sentences hold fewer, and pass; what is in a language that is not known passes too.

    Args:
        sentence: the text of one side.
        language: what it should be in, one of `FUNCTION_WORDS`.
    """
    words = _WORD.findall(sentence.casefold())
    own = sum(map(FUNCTION_WORDS[language].__contains__, words))
    return any(
        sum(map(others.__contains__, words)) >= max(_FEWEST, 2 * own + 1)
        for name, others in FUNCTION_WORDS.items()
        if name != language
    )


def refuse_unknown_languages(*languages: str) -> None:
    """Refuse to test languages whose function words are not known.

    Raises:
        UserError: naming them.
    """
    if unknown := sorted({*languages} - FUNCTION_WORDS.keys()):
        raise UserError(
            f"data.filters.language=true: the test knows {', '.join(FUNCTION_WORDS)}, not {' and '.join(unknown)}; "
            "state data.filters.language=false"
        )
