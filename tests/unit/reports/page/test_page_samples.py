"""Which sentences are shown of a run."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, prepare
from aiayn.errors import UserError
from aiayn.evaluation.bleu import sentence_bleu, sentence_statistics
from aiayn.evaluation.brackets import BracketScores, SentenceBrackets
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.reports.page.samples import EACH, Kind, Texts, chosen, read_samples
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, SplitScores
from aiayn.system import files

MakeRecord = Callable[..., Record]

SENTENCES = 40


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    grammar = GrammarCorpus(sentences=40, dev_sentences=SENTENCES, test_sentences=2, seed=1)
    settings = PreparationSettings(vocabulary_size=300, max_length=200)
    return prepare(grammar, settings=settings, cache=tmp_path_factory.mktemp("cache"))


@given(order=st.permutations(range(12)), count=st.integers(1, 12))
def test_kinds_share_no_sentence_and_keep_the_order(order: list[int], count: int) -> None:
    order = [place for place in order if place < count]
    found = chosen(order)
    places = [place for each in found.values() for place in each]
    assert len(set(places)) == len(places) <= len(Kind) * EACH
    assert found[Kind.best][0] == order[-1]
    if count > 1:
        assert found[Kind.worst][0] == order[0]
    if count >= len(Kind):
        assert all(order.index(a) < order.index(b) for a in found[Kind.worst] for b in found[Kind.median])
        assert all(order.index(a) < order.index(b) for a in found[Kind.median] for b in found[Kind.best])


def run_of(tmp_path: Path, record: Record, hypotheses: list[str], references: list[str]) -> RunDirectory:
    path = tmp_path / record.scores["dev"].hypotheses
    files.write_text(path, "".join(f"{line}\n" for line in hypotheses))
    statistics = sentence_statistics(hypotheses, references)
    rows = [
        SentenceScores(1.0, len(line.split()), tuple(map(int, row)), 1)
        for line, row in zip(references, statistics, strict=True)
    ]
    write_sentence_scores(path.with_name("dev.sentences.jsonl"), rows)
    return RunDirectory(tmp_path)


def test_samples_are_the_sentences_that_their_scores_say(
    tmp_path: Path, corpus: PreparedData, make_record: MakeRecord, scores: dict[str, SplitScores]
) -> None:
    split = corpus.split("dev")
    sources, references = split.source_lines(), split.target_lines()
    hypotheses = [line if place % 3 else " ".join(line.split()[: place % 5]) for place, line in enumerate(references)]
    record = make_record(scores=scores)
    samples = read_samples(run_of(tmp_path, record, hypotheses, references), record, corpus)
    assert [sample.kind for sample in samples] == [kind for kind in Kind for _ in range(EACH)]
    for sample in samples:
        place = sample.number - 1
        assert (sample.source, sample.reference, sample.hypothesis) == (
            sources[place],
            references[place],
            hypotheses[place],
        )
        (row,) = sentence_statistics([sample.hypothesis], [sample.reference])
        assert sample.score == sentence_bleu(tuple(map(int, row)))
    assert max(s.score for s in samples if s.kind is Kind.worst) < min(s.score for s in samples if s.kind is Kind.best)
    assert all(sample.hypothesis == sample.reference for sample in samples if sample.kind is Kind.best)


def test_a_run_on_another_corpus_is_refused(
    tmp_path: Path, corpus: PreparedData, make_record: MakeRecord, scores: dict[str, SplitScores]
) -> None:
    lines = ["eins zwei"] * (SENTENCES + 1)
    record = make_record(scores=scores)
    with pytest.raises(UserError, match="evaluate the run again"):
        read_samples(run_of(tmp_path, record, lines, lines), record, corpus)


def test_texts_are_found_in_either_cache(tmp_path: Path, corpus: PreparedData) -> None:
    cache = corpus.directory.parents[1]
    for first, second in ((cache, tmp_path), (tmp_path, cache)):
        found = Texts(first).of(corpus.fingerprint, second)
        assert found is not None
        assert found.fingerprint == corpus.fingerprint
    assert Texts(tmp_path).of(corpus.fingerprint, tmp_path) is None


def test_trees_are_sampled_by_the_f1_of_their_brackets(
    tmp_path: Path, corpus: PreparedData, make_record: MakeRecord, scores: dict[str, SplitScores]
) -> None:
    record = make_record(scores=scores)
    path = tmp_path / record.scores["dev"].hypotheses
    files.write_text(path, "(S XX )S\n" * SENTENCES)
    found = [BracketScores(sentences=1, matched=place, gold=40, predicted=40) for place in range(SENTENCES)]
    rows = [SentenceScores(1.0, 3, (), 1, brackets=SentenceBrackets(1, each)) for each in found]
    write_sentence_scores(path.with_name("dev.sentences.jsonl"), rows)
    samples = read_samples(RunDirectory(tmp_path), record, corpus)
    assert {sample.score_name for sample in samples} == {"F1"}
    assert all(sample.score == found[sample.number - 1].f1 for sample in samples)
