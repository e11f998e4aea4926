"""Recognising prepared text whose words an earlier version cut at combining marks."""

from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

from aiayn.data.corpora.corpus import Corpus
from aiayn.data.preparation.atomic_cache import MANIFEST
from aiayn.data.tokenizer import SubwordTokenizer, has_kept_marks
from aiayn.data.vocabulary import load_tokenizer
from aiayn.errors import UserError
from aiayn.system.documents import read_json

TOKENIZER: Final = "tokenizer.json"
"""The file of the tokenizer in a prepared folder."""

WHOLE_WORDS: Final = {"whole_words": True}
"""An entry of every manifest since words keep their marks, and of the key of folders that replace an earlier one."""


def cuts_words(directory: Path, corpus: Corpus, *, trained_on: str | None) -> bool:
    """Whether a folder is of a version that cut words at their marks, and the corpus has such words.

    A folder with the fingerprint `trained_on` counts as right, so that a run of that version goes on with its tokens.
    Only a folder of that version costs time: its tokenizer is read and, if that has marks, the training text.
    """
    manifest: Any = None
    with suppress(OSError, ValueError):
        manifest = read_json(directory / MANIFEST)
    if not isinstance(manifest, dict) or manifest.keys() >= WHOLE_WORDS.keys():
        return False
    if trained_on is not None and manifest.get("fingerprint") == trained_on:
        return False
    with suppress(UserError):  # a damaged folder is prepared again
        tokenizer = load_tokenizer(directory / TOKENIZER)
        if isinstance(tokenizer, SubwordTokenizer) and tokenizer.cuts_words:
            return has_marked_words(corpus)
    return False


def has_marked_words(corpus: Corpus) -> bool:
    """Whether words of the training text have marks at which an earlier version cut them."""
    return any(map(has_kept_marks, chain.from_iterable(row[:2] for row in corpus.rows("train"))))
