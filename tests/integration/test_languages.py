"""A run into a language without spaces is scored by that language's tokenizer, from validation to reports."""

import os
import subprocess
from pathlib import Path

import pytest
from commands import AIAYN, Say
from run_files import metrics, only_run
from sacrebleu.metrics.bleu import BLEU

from aiayn.commands.front_end import main
from aiayn.data.corpora.corpus import SPLITS
from aiayn.runs.record import read_record

LINES = {"source": ["a red lamp", "the old lamp is on the table"], "target": ["红色的台灯", "古老的台灯在桌子上面。"]}


@pytest.fixture
def words(tmp_path: Path, tiny: tuple[str, ...], shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of `aiayn train` on two pairs, which a model learns by heart."""
    monkeypatch.chdir(tmp_path)
    for side, lines in LINES.items():
        Path(side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sizes = [word for word in tiny if not word.startswith(("data.", "decoding."))]
    files = [f"data.{split}.{side}={side}" for split in SPLITS for side in LINES]
    corpus = ["data=text_files", "data.name=lamps", "data.source_language=en", "data.max_length=60"]
    recipe = ["optimization.max_steps=150", "optimization.validation_interval=150", "optimization.warmup_steps=30"]
    return [*sizes, *corpus, *files, *recipe, "model.d_model=32", "model.dropout=0", "logger=none"]


@pytest.mark.slow
def test_scores_follow_the_target_language(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *words, "data.target_language=zh-CN"]) == 0
    run = only_run(tmp_path / "runs")
    scores = read_record(run / "run.json").scores["dev"]
    outputs = (run / scores.hypotheses).read_text(encoding="utf-8").split("\n")[:-1]
    assert scores.quality.score == BLEU(tokenize="zh").corpus_score(outputs, [LINES["target"]]).score > 50
    assert "tok:zh" in scores.quality.signature.split("|")
    assert [row["val/bleu"] for row in metrics(run) if "val/bleu" in row] == [scores.quality.score]
    assert scores.hypotheses.split("/")[1].endswith("-zh")

    assert "beside chrF" not in capsys.readouterr().err
    assert main(["evaluate", f"run={run}", "splits=dev", "decoding.bleu_tokenizer=13a"]) == 0
    assert "beside chrF" in capsys.readouterr().err
    other = next(path for path in (run / "evaluations").iterdir() if not path.name.endswith("-zh"))
    assert main(["report", "matrix", f"run={other}", "metrics=ter", "output=matrix.md"]) == 0
    page = Path("matrix.md").read_text(encoding="utf-8")
    assert "TER, lower is better, of characters" in page
    assert "beside chrF" in page
    assert main(["compare", f"run={run}", f"against={run}", "split=dev", "resamples=100", "output=compare.md"]) == 0
    assert "rarest character" in Path("compare.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_missing_tokenizer_is_refused_before_training(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "MeCab.py").write_text("raise ImportError\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}"}
    command = [*AIAYN, "train", *words, "data.target_language=ja"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "decoding.bleu_tokenizer=ja-mecab: " in done.stderr
    assert 'pip install -e ".[ja]"' in done.stderr
    assert not list(tmp_path.glob("runs/*/*/*"))


def test_a_tokenizer_is_stated_for_plain_text_alone(words: list[str], say: Say) -> None:
    stated = ["data.target_language=zh", "decoding.bleu_tokenizer=char"]
    complaint = "decoding.bleu_tokenizer=char: made for plain text, and here words are scored as they are; leave it out"
    assert say("train", *words, *stated, "data.pretokenized=true").refuses_by(complaint)
