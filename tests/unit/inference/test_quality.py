"""Perfect outputs have perfect scores in every script and form of Unicode."""

import unicodedata
from pathlib import Path

import pytest

from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, prepare
from aiayn.evaluation.bleu import corpus_bleu
from aiayn.evaluation.tokenization import bleu_tokenizer
from aiayn.inference.quality import Quality, quality_of

TARGETS = {
    "zh": "红色的台灯在古老的台灯旁边。",
    "ja": "赤いランプは古い机の隣にあります。",
    "th": "โคมไฟสีแดงอยู่ข้างโต๊ะเก่า",
    "vi": unicodedata.normalize("NFD", "Người đàn ông đọc sách ở đó."),
    "bn": "সে বা\u09dcি যা\u09df, তার পর আষা\u09dd মাসে ফেরে।",
    "hi": "वह \u0958लम और का\u095bज़ लेकर प\u095d रहा था।",
    "de": "Der kleine Hund läuft über die Straße.",
}
CHANGED = ("vi", "bn", "hi")
"""Their targets are not in NFC."""


def perfect(data: PreparedData) -> tuple[list[str], Quality]:
    """Outputs that have the tokens of the references, and their scores."""
    dev = data.split("dev")
    outputs = data.tokenizer.decode_batch(dev.target)
    tokenizer = bleu_tokenizer(data.languages[1], pretokenized=data.pretokenized)
    return outputs, quality_of(data, dev, outputs, bleu_tokenizer=tokenizer, trees=data.directory)


@pytest.mark.parametrize("pretokenized", [False, True])
@pytest.mark.parametrize("language", TARGETS)
def test_perfect_outputs_have_perfect_scores(tmp_path: Path, language: str, pretokenized: bool) -> None:
    line = TARGETS[language]
    if pretokenized:  # words of two characters
        line = " ".join(line.replace(" ", "")[start : start + 2] for start in range(0, len(line), 2))
    sides = tmp_path / "source", tmp_path / "target"
    for path, text in zip(sides, ("a", line), strict=True):
        path.write_text(f"{text}\n", encoding="utf-8")
    files = SplitFiles(*map(str, sides))
    corpus = TextFilesCorpus(files=dict.fromkeys(SPLITS, files), source_language="en", target_language=language)
    settings = PreparationSettings(vocabulary_size=270, max_length=300, pretokenized=pretokenized)
    data = prepare(corpus, settings=settings, cache=tmp_path)
    outputs, found = perfect(data)
    assert found.bleu is not None
    assert found.chrf is not None
    scores = {"bleu": found.bleu, "chrf": found.chrf, **found.matrix}
    assert {name: round(score.score, 6) for name, score in scores.items()} == dict.fromkeys(scores, 100)
    marked = {score.signature.split("|")[-1] == "refs:nfc" for score in scores.values()}
    is_changed = unicodedata.normalize("NFC", line) != line
    assert marked == {is_changed}
    assert pretokenized or is_changed == (language in CHANGED)
    raw = corpus_bleu(outputs, [line], tokenize=bleu_tokenizer(language, pretokenized=pretokenized))
    assert (raw.score < 95) == is_changed, "as the file has it, the same output has another score"
