"""How scores split text into words: as the target language has them, by sacreBLEU's tokenizers."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

DEFAULT: Final = "13a"
"""The tokenizer of WMT, for languages that separate words by spaces."""

AS_GIVEN: Final = "none"
"""The tokenizer of text that spaces already split into words."""

_OF_LANGUAGES: Mapping[str, str] = {
    "zh zho chi cmn yue wuu nan hak lzh": "zh",
    "ja jpn": "ja-mecab",
    "ko kor": "ko-mecab",
    "th tha lo lao km khm my mya bur bo bod tib dz dzo": "char",
}
OF_LANGUAGE: Mapping[str, str] = {
    language: tokenizer for languages, tokenizer in _OF_LANGUAGES.items() for language in languages.split()
}
"""sacreBLEU's own tokenizers by codes of ISO 639; single characters of further languages without spaces."""

EXTRAS: Mapping[str, str] = {"ja-mecab": "ja", "ko-mecab": "ko"}
"""The extras, of sacreBLEU and of this project, that these tokenizers need."""

_WITHOUT_SPACES: Final = ("zh", "ja-mecab", "char")


def bleu_tokenizer(language: str, *, pretokenized: bool = False, stated: str | None = None) -> str:
    """Return sacreBLEU's name of BLEU's tokenizer.

    Args:
        language: of the target, as in zh, zh-Hant, zh_CN or zho.
        pretokenized: whether spaces already split the text into words.
        stated: the user's choice; None: by the language.
    """
    if pretokenized:
        return AS_GIVEN
    return stated or OF_LANGUAGE.get(re.split("[-_]", language)[0].lower(), DEFAULT)


def is_by_character(tokenizer: str) -> bool:
    """Whether scores by words are by characters: BLEU's tokenizer is one for text without spaces.

    TER, chrF++, Moses' tokens and tables of words would take a whole sentence for a word.
    """
    return tokenizer in _WITHOUT_SPACES


def characters_apart(lines: Iterable[str]) -> list[str]:
    """Return lines with a space after each character; spaces of their own are dropped."""
    return [" ".join("".join(line.split())) for line in lines]


def tokenizer_of(signature: str) -> str:
    """Return the tokenizer that a signature of BLEU states, without the version of its dictionary."""
    stated = next((part.removeprefix("tok:") for part in signature.split("|") if part.startswith("tok:")), DEFAULT)
    return next((name for name in EXTRAS if stated.startswith(name)), stated)
