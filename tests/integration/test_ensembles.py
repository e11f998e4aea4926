"""Several runs in one search: `aiayn translate`, `aiayn score` and `aiayn evaluate` with run=[a,b]."""

import json
import math
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from commands import Say

from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.data.vocabulary import load_tokenizer
from aiayn.evaluation.sentences import read_sentence_scores

TEXT = "the dog\n\na cat sees “ships”\n"
PAIRS = "the dog\tder Hund\na cat\teine Katze 7\n"


RANDOM = "checkpoint=1"
"""Of random weights, which tell sentences apart."""


class Runs(NamedTuple):
    one: Path
    other: Path

    @property
    def both(self) -> str:
        return f"run=[{self.one},{self.other}]"

    @property
    def turned(self) -> str:
        return f"run=[{self.other},{self.one}]"


@pytest.fixture(scope="module")
def runs(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The run, and one that differs in its weights and its id."""
    both = Runs(*(tmp_path_factory.mktemp("runs") / name for name in ("one", "other")))
    for copy in both:
        shutil.copytree(trained_run, copy, ignore=shutil.ignore_patterns("evaluations"))
    record = json.loads((both.other / "run.json").read_text())
    (both.other / "run.json").write_text(json.dumps(record | {"run_id": "other"}))
    path = both.other / "checkpoints" / "step-0000001.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    randomness = torch.Generator().manual_seed(2)
    for weight in checkpoint["state_dict"].values():
        if weight.dim() == 2:
            weight.normal_(std=0.5, generator=randomness)
    torch.save(checkpoint, path)
    return both


def rows(said: Any) -> list[dict[str, Any]]:
    assert said.code == 0, said.err
    return [json.loads(line) for line in said.lines]


def lines(file: Path) -> list[str]:
    return file.read_text().split("\n")[:-1]


def test_a_run_with_itself_translates_as_it_does(say: Say, runs: Runs) -> None:
    alone = say("translate", RANDOM, f"run={runs.one}", given=TEXT)
    assert alone.code == 0
    assert say("translate", RANDOM, f"run=[{runs.one}]", given=TEXT) == alone
    assert say("translate", RANDOM, f"run=[{runs.one},{runs.one}]", given=TEXT) == alone
    assert say("translate", RANDOM, f"run={runs.other}", given=TEXT).out != alone.out, (
        "else nothing could be told apart"
    )


def test_two_runs_score_by_the_mean_of_their_probabilities(say: Say, runs: Runs) -> None:
    together, turned = (rows(say("score", RANDOM, words, given=PAIRS)) for words in (runs.both, runs.turned))
    apart = [rows(say("score", RANDOM, f"run={run}", given=PAIRS)) for run in runs]
    assert [row["nll"] for row in together] == pytest.approx([row["nll"] for row in turned], rel=1e-6)
    for both, first, second in zip(together, *apart, strict=True):
        assert both["nll"] < (first["nll"] + second["nll"]) / 2, "the logarithm is concave"
        assert both["nll"] < min(first["nll"], second["nll"]) + both["tokens"] * math.log(2), "half of either is there"


def test_an_evaluation_lies_below_the_first_run_and_names_all(say: Say, runs: Runs) -> None:
    said = say("evaluate", RANDOM, runs.both, "splits=test", "n_best=2")
    assert said.code == 0, said.err
    (folder,) = (runs.one / "evaluations").iterdir()
    name = folder.name.rpartition("-ensemble2-")[2]
    members = json.loads((folder / "members.json").read_text())["members"]
    assert [each["run"] for each in members] == [str(run) for run in runs]
    assert json.loads((folder / "scores.json").read_text())["test"]["engine"] == f"ensemble2-{name}"
    listed = [json.loads(line) for line in lines(folder / "test.n_best.jsonl")]
    best = [row["hypotheses"][0]["text"] for row in listed]
    assert lines(folder / "test.hypotheses.txt") == best
    assert [row["line"] for row in listed] == list(range(1, len(best) + 1))
    assert len({*best}) > 1
    sources = "".join(f"{row['source']}\n" for row in listed)
    assert say("translate", RANDOM, runs.turned, given=sources).lines == best
    assert say("evaluate", RANDOM, runs.turned, "splits=test").code == 0
    (turned,) = (runs.other / "evaluations").iterdir()
    assert turned.name == folder.name, "the order does not matter"
    assert lines(turned / "test.hypotheses.txt") == best


def test_another_vocabulary_is_refused_by_name(say: Say, runs: Runs, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    shutil.copytree(runs.other, foreign)
    size = load_tokenizer(foreign / "tokenizer.json").vocabulary_size
    words = [f"{first}{second}{first} {second}{first}" for first in "abcdefghijklmn" for second in "opqrstuvwxyz"]
    SubwordTokenizer.train(words * 2, vocabulary_size=size).save(foreign / "tokenizer.json")
    for verb in ("translate", "score", "evaluate"):
        said = say(verb, RANDOM, f"run=[{runs.one},{foreign}]")
        assert (said.code, said.out) == (2, "")
        complaint = said.err.splitlines()[-1]
        assert complaint.startswith(f"aiayn: run={foreign}: has another vocabulary than {runs.one}; ")


def test_another_start_of_the_decoder_is_refused_by_name_and_used_alone(
    say: Say, runs: Runs, trained_data: PreparedData, tmp_path: Path
) -> None:
    """Alone, an evaluation and a scoring of the same sentences agree."""
    foreign = tmp_path / "foreign"
    shutil.copytree(runs.other, foreign)
    config = (foreign / "config.yaml").read_text()
    (foreign / "config.yaml").write_text(config.replace("decoder_start: bos", "decoder_start: eos"))
    assert say("translate", RANDOM, f"run=[{runs.one},{foreign}]").refuses_by(
        f"run={foreign}: its decoder starts with eos, that of {runs.one} with bos; name runs with one "
    )
    likelihoods = []
    split = trained_data.split("test")
    sides = zip(split.source_lines(), split.target_lines(), strict=True)
    pairs = "".join(f"{source}\t{target}\n" for source, target in sides)
    for run in (foreign, runs.other):
        assert say("evaluate", RANDOM, f"run={run}", "splits=test").code == 0
        (path,) = (each for each in run.glob("evaluations/*/test.sentences.jsonl") if "ensemble" not in str(each))
        evaluated = [row.nll for row in read_sentence_scores(path)]
        scored = [row["nll"] for row in rows(say("score", RANDOM, f"run={run}", given=pairs))]
        assert scored == pytest.approx(evaluated, rel=1e-4)
        likelihoods.append(scored)
    assert all(first != second for first, second in zip(*likelihoods, strict=True))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run=[]"], "run=[]: state a run directory"),
        (["run=[RUN,nowhere]"], "run=nowhere: not a run directory"),
        (["run=[RUN,RUN]", "n_best=3"], "n_best=3: must be at most decoding.beam_size=2"),
    ],
)
def test_mistakes_are_one_line(say: Say, runs: Runs, words: list[str], complaint: str) -> None:
    assert say("translate", RANDOM, *(word.replace("RUN", str(runs.one)) for word in words)).refuses_by(complaint)
