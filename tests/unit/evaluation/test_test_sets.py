"""A split is newstest2014 where sacreBLEU's own files say so, and nowhere else."""

import unicodedata
from pathlib import Path

import pytest

from aiayn.evaluation.bleu import bleu_from_statistics, sentence_statistics
from aiayn.evaluation.test_sets import SENTENCES_OF_2014, known_test_sets, on_test_sets, remedy

SOURCES = ["One.", "Two  words.", "One.", "Three of them."]
REFERENCES = ["Eins.", "Zwei Wörter.", "Eins.", "Drei davon hier."]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """sacreBLEU's folder, with nothing in it."""
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    return tmp_path


def keep(folder: Path, name: str, numbers: list[int]) -> None:
    """Write a test set of these sentences as sacreBLEU does."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    for side, lines in (("src", SOURCES), ("ref", REFERENCES)):
        text = "".join(f"{' '.join(lines[number].split())}\n" for number in numbers)
        (folder / name / f"{name.replace('/', '_')}.en-de.{side}").write_text(text, encoding="utf-8")


def test_sentences_are_found_each_once(kept: Path) -> None:
    assert known_test_sets(SOURCES, REFERENCES, languages="en-de") == {}
    keep(kept, "wmt14/full", [0, 1, 2, 3])
    keep(kept, "wmt14", [1, 2, 3])
    found = known_test_sets(SOURCES, REFERENCES, languages="en-de")
    assert sorted(found["wmt14/full"]) == [0, 1, 2, 3]
    assert found["wmt14"] in ([1, 0, 3], [1, 2, 3])
    assert known_test_sets(SOURCES, REFERENCES, languages="en-fr") == {}
    assert {*known_test_sets(SOURCES[1:], REFERENCES[1:], languages="en-de")} == {"wmt14"}
    assert known_test_sets(SOURCES, REFERENCES[::-1], languages="en-de") == {}


def test_bleu_is_that_of_these_sentences(kept: Path) -> None:
    keep(kept, "wmt14", [1, 3])
    hypotheses = ["Eins.", "Zwei Worte, viele Wörter.", "Eins.", "Drei davon hier."]
    statistics = sentence_statistics(hypotheses, REFERENCES)
    languages, signature = ("en", "de"), "nrefs:1|case:mixed"
    found = on_test_sets(statistics, SOURCES, REFERENCES, languages=languages, signature=signature)
    assert {*found} == {"bleu_wmt14"}
    assert found["bleu_wmt14"].score == bleu_from_statistics(statistics[[1, 3]])
    assert found["bleu_wmt14"].signature == "nrefs:1|test:wmt14|lang:en-de|case:mixed"


def test_what_looks_like_it_says_what_to_do() -> None:
    line = remedy(SENTENCES_OF_2014, {}, languages="en-fr")
    assert line is not None
    assert "sacrebleu -t wmt14 -l en-fr" in line
    assert remedy(SENTENCES_OF_2014, {"wmt14": [1]}, languages="en-fr") is None
    assert remedy(1000, {}, languages="en-fr") is None


def test_sentences_are_compared_in_one_form_of_unicode(kept: Path) -> None:
    keep(kept, "wmt14", [1])
    decomposed = [unicodedata.normalize("NFD", line) for line in REFERENCES]
    assert known_test_sets(SOURCES, decomposed, languages="en-de") == {}
    for references in (REFERENCES, decomposed):
        found = known_test_sets(
            SOURCES, references, languages="en-de", normalized=lambda line: unicodedata.normalize("NFC", line)
        )
        assert found == {"wmt14": [1]}
