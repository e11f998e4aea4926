"""The walk in docs/architecture.md from a command line to the constructor is the one that the code takes."""

import inspect
import re
from pathlib import Path

from commands import Train

import aiayn
from aiayn.models.attention import DotProduct

PACKAGE = Path(aiayn.__file__).parent
CONSTRUCTOR = "models/transformer.py"

seen: list[str] = []


class Seen(DotProduct):
    """An attention function of the user's own that notes which files of the package lead to it."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__(scale=d_k**-0.5)
        if not seen:  # later the evaluation makes another
            files = (Path(frame.filename) for frame in reversed(inspect.stack()))
            seen.extend(dict.fromkeys(str(file.relative_to(PACKAGE)) for file in files if file.is_relative_to(PACKAGE)))


def walk(title: str) -> list[str]:
    """The files in the first column of the table under a heading."""
    text = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    cells = (line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    return [file for cell in cells for file in re.findall(r"`([^`]+\.py)`", cell)]


def test_from_the_command_line_to_the_constructor(train: Train) -> None:
    seen.clear()
    assert train("optimization.max_steps=1", "model.attention=test_walks:Seen") == 0
    documented = walk("Walk: a word of the command line to the constructor")
    assert len(documented) == 11
    on_the_way = seen[: seen.index(CONSTRUCTOR) + 1]
    assert [file for file in documented if file in on_the_way] == on_the_way
