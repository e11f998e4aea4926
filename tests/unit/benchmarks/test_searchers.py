"""Our own contender of the decoding contest."""

from pathlib import Path

import pytest
from tiny import ARCHITECTURE

from contest import Contender, contest


@pytest.mark.long
def test_our_search_takes_part(tmp_path: Path) -> None:
    settings = {
        "work": str(tmp_path),
        "architecture": vars(ARCHITECTURE),
        "vocabulary_size": 23,
        "sentences": 2,
        "length": 4,
        "beam": 2,
    }
    contender = Contender("aiayn", "searchers:aiayn")
    answers, failed = contest([contender], settings, rounds=1, warm_up=0, threads=1)
    assert not failed
    assert [answer.work for answer in answers["aiayn"]] == [2], "sentences"
