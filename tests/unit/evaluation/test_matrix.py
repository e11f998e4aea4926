"""Every definition has a name, a title and a signature of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from aiayn.config.report_schema import SlowMetric
from aiayn.errors import UserError
from aiayn.evaluation.bleu import corpus_bleu, corpus_chrf
from aiayn.evaluation.matrix import SLOW, TITLES, Translations, quick_matrix, slow_scores
from aiayn.evaluation.moses import tokenized

REFERENCES = ['Er sagte: "Die Ein-Mann-Bude ist zu klein, oder?"', "Der Hund läuft über die Straße, als wäre nichts."]
HYPOTHESES = [
    "Er sagte: „Die Ein-Mann-Bude ist zu klein, nicht?“",
    "der Hund läuft über die Straße, als ob nichts wäre.",
]
TEXT = Translations(HYPOTHESES, REFERENCES, "de")


def test_definitions_are_told_apart() -> None:
    found = quick_matrix(TEXT) | slow_scores(TEXT, ["ter", "chrf_pp"], comet_model="")
    found |= {"bleu": corpus_bleu(HYPOTHESES, REFERENCES), "chrf": corpus_chrf(HYPOTHESES, REFERENCES)}
    assert {*found} <= {*TITLES}
    assert len({score.signature for score in found.values()}) == len(found) == 9
    assert found["bleu_lc"].score > found["bleu"].score  # one word begins with another case
    assert found["multi_bleu_split"].score > found["multi_bleu"].score  # and the quotes are of another kind
    assert "tok:moses-de" in found["multi_bleu"].signature.split("|")


def test_a_text_is_perfect_by_all_of_them() -> None:
    text = Translations(REFERENCES, REFERENCES, "de")
    assert [score.score for score in quick_matrix(text).values()] == pytest.approx([100] * 5)
    slow = slow_scores(text, ["ter", "chrf_pp"], comet_model="")
    assert (slow["ter"].score, slow["chrf_pp"].score) == pytest.approx((0, 100))


def test_words_that_came_split_are_left_alone() -> None:
    words = ["Er sagte : &quot; A-B &quot; und ging"]
    found = quick_matrix(Translations(words, ["Er sagte : &quot; A-C &quot; und ging"], "de", pretokenized=True))
    assert {*found} == {"bleu_detokenized", "multi_bleu_none", "multi_bleu_none_split"}
    assert {*found} <= {*TITLES}
    assert found["multi_bleu_none_split"].score > found["multi_bleu_none"].score > 0


def test_detokenised_words_of_moses_score_as_the_text_that_they_come_from() -> None:
    plain = Translations(["Er sagte: der Hund, den es gibt, läuft."], ["Er sagte: der Hund, den ich sah, läuft."], "de")
    hypotheses, references = (tokenized(side, "de") for side in (plain.hypotheses, plain.references))
    score = quick_matrix(Translations(hypotheses, references, "de", pretokenized=True))["bleu_detokenized"]
    assert score.score == corpus_bleu(plain.hypotheses, plain.references).score
    assert "detok:moses-de" in score.signature.split("|")


def test_a_metric_on_request_has_its_name_in_the_schema() -> None:
    assert {*SLOW} == {*SlowMetric}


COMET_STAND_IN = """
from types import SimpleNamespace

def download_model(name):
    if name == "nobody/knows":
        raise KeyError("Model 'nobody/knows' not supported by COMET.")
    return f"/models/{name}.ckpt"

def load_from_checkpoint(path):
    assert path == "/models/some/model.ckpt"
    def predict(data, batch_size, gpus, progress_bar):
        return SimpleNamespace(system_score=sum(d["mt"] == d["ref"] and d["src"] == "source" for d in data) / len(data))
    return SimpleNamespace(predict=predict)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A module of COMET's interface: the real one brings two gigabytes, and pins that are older than ours."""
    (tmp_path / "comet.py").write_text(COMET_STAND_IN, encoding="utf-8")
    metadata = tmp_path / "unbabel_comet-2.2.7.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: unbabel-comet\nVersion: 2.2.7\n", encoding="utf-8")
    return tmp_path


def test_comet_reads_the_sources(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(stand_in))
    text = Translations(["gut", "schlecht"], ["gut", "besser"], "de", sources=["source", "source"])
    score = slow_scores(text, ["comet"], comet_model="some/model")["comet"]
    assert (score.score, score.signature) == (50, "nrefs:1|model:some/model|comet:2.2.7")
    with pytest.raises(UserError, match="comet_model=nobody/knows: cannot be loaded"):
        slow_scores(text, ["comet"], comet_model="nobody/knows")
    del sys.modules["comet"]


def test_comet_is_refused_in_one_line_where_it_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['comet'] = None\n"
        "from aiayn.errors import UserError\n"
        "from aiayn.evaluation.comet import corpus_comet\n"
        "assert 'torch' not in sys.modules and 'sacremoses' not in sys.modules\n"
        "try: corpus_comet(['a'], ['b'], ['c'], model='m')\n"
        "except UserError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert 'pip install -e ".[comet]"' in done.stdout
    assert ("Python 3.11 or 3.12" in done.stdout) == (sys.version_info >= (3, 13))
