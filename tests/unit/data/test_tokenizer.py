"""The tokenizer is lossless, and training is deterministic."""

import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ordinary_user import ordinary_user
from tokenizers import Tokenizer, pre_tokenizers

from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.lines import file_lines
from aiayn.data.tokenizer import SubwordTokenizer, TokenizerKind
from aiayn.data.vocabulary import load_tokenizer
from aiayn.errors import UserError

KINDS: list[TokenizerKind] = ["byte_pair", "word_piece"]
SMALLEST: dict[TokenizerKind, int] = {"byte_pair": 3 + 256, "word_piece": 3 + 2 * 256}
LINES = ["the small dog sleeps in the small house", "der kleine Hund schläft im kleinen Haus"] * 20

# Python's own tables of the normal forms know nothing of code points assigned later: those are left out.
any_text = st.lists(
    st.sampled_from(["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "‿", "</s>", " ", "\x85", "\xa0"])
    | st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=20)
).map("".join)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> TokenizerKind:
    return {each: each for each in KINDS}[request.param]


@pytest.fixture(scope="module", params=[False, True], ids=["raw", "pretokenized"])
def pretokenized(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def tokenizer(kind: TokenizerKind, pretokenized: bool) -> SubwordTokenizer:
    return trained(LINES, kind, pretokenized, pieces=41)


def trained(lines: list[str], kind: TokenizerKind, pretokenized: bool, pieces: int) -> SubwordTokenizer:
    """Train a tokenizer with some pieces besides the bytes."""
    size = SMALLEST[kind] + pieces
    return SubwordTokenizer.train(lines, vocabulary_size=size, kind=kind, pretokenized=pretokenized)


@given(any_text)
@example("")
@example("  two  spaces, leading and trailing \t ")
@example("⟨pad⟩⟨eos⟩ ⟨bos⟩ Ġ")
@example("‿a‿ ‿‿ ▁ ##s")
@example("x" * 63 + "ä" * 99 + " " * 130)
@example("\x00\x1b\x7f\r\n\u2028\ufeff")
@example("a\u0301 \u1100\u1161")
def test_decoding_an_encoded_line_gives_the_line(tokenizer: SubwordTokenizer, line: str) -> None:
    [ids] = tokenizer.encode_batch([line])
    assert tokenizer.decode(ids) == unicodedata.normalize("NFC", line)
    assert all(tokenizer.eos_id < token < tokenizer.vocabulary_size for token in ids)


@pytest.fixture(scope="module")
def file_itself(tokenizer: SubwordTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """The saved file read by the library alone."""
    path = tmp_path_factory.mktemp("saved") / "tokenizer.json"
    tokenizer.save(path)
    return Tokenizer.from_file(str(path))


@given(any_text)
@example("a ⟨eos⟩ b⟨pad⟩ ⟨bos⟩ ‿the </s> <s> [UNK]")
def test_other_readers_of_the_file_lose_no_text(tokenizer: SubwordTokenizer, file_itself: Tokenizer, line: str) -> None:
    encoding = file_itself.encode(line)
    assert [encoding.ids] == tokenizer.encode_batch([line])
    assert not {"⟨pad⟩", "⟨bos⟩", "⟨eos⟩"} & {*encoding.tokens}
    vocabulary = file_itself.get_vocab()
    marked = [tokenizer.bos_id, *map(vocabulary.__getitem__, encoding.tokens), tokenizer.eos_id]
    for skips in True, False:
        assert file_itself.decode(marked, skip_special_tokens=skips) == unicodedata.normalize("NFC", line)


@given(st.lists(any_text, max_size=5))
def test_a_batch_is_encoded_as_its_lines(tokenizer: SubwordTokenizer, lines: list[str]) -> None:
    encoded = tokenizer.encode_batch(lines)
    assert encoded == [ids for line in lines for ids in tokenizer.encode_batch([line])]
    assert tokenizer.decode_batch(encoded) == [tokenizer.decode(ids) for ids in encoded]


def test_special_tokens_and_ids_beyond_the_vocabulary_have_no_text(tokenizer: SubwordTokenizer) -> None:
    [ids] = tokenizer.encode_batch(["der Hund"])
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 1, 2)
    assert tokenizer.decode([1, *ids, 2, 0, tokenizer.vocabulary_size, 40_959]) == "der Hund"


def test_text_spelled_like_a_special_token_is_learned_as_text(kind: TokenizerKind, pretokenized: bool) -> None:
    for special in "⟨pad⟩", "<pad>":
        tokenizer = trained([f"{special} {special}"] * 99, kind, pretokenized, pieces=40)
        [ids] = tokenizer.encode_batch([f"{special} {special}"])
        assert len(ids) < 12, "its pieces were learned"
        assert min(ids) > tokenizer.eos_id
        assert tokenizer.decode(ids) == f"{special} {special}"


def test_the_vocabulary_has_the_requested_size(
    kind: TokenizerKind, pretokenized: bool, tokenizer: SubwordTokenizer
) -> None:
    bytes_only = trained(LINES, kind, pretokenized, pieces=0)
    assert (bytes_only.vocabulary_size, tokenizer.vocabulary_size) == (SMALLEST[kind], SMALLEST[kind] + 41)
    assert [len(ids) for ids in bytes_only.encode_batch(LINES[:2])] == [len(line.encode()) for line in LINES[:2]]
    assert all(len(ids) < len(line) / 2 for ids, line in zip(tokenizer.encode_batch(LINES), LINES, strict=True))
    assert trained(["ab"], kind, pretokenized, pieces=99).vocabulary_size == SMALLEST[kind] + 1, "what the text yields"


def test_a_vocabulary_without_room_for_the_bytes_is_refused(kind: TokenizerKind) -> None:
    least = SMALLEST[kind]
    with pytest.raises(UserError, match=rf"tokenizer\.vocabulary_size={least - 1} .*{kind}.*{least} or more") as caught:
        trained(LINES, kind, pretokenized=False, pieces=-1)
    assert "\n" not in str(caught.value)


# Spaces, letters of one and more bytes, and what a tokenizer for raw text would cut at.
few_signs = st.text(st.sampled_from("  themsalHu‿ä\t.'"), max_size=40)


@given(few_signs)
@example("the  dog's   house ")
def test_pretokenized_words_are_split_at_spaces_only(kind: TokenizerKind, line: str) -> None:
    tokenizer = trained(["it's\t(a) the.house"] * 20, kind, pretokenized=True, pieces=99)
    words = re.findall(" [^ ]*|[^ ]+", line)
    assert tokenizer.encode_batch([line])[0] == [ids for word in words for ids in tokenizer.encode_batch([word])[0]]
    assert [len(ids) for ids in tokenizer.encode_batch(["it's\t(a)", " the.house"])] == [1, 1]


@given(few_signs | st.text(st.sampled_from("them"), max_size=200))
def test_word_pieces_are_the_longest_that_match(line: str) -> None:
    tokenizer = trained(LINES, "word_piece", pretokenized=True, pieces=60)
    pieces = {piece: number for number, piece in enumerate(tokenizer.pieces)}
    expected: list[int] = []
    symbols = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(line)
    for word in re.findall("Ġ[^Ġ]*|[^Ġ]+", "".join(part for part, _ in symbols)):
        for start in range(0, len(word), 64):
            part, done = word[start : start + 64], 0
            while done < len(part):
                prefix = "‿" if done else ""
                end = max(end for end in range(done + 1, len(part) + 1) if prefix + part[done:end] in pieces)
                expected.append(pieces[prefix + part[done:end]])
                done = end
    assert tokenizer.encode_batch([line]) == [expected]


# Words and marks

WORDS = {
    "hi": "वह दिन ज्ञान किताबें पढ़ता हिन्दी क्\u200dष",
    "bn": "আমি বাংলায় পড়ি বিদ্যালয়ে",
    "ta": "தமிழ் மொழியில் படிக்கிறேன்",
    "ml": "അവന്\u200d മലയാളം",
    "my": "မြန်မာ ဘာသာ",
    "th": "ป่าอยู่ไกล ป้าน้ำ",
    "he": "שָׁלוֹם עֲלֵיכֶם",
    "ar": "كِتَابٌ مُدَرِّسٌ",
    "fa": "می\u200cخواهم کتاب\u200cها",
    "yo": "ẹ́gbọ́n ọ̀rọ̀",
    "apostrophe": "'s\u0329oro",
}


@pytest.mark.parametrize("language", WORDS)
def test_a_word_keeps_its_combining_marks(kind: TokenizerKind, language: str) -> None:
    words = [f" {word}" for word in unicodedata.normalize("NFC", WORDS[language]).removeprefix("'").split()]
    tokenizer = trained([f"x{''.join(words)}, 12{words[0]}."] * 50, kind, pretokenized=False, pieces=300)
    assert [len(ids) for ids in tokenizer.encode_batch(words)] == [1] * len(words)
    line = f"x{''.join(words)}, 12{words[0]}."
    ends = [*tokenizer.word_starts(line), len(line)]
    expected = ["x", *words, ",", " 12", words[0], "."]
    assert [line[start:end] for start, end in pairwise(ends)] == expected
    assert tokenizer.decode(tokenizer.encode_batch([line])[0]) == unicodedata.normalize("NFC", line)


@given(any_text)
@example("it's 's\u0329 e\u0323\u0301x \u200c\u200d क्\u200d 1\ufe0f\u20e3 ✔\ufe0f")
def test_no_word_begins_between_a_letter_and_its_mark(line: str) -> None:
    starts = trained(LINES, "byte_pair", pretokenized=False, pieces=0).word_starts(line)
    assert starts == sorted({*starts})
    assert not [start for start in starts if start and kinds(line[start - 1 : start + 1]) == "LM"]


@given(any_text)
@example("don't  we'll ✔\ufe0f 1\ufe0f\u20e3 Einträge\u200c in \u0301")
def test_text_without_marks_in_words_is_split_as_by_earlier_versions(line: str) -> None:
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    starts = [start for _, (start, _) in splitter.pre_tokenize_str(line)]
    found = trained(LINES, "byte_pair", pretokenized=False, pieces=0).word_starts(line)
    assert found == starts or re.search("LM|LJ[LM]", kinds(line))


def kinds(line: str) -> str:
    """A letter for each character: L letters, M marks, J joiners, and others."""
    return "".join("J" if each in "\u200c\u200d" else unicodedata.category(each)[0] for each in line)


def test_a_tokenizer_of_text_without_marks_in_words_is_saved_as_by_earlier_versions(kind: TokenizerKind) -> None:
    lines = [*LINES, "✔\ufe0f 1\ufe0f\u20e3 Einträge\u200c in", "a\u030a"]
    assert "Split" not in json.dumps(splitter_of(trained(lines, "byte_pair", pretokenized=False, pieces=41)))
    new = splitter_of(trained([*lines, "दिन"], "byte_pair", pretokenized=False, pieces=41))
    assert "Split" in json.dumps(new)


def splitter_of(tokenizer: SubwordTokenizer) -> object:
    with TemporaryDirectory() as folder:
        tokenizer.save(Path(folder) / "tokenizer.json")
        return json.loads((Path(folder) / "tokenizer.json").read_bytes())["pre_tokenizer"]


RECORDED: dict[tuple[str, TokenizerKind, int], tuple[str, str]] = {
    ("grammar 1000", "byte_pair", 1480): (
        "f1e8ca08758678acdf6b4927d5d02ea8f7a0f35fa84c056e16c5f4cc14d97191",
        "39721ac23cd924d232921264072387bff88c16655824d9ea526360b3ebad206b",
    ),
    ("grammar 1000", "word_piece", 1280): (
        "704f21de41cedaa5fccadb770038c1f1419073bfa6733354c491559744580220",
        "0f4d35641494a5a90b30936bfdc4952ee4a115bc65ffcfb30a35465faa3aa78b",
    ),
    ("grammar 20000", "byte_pair", 1480): (
        "c5c0cdb10a2687f72600ef59a65e07a9d861ebbf070f99becf5c4ec1ff927a25",
        "9730767dff7849ead52dd65318e674bbb3a6e396b26419487084d0fc369de405",
    ),
    ("grammar 20000", "word_piece", 1280): (
        "5c1c3c2287f89ac94d25d9d13e530cfef8d500fa578cfaa8d2339fbd8a0f0234",
        "b3723d337f4748138997248b55f6ea8a6f0637c0da42dda98a26a92d71f9c5c6",
    ),
    ("multi30k", "byte_pair", 8000): (
        "b1dd5241b2c3ea3771cae24ba333e80b11cb896e5ae87749a534c2f40467a399",
        "6eb1db31a4242f38a80c4326206f4f010e7bb1ee35df17742b18af758395832e",
    ),
    ("docs news multi30k", "byte_pair", 8000): (
        "b5e0bbf217752bbaa6265b1bc05947622a9e9c5b516cab7fda394828a3519553",
        "2225f4c036c19d52bd641855efca215a8722f8ec9942a036d6ce30cf1b9f3b33",
    ),
}
"""Checksum of the tokenizer, and SHA-256 of all ids, by the version that made the recorded runs."""


@pytest.mark.parametrize(
    "recorded",
    [pytest.param(each, marks=() if each[0] == "grammar 1000" else pytest.mark.long) for each in RECORDED],
    ids=lambda each: f"{each[0]} {each[1]}",
)
def test_the_vocabularies_and_ids_of_recorded_runs_stay(
    recorded: tuple[str, TokenizerKind, int], request: pytest.FixtureRequest
) -> None:
    name, kind, size = recorded
    if name.startswith("grammar"):
        sentences = int(name.removeprefix("grammar "))
        corpus = GrammarCorpus(sentences=sentences, dev_sentences=1_000, test_sentences=400, seed=2017)
        lines = [line for row in corpus.rows("train") for line in row[:2]]
    else:
        folder = Path(request.getfixturevalue("aiayn_data"))
        parts = [folder / part / f"train.{language}.gz" for language in ("en", "de") for part in name.split()]
        lines = [line for part in parts for line in file_lines(part, "text")]
    tokenizer = SubwordTokenizer.train(lines, vocabulary_size=size, kind=kind)
    ids = hashlib.sha256(json.dumps(tokenizer.encode_batch(lines)).encode()).hexdigest()
    assert (tokenizer.checksum, ids) == RECORDED[recorded]


TRAIN_ALL = """
import json, pathlib, sys
from aiayn.data.tokenizer import SubwordTokenizer
folder = pathlib.Path(sys.argv[1])
lines = (folder / "lines").read_text(encoding="utf-8").split("\\n")
for name, options in json.loads(sys.argv[2]).items():
    SubwordTokenizer.train(lines, **options).save(folder / f"{name}-{sys.argv[3]}.json")
"""


def test_training_is_deterministic(tmp_path: Path) -> None:
    """In other processes, with other hashes and numbers of threads."""
    (tmp_path / "lines").write_text("\n".join(LINES), encoding="utf-8")
    named = {f"{kind}-{pretokenized}": (kind, pretokenized) for kind in KINDS for pretokenized in (False, True)}
    options = {
        name: {"vocabulary_size": SMALLEST[kind] + 41, "kind": kind, "pretokenized": pretokenized}
        for name, (kind, pretokenized) in named.items()
    }
    for threads in "1", "3":
        environment = {**os.environ, "PYTHONHASHSEED": threads, "RAYON_NUM_THREADS": threads}
        command = [sys.executable, "-c", TRAIN_ALL, str(tmp_path), json.dumps(options), threads]
        subprocess.run(command, env=environment, check=True)
    for name, (kind, pretokenized) in named.items():
        trained(LINES, kind, pretokenized, pieces=41).save(tmp_path / "here.json")
        for threads in "1", "3":
            assert (tmp_path / f"{name}-{threads}.json").read_bytes() == (tmp_path / "here.json").read_bytes(), name


def test_saving_pickling_and_loading_change_nothing(tmp_path: Path, tokenizer: SubwordTokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("what was here before")
    tokenizer.save(path)
    texts = [*LINES[:2], "⟨pad⟩ ⟨eos⟩", "ÅÄÖ a\u030a"]
    for copy in load_tokenizer(path), pickle.loads(pickle.dumps(tokenizer)):
        assert copy.checksum == tokenizer.checksum
        assert copy.encode_batch(texts) == tokenizer.encode_batch(texts)
    assert list(tmp_path.iterdir()) == [path], "no temporary file remains"


@pytest.mark.parametrize(
    "content", [None, "", "[]", '{"model": {"type": "BPE"}}', b"\xff\xfe", '{"kind": "symbols"}', '{"version": 1}']
)
def test_other_files_are_refused(tmp_path: Path, content: str | bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=r"tokenizer\.json") as caught:
        load_tokenizer(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_may_not_be_read_is_not_a_wrong_one(tmp_path: Path, tokenizer: SubwordTokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    path.chmod(0)
    with pytest.raises(UserError, match=r"tokenizer\.json: cannot be read \(Permission denied\)"), ordinary_user():
        load_tokenizer(path)


LARGE = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "⟨pad⟩"}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["padding"], LARGE),
        (["truncation"], {"max_length": 0, "strategy": "LongestFirst", "stride": 5, "direction": "Right"}),
        (["normalizer"], {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        (["normalizer"], None),
        (["pre_tokenizer"], {"type": "Split", "pattern": {"Regex": "(a*)*b"}, "behavior": "Isolated", "invert": False}),
        (["decoder"], None),
        (["model", "vocab", "⟨pad⟩"], -1),
        (["model", "vocab", "⟨pad⟩"], "0"),
        (["model", "vocab", "日"], 1),
        (["model", "unk_token"], "a"),
        (["model", "dropout"], 0.5),
        (["model", "merges"], [["no", "such"]]),
        (["model", "merges"], 3),
    ],
    ids=str,
)
def test_a_file_with_other_parts_is_refused(
    place: list[str], value: object, tmp_path: Path, tokenizer: SubwordTokenizer
) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    document = json.loads(path.read_text())
    container = document
    for key in place[:-1]:
        container = container[key]
    container[place[-1]] = value
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer of this project"):
        load_tokenizer(path)


def test_a_file_with_added_tokens_is_refused(tmp_path: Path, tokenizer: SubwordTokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    file_itself = Tokenizer.from_file(str(path))
    file_itself.add_special_tokens(["⟨pad⟩", "⟨bos⟩", "⟨eos⟩"])
    file_itself.save(str(path))
    with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer of this project"):
        load_tokenizer(path)


@pytest.mark.parametrize("setting", [None, "true"])
def test_a_forked_child_encodes_without_a_warning_or_a_deadlock(setting: str | None) -> None:
    program = """
import os
from aiayn.data.tokenizer import SubwordTokenizer
tokenizer = SubwordTokenizer.train(["a b", "b c"] * 50, vocabulary_size=262)
before = tokenizer.encode_batch(["a b"] * 100)
if child := os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0 if tokenizer.encode_batch(["a b"] * 100) == before else 3)
"""
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    environment |= {"TOKENIZERS_PARALLELISM": setting} if setting else {}
    # From 3.12 on Python itself warns of any fork beside threads; what is asked is whether the tokenizer does.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_pieces_are_the_vocabulary_in_order(tokenizer: SubwordTokenizer) -> None:
    pieces = tokenizer.pieces
    assert len(set(pieces)) == len(pieces) == tokenizer.vocabulary_size
    assert pieces[:3] == ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩"]
    (ids,) = tokenizer.encode_batch(["the dog"])
    assert "".join(pieces[number] for number in ids).replace("‿", "").replace("Ġ", " ") == "the dog"
