"""Text that others have split into sub-words: trained on as it is, scored by its words, translated as it comes."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from commands import Say, Train
from ctranslate2 import Translator
from run_files import add_random_checkpoint, only_run
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from aiayn.commands.front_end import main
from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.evaluation.bleu import corpus_bleu
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.runs.record import read_record

SIDES = ("source", "target")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of the grammar as `<split>.<side>`, with merges of the tokenizers library marked by @@, and a dict.txt."""
    folder = tmp_path_factory.mktemp("bpe")
    corpus = GrammarCorpus(sentences=300, dev_sentences=12, test_sentences=12, seed=5)
    rows = {split: list(corpus.rows(split)) for split in SPLITS}
    backend = Tokenizer(models.BPE(continuing_subword_prefix="##"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=400, continuing_subword_prefix="##", show_progress=False)
    backend.train_from_iterator(chain(*chain(*rows.values())), trainer)
    for split, pairs in rows.items():
        for side, lines in zip(SIDES, zip(*pairs, strict=True), strict=True):
            pieces = [" ".join(each.tokens).replace(" ##", "@@ ") for each in backend.encode_batch(list(lines))]
            (folder / f"{split}.{side}").write_text("".join(f"{line}\n" for line in pieces))
            (folder / f"{split}.{side}.words").write_text("".join(f"{line}\n" for line in lines))
    train = "".join((folder / f"train.{side}").read_text() for side in SIDES)
    (folder / "dict.txt").write_text("".join(f"{piece} 1\n" for piece in sorted({*train.split()})))
    return folder


def corpus_words(files: Path) -> list[str]:
    named = [f"data.{split}.{side}={files / split}.{side}" for split in SPLITS for side in SIDES]
    return [*named, "data.pretokenized=true", "tokenizer=given", f"tokenizer.vocabulary={files / 'dict.txt'}"]


@pytest.fixture(scope="session")
def run(files: Path, tiny: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A finished run on the files."""
    runs = tmp_path_factory.mktemp("runs")
    words = [word for word in tiny if not word.startswith(("data.", "tokenizer."))]
    paths = [f"paths.runs={runs}", f"paths.cache={shared_cache}", "logger=none", "data.max_length=60"]
    assert main(["train", *words, "data=text_files", *corpus_words(files), *paths]) == 0
    finished = only_run(runs)
    add_random_checkpoint(finished)
    return finished


def lines_of(path: Path) -> list[str]:
    return path.read_text().split("\n")[:-1]


def test_words_are_restored_and_scored_as_they_are(run: Path, files: Path) -> None:
    record = read_record(run / "run.json")
    for split in ("dev", "test"):
        scores = record.scores[split]
        hypotheses = lines_of(run / scores.hypotheses)
        assert "@@" not in "".join(hypotheses)
        expected = corpus_bleu(hypotheses, lines_of(files / f"{split}.target.words"), tokenize="none")
        assert (scores.bleu_name, scores.quality.score) == ("BLEU_none", expected.score)
        assert scores.quality.signature == expected.signature
        assert {"bleu_detokenized", "multi_bleu_none_split"} <= scores.matrix.keys()
        rows = read_sentence_scores((run / scores.hypotheses).with_name(f"{split}.sentences.jsonl"))
        pieces = [len(line.split(" ")) + 1 for line in lines_of(files / f"{split}.target")]
        assert [row.tokens for row in rows] == pieces, "a perplexity is that of the pieces, as others count it"
        assert scores.ppl == pytest.approx(perplexity(np.array([row.nll for row in rows]), np.array(pieces)))
    vocabulary = json.loads((run / "tokenizer.json").read_text())
    assert record.vocabulary_rows == len(vocabulary["pieces"]) == 4 + len(lines_of(files / "dict.txt"))


def test_commands_read_lines_of_pieces(run: Path, files: Path, say: Say) -> None:
    scores = read_record(run / "run.json").scores["test"]
    sources, targets = ((files / f"test.{side}").read_text() for side in SIDES)
    translated = say("translate", f"run={run}", given=sources)
    assert translated == (0, (run / scores.hypotheses).read_text(), "")
    pairs = "".join(map("{}\t{}\n".format, sources.splitlines(), targets.splitlines()))
    rows = [json.loads(line) for line in say("score", f"run={run}", given=pairs).lines]
    total = perplexity(np.array([row["nll"] for row in rows]), np.array([row["tokens"] for row in rows]))
    assert total == pytest.approx(scores.ppl, rel=1e-4)
    attended = say("attention", f"run={run}", "units=words", given=pairs.partition("\n")[0] + "\n")
    assert attended.code == 0
    (maps,) = run.glob("attention/*.json")
    labels = json.loads(maps.read_text())["sentences"][0]["source"]
    assert labels == [*lines_of(files / "test.source.words")[0].split(" "), "</s>"]


def test_an_export_takes_pieces(run: Path, files: Path, say: Say, tmp_path: Path) -> None:
    assert say("export", f"run={run}", "checkpoint=1", "output=model").code == 0
    translator = Translator(str(tmp_path / "model"))
    pieces = [[*line.split(" "), "unheard-of", "</s>"] for line in lines_of(files / "test.source")]
    found = translator.translate_batch(pieces, beam_size=1, max_decoding_length=8)
    given = "".join(f"{' '.join(line[:-1])}\n" for line in pieces)
    ours = say("translate", f"run={run}", "checkpoint=1", "decoding.beam_size=1", given=given).lines
    theirs = [" ".join(each.hypotheses[0]).replace("@@ ", "").removesuffix("@@") for each in found]
    assert len(set(theirs)) > 6
    assert all(mine.startswith(their) for mine, their in zip(ours, theirs, strict=True))


def test_without_a_file_all_pieces_of_the_text_are_taken(
    train: Train, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*corpus_words(files)[:-1], "data.max_length=60"]
    sizes = ["optimization.max_steps=2", "optimization.validation_interval=1", "model.d_model=8", "model.num_heads=2"]
    assert train(*words, *sizes, "tokenizer.vocabulary_size=5000", corpus="text_files") == 0
    assert "the training text yields only" not in capsys.readouterr().err
    assert main(["prepare", "data=text_files", *words, "tokenizer.vocabulary_size=5000"]) == 0
    shown = capsys.readouterr().out
    assert "given, split at spaces" in shown
    assert "of 5,000" not in shown


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["data.pretokenized=false"], "data.pretokenized=false: with tokenizer.marker=subword_nmt"),
        (["tokenizer.marker=sentencepiece"], "tokenizer.marker=sentencepiece: no piece of "),
        (["tokenizer.vocabulary=/nowhere/nothing.txt"], "tokenizer.vocabulary: /nowhere/nothing.txt cannot be read"),
        (["tokenizer.kind=byte_pair"], "tokenizer.kind=byte_pair: the kind follows from the group"),
        (["data=toy_trees"], "tokenizer.kind=given: made for text, and data.kind=toy_trees has trees"),
        (
            ["tokenizer=byte_pair", "tokenizer.marker=subword_nmt"],
            "tokenizer.marker: a key of tokenizer.kind=given, not of the kind chosen",
        ),
    ],
)
def test_mistakes_are_one_line(say: Say, files: Path, words: list[str], complaint: str) -> None:
    given = ["data=text_files", *corpus_words(files)]
    if words[0].startswith("data=toy"):
        given = ["tokenizer=given"]
    if words[0] == "tokenizer=byte_pair":
        given = given[:-2]
    assert say("train", "logger=none", *given, *words).refuses_by(complaint)
