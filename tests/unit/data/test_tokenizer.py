"""The tokenizer loses no text, and the same text always gives the same tokenizer."""

import os
import pickle
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiayn.config.errors import UserError
from aiayn.data.tokenizer import SubwordTokenizer

LINES = ["the small dog sleeps in the small house", "der kleine Hund schläft im kleinen Haus"] * 20

# Python's own tables of the normal forms know nothing of code points assigned later: those are left out.
any_text = st.text(st.characters(exclude_categories=["Cs", "Cn"]))


@pytest.fixture(scope="module")
def tokenizer() -> SubwordTokenizer:
    return SubwordTokenizer.train(LINES, vocabulary_size=300)


@given(any_text)
@example("")
@example("  two  spaces, leading and trailing \t ")
@example("<pad><eos> <bos> Ġ")
@example("\x00\x1b\x7f\r\n\u2028\ufeff")
@example("a\u0301 \u1100\u1161")
def test_decoding_an_encoded_line_gives_the_line(tokenizer: SubwordTokenizer, line: str) -> None:
    [ids] = tokenizer.encode_batch([line])
    assert tokenizer.decode(ids) == unicodedata.normalize("NFC", line)
    assert all(tokenizer.eos_id < token < tokenizer.vocabulary_size for token in ids)


@given(st.lists(any_text, max_size=5))
def test_batches_are_their_lines(tokenizer: SubwordTokenizer, lines: list[str]) -> None:
    encoded = tokenizer.encode_batch(lines)
    assert encoded == [ids for line in lines for ids in tokenizer.encode_batch([line])]
    assert tokenizer.decode_batch(encoded) == [tokenizer.decode(ids) for ids in encoded]


def test_special_tokens_and_ids_beyond_the_vocabulary_are_no_text(tokenizer: SubwordTokenizer) -> None:
    [ids] = tokenizer.encode_batch(["der Hund"])
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 1, 2)
    assert tokenizer.decode([1, *ids, 2, 0, tokenizer.vocabulary_size, 40_959]) == "der Hund"


def test_merges_are_learned_up_to_the_vocabulary_asked_for(tokenizer: SubwordTokenizer) -> None:
    bytes_only = SubwordTokenizer.train(LINES, vocabulary_size=259)
    assert (bytes_only.vocabulary_size, tokenizer.vocabulary_size) == (259, 300)
    assert [len(ids) for ids in bytes_only.encode_batch(LINES[:2])] == [len(line.encode()) for line in LINES[:2]]
    assert all(len(ids) < len(line) / 2 for ids, line in zip(tokenizer.encode_batch(LINES), LINES, strict=True))
    assert SubwordTokenizer.train(["ab"], vocabulary_size=1_000).vocabulary_size == 260, "no more than the text yields"


def test_a_vocabulary_without_room_for_the_bytes_is_refused() -> None:
    with pytest.raises(UserError, match=r"tokenizer\.vocabulary_size=258 .*259") as caught:
        SubwordTokenizer.train(LINES, vocabulary_size=258)
    assert "\n" not in str(caught.value)


def test_training_is_deterministic(tmp_path: Path, tokenizer: SubwordTokenizer) -> None:
    tokenizer.save(tmp_path / "here.json")
    program = (
        "import sys, pathlib; from aiayn.data.tokenizer import SubwordTokenizer\n"
        "lines = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8').split('\\n')\n"
        "SubwordTokenizer.train(lines, vocabulary_size=300).save(pathlib.Path(sys.argv[2]))"
    )
    (tmp_path / "lines").write_text("\n".join(LINES), encoding="utf-8")
    for threads in "1", "3":
        environment = {**os.environ, "PYTHONHASHSEED": threads, "RAYON_NUM_THREADS": threads}
        path = tmp_path / f"{threads}.json"
        subprocess.run([sys.executable, "-c", program, tmp_path / "lines", path], env=environment, check=True)
        assert path.read_bytes() == (tmp_path / "here.json").read_bytes()


def test_saving_pickling_and_loading_change_nothing(tmp_path: Path, tokenizer: SubwordTokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("what was here before")
    tokenizer.save(path)
    texts = [*LINES[:2], "<pad> <eos>", "ÅÄÖ a\u030a"]
    for copy in SubwordTokenizer.load(path), pickle.loads(pickle.dumps(tokenizer)):
        assert copy.encode_batch(texts) == tokenizer.encode_batch(texts)
    assert list(tmp_path.iterdir()) == [path], "nothing stays beside it"


@pytest.mark.parametrize("content", [None, "", "[]", '{"model": {"type": "BPE"}}', b"\xff\xfe"])
def test_what_is_no_tokenizer_is_refused_by_its_path(tmp_path: Path, content: str | bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=r"tokenizer\.json") as caught:
        SubwordTokenizer.load(path)
    assert "\n" not in str(caught.value)


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
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
