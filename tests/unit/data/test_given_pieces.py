"""Pieces as given: ids of foreign vocabularies, words restored, and mistakes named."""

import pickle
from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from aiayn.data.given_pieces import (
    MARKS,
    SPECIAL_SYMBOLS,
    GivenTokenizer,
    PieceMarker,
    SpecialIds,
    read_vocabulary,
    vocabulary_tokenizer,
)
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.data.units import token_units, word_units
from aiayn.data.vocabulary import GivenPieces, load_tokenizer
from aiayn.errors import UserError

MARKERS: list[PieceMarker] = ["subword_nmt", "sentencepiece"]
WORDS = st.text("abä7.@▁", min_size=1, max_size=7)
PIECES = st.lists(
    st.sampled_from(["@@", "▁", "a@@", "▁b", "c", *SPECIAL_SYMBOLS, "@", "@@@@", "▁▁", "\t", "\x85"]) | WORDS
)


@pytest.fixture(scope="module", params=MARKERS)
def marker(request: pytest.FixtureRequest) -> PieceMarker:
    return {each: each for each in MARKERS}[request.param]


@pytest.fixture(scope="module")
def sentences() -> list[tuple[str, str]]:
    """Pairs of the grammar, whose words are separated by spaces alone."""
    corpus = GrammarCorpus(sentences=600, dev_sentences=1, test_sentences=1, seed=3)
    return [(source, target) for source, target in corpus.rows("train")]


def with_merges(lines: list[str], marker: PieceMarker, merges: int = 300) -> list[str]:
    """Split lines by merges that the tokenizers library has learned of them, and mark the pieces."""
    backend = Tokenizer(models.BPE(continuing_subword_prefix="" if marker == "sentencepiece" else "##"))
    if marker == "sentencepiece":
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=merges, show_progress=False)
    else:
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.BpeTrainer(vocab_size=merges, continuing_subword_prefix="##", show_progress=False)
    backend.train_from_iterator(lines, trainer)
    split = [encoding.tokens for encoding in backend.encode_batch(lines)]
    if marker == "sentencepiece":
        return [" ".join(pieces) for pieces in split]
    return [" ".join(pieces).replace(" ##", "@@ ") for pieces in split]


def tokenizer_of(lines: list[str], marker: PieceMarker) -> GivenTokenizer:
    return GivenTokenizer.train([(lines, [])], vocabulary_size=10_000, marker=marker)


def test_words_of_real_merges_are_restored(sentences: list[tuple[str, str]], marker: PieceMarker) -> None:
    words = [*chain(*sentences)]
    lines = with_merges(words, marker)
    assert max(len(pieces.split(" ")) - len(line.split(" ")) for pieces, line in zip(lines, words, strict=True)) > 3
    tokenizer = tokenizer_of(lines, marker)
    encoded = tokenizer.encode_batch(lines)
    assert tokenizer.decode_batch(encoded) == words == [tokenizer.restored(line) for line in lines]
    assert [" ".join(tokenizer.pieces[number] for number in ids) for ids in encoded] == lines
    assert tokenizer.special.unk not in chain(*encoded)


def test_sentencepieces_of_captions_are_restored_as_the_library_does(aiayn_data: Path) -> None:
    from aiayn.data.lines import file_lines

    lines = list(islice(file_lines(aiayn_data / "multi30k" / "train.de.gz", "text"), 2_000))
    pieces = with_merges(lines, "sentencepiece", 2_000)
    tokenizer, metaspace = tokenizer_of(pieces, "sentencepiece"), decoders.Metaspace()
    expected = [metaspace.decode(line.split(" ")) for line in pieces]
    assert tokenizer.decode_batch(tokenizer.encode_batch(pieces)) == expected


@given(PIECES, st.lists(st.integers(-1, 30)))
def test_the_bytes_of_any_ids_are_their_text(marker: PieceMarker, pieces: list[str], numbers: list[int]) -> None:
    tokenizer = tokenizer_of([" ".join([*pieces, "a@@ ▁b"])], marker)
    (ids,) = tokenizer.encode_batch([" ".join([*pieces, "d"])])
    for each in (ids, numbers):
        assert b"".join(tokenizer.as_bytes(each)).decode() == tokenizer.decode(each)
    known = [number for number in numbers if 0 <= number < tokenizer.vocabulary_size]
    for units in (token_units(tokenizer, known), word_units(tokenizer, known)):
        assert len(units.labels) == len(units.starts) <= len(known)
        assert all(units.labels)


@given(PIECES)
def test_words_are_restored_as_their_programs_do(pieces: list[str]) -> None:
    pieces = [piece for piece in pieces if piece not in SPECIAL_SYMBOLS[:3]]
    of_merges, of_sentences = (tokenizer_of([" ".join([*pieces, "a@@ ▁b"])], each) for each in MARKERS)
    line = " ".join(pieces)
    assert of_merges.restored(line).rstrip(" ") == f"{line} ".replace("@@ ", "").rstrip(" ")
    assert of_sentences.restored(line) == "".join(pieces).replace("▁", " ").lstrip(" ")
    for tokenizer in (of_merges, of_sentences):
        assert tokenizer.decode(*tokenizer.encode_batch([line])) == tokenizer.restored(line)


@given(PIECES)
def test_every_piece_is_one_id_and_no_text_is_a_special_symbol(marker: PieceMarker, pieces: list[str]) -> None:
    tokenizer = tokenizer_of(["a@@ ▁b"], marker)
    (ids,) = tokenizer.encode_batch([" ".join(pieces)])
    assert len(ids) == len(pieces)
    assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id} & {*ids}
    unknown = [piece for piece, number in zip(pieces, ids, strict=True) if number == tokenizer.special.unk]
    assert unknown == [piece for piece in pieces if piece not in ("a@@", "▁b")]


def test_a_special_symbol_may_have_any_id(marker: PieceMarker, tmp_path: Path) -> None:
    """As in a vocabulary of Marian, which ends with the padding, and has no beginning."""
    pieces = ["</s>", "<unk>", "▁the", "a@@", "b", "<pad>"]
    tokenizer = GivenTokenizer(pieces, special=SpecialIds(pad=5, bos=5, eos=0, unk=1), marker=marker)
    tokenizer.save(tmp_path / "tokenizer.json")
    read = load_tokenizer(tmp_path / "tokenizer.json")
    for each in (read, pickle.loads(pickle.dumps(tokenizer))):
        assert each.checksum == tokenizer.checksum
        assert (each.pad_id, each.bos_id, each.eos_id, each.vocabulary_size) == (5, 5, 0, 6)
        assert each.encode_batch(["▁the b </s> <pad> a@@ wolf"]) == [[2, 4, 1, 1, 3, 1]]
        assert each.decode([5, 2, 4, 0, 5, 9]) == {"subword_nmt": "▁the b", "sentencepiece": "theb"}[marker]
    assert token_units(read, [5, 2, 0]).labels[::2] == ["<pad>", "</s>"]


@pytest.mark.parametrize(
    ("pieces", "special"),
    [
        (["<s>", "<pad>", "</s>", "a", "a"], SpecialIds(pad=1, bos=0, eos=2, unk=3)),
        (["<s>", "<pad>", "</s>"], SpecialIds(pad=1, bos=0, eos=2, unk=3)),
        (["</s>", "<unk>", "a"], SpecialIds(pad=2, bos=0, eos=0, unk=1)),
    ],
)
def test_impossible_vocabularies_are_refused(pieces: list[str], special: SpecialIds, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"two ids|SpecialIds"):
        GivenTokenizer(pieces, special=special, marker="subword_nmt")


def test_a_file_of_fairseq_has_its_ids_and_one_of_others_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    path.write_text("the 120\n, 99\nhou@@ 7\nmadeupword0000 0\n")
    of_fairseq = ["<s>", "<pad>", "</s>", "<unk>", "the", ",", "hou@@", "madeupword0000"]
    assert read_vocabulary(path, "key") == of_fairseq
    tokenizer = vocabulary_tokenizer(path, vocabulary_size=8, marker="subword_nmt")
    assert (tokenizer.bos_id, tokenizer.pad_id, tokenizer.eos_id, tokenizer.special.unk) == (0, 1, 2, 3)
    assert tokenizer.encode_batch(["the hou@@ ses , <unk>"]) == [[4, 6, 3, 5, 3]]
    path.write_text("<unk>\t0\n<s>\t0\n</s>\t0\n▁the\t-3.1\ns\t-4\n")
    assert read_vocabulary(path, "key") == [*SPECIAL_SYMBOLS, "▁the", "s"]


@pytest.mark.parametrize(
    ("content", "size", "complaint"),
    [
        ("a@@ 1\nb 1\na@@ 1\n", 9, "tokenizer.vocabulary: {path}, line 3: line 1 has the piece a@@ too"),
        ("a@@ 1\n\nb\n", 9, "tokenizer.vocabulary: {path}, line 2: no piece"),
        ("a@@ 1\n<s> 3 #fairseq:overwrite\n", 9, "tokenizer.vocabulary: {path}, line 2: <s> would have two entries"),
        ("a@@ 1\nb 1\n", 5, "tokenizer.vocabulary_size=5: {path} has 6 entries"),
        ("a 1\nb 1\n", 9, "tokenizer.marker=subword_nmt: no piece of {path} has its mark @@; give text that is split"),
        ("▁a 1\nb 1\n", 9, "tokenizer.marker=subword_nmt: no piece of {path} .*; take tokenizer.marker=sentencepiece"),
        ("", 9, "tokenizer.vocabulary: {path} is empty; fetch it again"),
        (None, 9, "tokenizer.vocabulary: {path} cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, size: int, complaint: str) -> None:
    path = tmp_path / "dict.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match="^" + complaint.format(path=path)) as caught:
        vocabulary_tokenizer(path, vocabulary_size=size, marker="subword_nmt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["vocab.yml", "source.spm", "spm.model", "vocab.json"])
def test_a_vocabulary_in_another_format_is_refused_with_those_that_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a@@: 1\n")
    with pytest.raises(
        UserError, match=rf"^tokenizer.vocabulary: .*/{name} is no list of pieces; give fairseq's dict.txt"
    ):
        vocabulary_tokenizer(tmp_path / name, vocabulary_size=9, marker="subword_nmt")


def test_a_smaller_vocabulary_has_the_most_frequent_pieces(marker: PieceMarker) -> None:
    lines = ["c b a", "b a", "a", f"a {MARKS[marker]}"]
    tokenizer = GivenTokenizer.train([(lines, lines)], vocabulary_size=6, marker=marker)
    assert tokenizer.pieces == [*SPECIAL_SYMBOLS, "a", "b"]


def test_held_out_text_is_kept_in_words(
    sentences: list[tuple[str, str]], pairs_corpus: Callable[..., Any], tmp_path: Path
) -> None:
    lines = with_merges([*chain(*sentences)], "subword_nmt")
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    corpus = pairs_corpus(pairs[:-20], pairs[-20:-10], pairs[-10:])

    def prepared(**given: Any) -> Any:
        pieces = GivenPieces("subword_nmt", **given)
        settings = PreparationSettings(2_000, 200, "given", pretokenized=True, given=pieces)
        return prepare(corpus, settings=settings, cache=tmp_path / "cache")

    data = prepared()
    split = data.split("dev")
    assert list(zip(split.source_lines(), split.target_lines(), strict=True)) == sentences[-20:-10]
    assert data.tokenizer.decode_batch(ids[:-1] for ids in split.source) == split.source_lines()
    assert [len(ids) - 1 for ids in split.target] == [len(target.split(" ")) for _, target in pairs[-20:-10]]
    vocabulary = tmp_path / "dict.txt"
    vocabulary.write_text("".join(f"{piece} 1\n" for piece in data.tokenizer.pieces[:3:-1]))
    others = prepared(vocabulary=vocabulary)
    assert others.directory != data.directory
    assert others.tokenizer.pieces[4:] == data.tokenizer.pieces[:3:-1]
    assert prepared(vocabulary=vocabulary).directory == others.directory
    vocabulary.write_text(vocabulary.read_text() + "more 1\n")
    assert prepared(vocabulary=vocabulary).directory != others.directory, "the content of the file counts"
    vocabulary.write_text("the 1\n, 1\nx@@ 1\n")
    with pytest.raises(
        UserError, match=rf"^tokenizer\.vocabulary={vocabulary}: lacks \d\d% of the first training pairs"
    ):
        prepared(vocabulary=vocabulary)
