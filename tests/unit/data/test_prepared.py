"""Prepared data is complete, prepared once, and verified."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from string import ascii_letters
from unittest import TestCase

import pytest
from earlier_caches import earlier_tokenizer, made_earlier
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.data.corpora.corpus import SPLITS, Corpus, Split
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, peek_prepared, prepare
from aiayn.errors import UserError

CorpusMaker = Callable[..., Corpus]

SETTINGS = PreparationSettings(vocabulary_size=270, max_length=12)
TRAIN = [
    ("a dog", "ein Hund"),
    ("", "x"),
    ("a" * 11, "y"),
    ("z", " \t"),
    (ascii_letters, "z"),
    ("two dogs", "zwei Hunde"),
]
LINES = ["", "  a\u2028b\r", "a very long line that stays, whatever its length, because every line is scored", "c"]


@pytest.fixture(scope="module")
def corpus(pairs_corpus: CorpusMaker) -> Corpus:
    return pairs_corpus(TRAIN, dev=[(line, line[::-1]) for line in LINES])


@pytest.fixture(scope="module")
def prepared(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return prepare(corpus, settings=SETTINGS, cache=tmp_path_factory.mktemp("cache"))


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def all_but_locks(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.suffix != ".lock"]


# Kept pairs


def test_ids_decode_to_the_kept_sentences(corpus: Corpus, prepared: PreparedData) -> None:
    expected: dict[Split, list[tuple[str, str]]] = {
        "train": [TRAIN[0], TRAIN[2], TRAIN[5]],
        "dev": [(line, line[::-1]) for line in LINES],
    }
    for name in expected:
        split = prepared.split(name)
        sides = zip(split.source, split.target, strict=True)
        assert [tuple(prepared.tokenizer.decode(ids) for ids in pair) for pair in sides] == expected[name]
        assert len(split) == len(expected[name])
    assert prepared.split("dev").source_lines() == LINES
    assert prepared.split("dev").target_lines() == [line[::-1] for line in LINES]


def test_the_manifest_counts_kept_and_dropped_pairs(corpus: Corpus, prepared: PreparedData) -> None:
    counts = prepared.manifest["splits"]
    reasons = "pairs", "dropped_empty", "dropped_too_long"
    assert [counts["train"][reason] for reason in reasons] == [3, 2, 1]
    assert [counts["dev"][reason] for reason in reasons] == [len(LINES), 0, 0]
    for name in SPLITS:
        split = prepared.split(name)
        assert counts[name]["pairs"] == len(split)
        assert counts[name]["source_tokens"] == sum(len(ids) for ids in split.source) == split.source.lengths.sum()
        assert counts[name]["target_tokens"] == sum(len(ids) for ids in split.target) == split.target.lengths.sum()
    assert prepared.manifest["settings"] == asdict(SETTINGS)
    assert prepared.pretokenized is SETTINGS.pretokenized
    about = {"identity": corpus.identity, "source_language": "en", "target_language": "de", "task": "translation"}
    assert prepared.manifest["corpus"] == about


def test_corpora_longer_than_a_chunk_keep_their_order(pairs_corpus: CorpusMaker, tmp_path: Path) -> None:
    lines = [f"{number}" for number in range(4_321)]
    done: list[tuple[str, int, int | None]] = []
    data = prepare(
        pairs_corpus(zip(lines, reversed(lines), strict=True)),
        settings=PreparationSettings(vocabulary_size=400, max_length=12),
        cache=tmp_path,
        progress=lambda stage, pairs, total: done.append((stage, pairs, total)),
    )
    assert data.tokenizer.decode_batch(data.split("train").source) == lines
    assert data.tokenizer.decode_batch(data.split("train").target) == lines[::-1]
    totals = {"tokenizer": 4_321, "train": 4_321, "dev": 2, "test": 1}
    assert list({stage: pairs for stage, pairs, _ in done}.items()) == [*totals.items()]
    assert all(total == totals[stage] for stage, _, total in done)
    assert done == sorted(done, key=lambda stage: ["tokenizer", *SPLITS].index(stage[0])), "stages in turn, growing"


def test_a_limited_split_is_its_first_pairs(some_prepared: PreparedData) -> None:
    whole, first = some_prepared.split("train"), some_prepared.split("train", limit=3)
    for side, part in (whole.source, first.source), (whole.target, first.target):
        assert [ids.tolist() for ids in part] == [ids.tolist() for ids in side][:3]
        assert len(part.tokens) == part.lengths.sum(), "so that sentences can be selected from it"


# Identity


def test_equal_inputs_are_prepared_once(
    pairs_corpus: CorpusMaker, prepared: PreparedData, corpus: Corpus, tmp_path: Path
) -> None:
    shutil.copytree(prepared.directory.parent.parent, tmp_path, dirs_exist_ok=True)
    stages: list[str] = []

    def again(other: Corpus, vocabulary_size: int, max_length: int) -> PreparedData:
        stages.clear()
        limits = PreparationSettings(vocabulary_size, max_length)
        return prepare(other, settings=limits, cache=tmp_path, progress=lambda stage, *_: stages.append(stage))

    assert again(corpus, 270, 12).fingerprint == prepared.fingerprint
    assert stages == []
    assert again(corpus, 270, 8).directory.name != prepared.directory.name
    assert set(stages) == {*SPLITS}, "the tokenizer is shared by preparations that differ in other settings"
    assert again(corpus, 265, 12).fingerprint != prepared.fingerprint
    assert again(pairs_corpus([*TRAIN, ("more", "mehr")]), 270, 12).fingerprint != prepared.fingerprint
    assert set(stages) == {"tokenizer", *SPLITS}


def test_each_kind_of_tokenizer_is_prepared_separately(pairs_corpus: CorpusMaker, tmp_path: Path) -> None:
    corpus = pairs_corpus([("it's a dog , he said .", "es ist ein Hund , sagte er .")] * 9)
    byte_pair, word_piece = PreparationSettings(600, 99, "byte_pair"), PreparationSettings(600, 99, "word_piece")
    limits = [replace(kind, pretokenized=words) for kind in (byte_pair, word_piece) for words in (False, True)]
    every = [prepare(corpus, settings=each, cache=tmp_path) for each in limits]
    assert [data.pretokenized for data in every] == [False, True] * 2
    for kind in "prepared", "tokenizers":
        assert len(all_but_locks(tmp_path / kind)) == len({data.fingerprint for data in every}) == 4
    for data in every:
        assert data.split("dev").target_lines() == data.tokenizer.decode_batch(data.split("dev").target)


# Errors


@pytest.mark.parametrize(
    ("limits", "train", "dev", "message"),
    [
        (PreparationSettings(100, 9), TRAIN, [("a", "b")], r"tokenizer\.vocabulary_size=100 "),
        (
            PreparationSettings(259, 3),
            [("long", "b")],
            [("a", "b")],
            r"train split has no .* left, 1 too long; raise data\.max_length=3,",
        ),
        (SETTINGS, [("", "b"), ("a", " ")], [("a", "b")], r"no .* left, 2 empty; .* choose"),
        (SETTINGS, [], [("a", "b")], r"train split has no sentence pairs; choose"),
        (SETTINGS, TRAIN, [], r"dev split has no sentence pairs"),
    ],
)
def test_impossible_preparations_are_refused(
    pairs_corpus: CorpusMaker,
    tmp_path: Path,
    limits: PreparationSettings,
    train: list[tuple[str, str]],
    dev: list[tuple[str, str]],
    message: str,
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        prepare(pairs_corpus(train, dev=dev), settings=limits, cache=tmp_path)
    assert "\n" not in str(caught.value)
    assert [path for folder in tmp_path.glob("prepared") for path in all_but_locks(folder)] == []


def test_a_cache_that_is_no_folder_is_reported(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(UserError, match=rf"paths\.cache={tmp_path / 'cache'}: "):
        prepare(corpus, settings=SETTINGS, cache=tmp_path / "cache")


# Damage


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes | None]:
    """Damage to a file; None deletes it."""
    kind = draw(st.sampled_from(["flip", "cut", "extend", "delete"]))
    where, bit = draw(st.floats(0, 1, exclude_max=True)), draw(st.integers(0, 7))

    def damage(content: bytes) -> bytes | None:
        position = int(where * len(content))
        if kind == "flip":
            return content[:position] + bytes([content[position] ^ (1 << bit)]) + content[position + 1 :]
        return {"cut": content[:position], "extend": content + b"\0", "delete": None}[kind]

    return damage


@settings(max_examples=25)
@given(st.data(), damages())
def test_any_damage_is_detected_and_repaired(
    corpus: Corpus,
    prepared: PreparedData,
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    damage: Callable[[bytes], bytes | None],
) -> None:
    cache = tmp_path_factory.mktemp("damaged")
    shutil.copytree(prepared.directory.parent.parent, cache, dirs_exist_ok=True)
    files = sorted(path.relative_to(cache) for path in (cache / "prepared").glob("*/*"))
    files += [path.relative_to(cache) for path in (cache / "tokenizers").glob("*/*")]
    damaged = cache / data.draw(st.sampled_from(files))
    content = damage(damaged.read_bytes())
    damaged.unlink() if content is None else damaged.write_bytes(content)
    if damaged.parent.parent.name == "tokenizers":  # only looked at when data are prepared
        shutil.rmtree(cache / "prepared")
    with TestCase().assertLogs("aiayn", "WARNING") as logged:
        mended = prepare(corpus, settings=SETTINGS, cache=cache)
    assert [str(damaged.parent) in message for message in logged.output] == [True]
    assert files_of(mended.directory) == files_of(prepared.directory)
    assert files_of(damaged.parent) == files_of(prepared.directory.parent.parent / damaged.parent.relative_to(cache))


# Folders of versions that cut words at their marks

HINDI = [("वह दिन था", "he came"), ("यह किताबें हैं", "these are books")] * 30
EMOJI = [("✔\ufe0f ✔\ufe0f", "done \u200cit"), ("✔\ufe0f done", "✔\ufe0f")] * 30


def test_a_cache_whose_words_were_cut_at_marks_is_not_used_again(pairs_corpus: CorpusMaker, tmp_path: Path) -> None:
    corpus, wide = pairs_corpus(HINDI), replace(SETTINGS, vocabulary_size=400)
    right = prepare(corpus, settings=wide, cache=tmp_path)
    earlier = made_earlier(tmp_path, right, earlier_tokenizer([line for pair in HINDI for line in pair]))
    again = prepare(corpus, settings=wide, cache=tmp_path)
    assert again.fingerprint == right.fingerprint != earlier
    assert again.directory != right.directory
    assert prepare(corpus, settings=wide, cache=tmp_path).directory == again.directory
    kept = prepare(corpus, settings=wide, cache=tmp_path, trained_on=earlier)
    assert (kept.fingerprint, kept.directory) == (earlier, right.directory), "a run that began on it goes on with it"
    found = peek_prepared(tmp_path, wide, lambda _: True)
    assert found is not None
    assert found.fingerprint == right.fingerprint


def test_a_cache_of_earlier_versions_without_marks_in_words_stays_in_use(
    pairs_corpus: CorpusMaker, tmp_path: Path
) -> None:
    corpus, wide = pairs_corpus(EMOJI), replace(SETTINGS, vocabulary_size=400)
    data = prepare(corpus, settings=wide, cache=tmp_path)
    earlier = made_earlier(tmp_path, data, earlier_tokenizer([line for pair in EMOJI for line in pair]))
    again = prepare(corpus, settings=wide, cache=tmp_path)
    assert (again.fingerprint, again.directory) == (earlier, data.directory)
