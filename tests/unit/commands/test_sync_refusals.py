"""`aiayn sync` refuses mistakes in one line before it connects to W&B."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CommandLine = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "blamed"),
    [
        (["retries=0"], "retries=0"),
        (["timeout=0"], "timeout=0"),
        (["paths.runs=nowhere"], "paths.runs=nowhere"),
        (["run=nowhere"], "run=nowhere"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_line(aiayn: CommandLine, words: list[str], blamed: str) -> None:
    said = aiayn("sync", *words)
    assert (said.code, said.out) == (2, "")
    (line,) = said.err.splitlines()
    assert blamed in line


def test_without_data_to_send_no_login_is_needed(aiayn: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    said = aiayn("sync")
    assert (said.code, said.err) == (0, "")
    assert "nothing to send" in said.out
