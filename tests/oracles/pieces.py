"""Split text into the pieces of a published model: python pieces.py subword_nmt|sentencepiece FILE < text > pieces.

Runs in the environment of the libraries. Text becomes Moses' tokens before it is split by merges, as in the data of
fairseq's model, and has its punctuation normalised before it is split by SentencePiece, as in `MarianTokenizer`.
"""

import sys
from collections.abc import Callable

from sacremoses import MosesPunctNormalizer, MosesTokenizer

LANGUAGE = "en"


def splitter(kind: str, file: str) -> Callable[[str], str]:
    """The function that splits a line."""
    if kind == "subword_nmt":
        from subword_nmt.apply_bpe import BPE

        tokenizer = MosesTokenizer(lang=LANGUAGE)
        with open(file, encoding="utf-8") as codes:  # noqa: PTH123
            merges = BPE(codes)
        return lambda line: str(merges.process_line(tokenizer.tokenize(line, return_str=True)))
    from sentencepiece import SentencePieceProcessor

    normalizer, model = MosesPunctNormalizer(lang=LANGUAGE), SentencePieceProcessor(model_file=file)
    return lambda line: " ".join(model.encode(normalizer.normalize(line), out_type=str))


if __name__ == "__main__":
    split = splitter(*sys.argv[1:])
    sys.stdin.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    for text in sys.stdin:
        print(split(text.rstrip("\n")))
