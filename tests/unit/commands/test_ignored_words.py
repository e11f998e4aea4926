"""Words that would have no effect beside the others are refused in one line that names them."""

import pytest

from aiayn.commands.front_end import main
from aiayn.commands.words import refuse_ignored


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("train seed=1 seed=2", "seed=1 seed=2"),
        ("train experiment=table3/base scale=nano experiment=table3/big", "experiment=table3/big"),
        ("train -m seed=1,2 seed=3", "seed=1,2 seed=3"),
        ("compare run=a run=b against=c", "run=a run=b"),
        ("report table3 output=a.md output=b.md", "output=b.md"),
        ("publish run=x output=y private=true", "private=true"),
        ("publish run=x output=y private=true repository=null", "private=true"),
        ("status interval=5", "interval=5"),
        ("status interval=5 watch=false", "interval=5"),
        ("status --config-dir ''", "--config-dir"),
    ],
)
def test_what_would_be_ignored_is_refused(line: str, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["" if word == "''" else word for word in line.split()]
    assert main(words) == 2
    said = capsys.readouterr()
    assert not said.out
    (refusal,) = said.err.splitlines()
    assert refusal.startswith("aiayn: ")
    assert key in refusal


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("train", "seed=1 seed=1 model.dropout=0.1 model.dropout=0.2 +trainer.x=1"),
        ("status", "watch=true interval=5"),
        ("publish", "repository=me/model private=false"),
        ("replay", "check=records"),
        ("replay", "record=x mode=score"),
        ("evaluate", "mode=x interval=5 private=true"),
    ],
)
def test_other_words_are_taken(verb: str, words: str) -> None:
    refuse_ignored(verb, words.split())
