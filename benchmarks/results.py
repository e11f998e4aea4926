"""Rows of measured numbers, judged by their marks, kept as JSON that a part can be measured anew in."""

import dataclasses
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aiayn.runs import hardware, provenance
from aiayn.system import files
from contest import Spread


@dataclass(frozen=True)
class Mark:
    """What a number is to reach."""

    bound: float
    of: Literal["ratio", "value"] = "ratio"
    sense: Literal["at least", "at most"] = "at least"

    def __str__(self) -> str:
        return f"{self.sense} {self.bound:g}{'x' * (self.of == 'ratio')}"

    def is_met(self, number: float) -> bool:
        """Whether a number is on the right side."""
        return number >= self.bound if self.sense == "at least" else number <= self.bound


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    table: str
    contender: str
    value: float | None = None
    """None: it could not be measured; the note says why."""
    unit: str = ""
    ratio: Spread | None = None
    """To the table's reference, over the rounds."""
    cpu_ratio: float | None = None
    """The same by processor time, which other programs hardly disturb; the median."""
    rounds: int = 0
    mark: Mark | None = None
    note: str = ""

    @property
    def reached(self) -> str:
        """The number that is judged, as it is shown."""
        if self.mark is not None and self.mark.of == "ratio":
            return f"{self.ratio.median:.2f}x" if self.ratio else ""
        return "" if self.value is None else f"{shown(self.value)} {self.unit}".rstrip()

    @property
    def met(self) -> bool | None:
        """Whether the mark is reached; None where there is none, or nothing to judge."""
        number = self.value if self.mark is None or self.mark.of == "value" else self.ratio and self.ratio.median
        return None if self.mark is None or number is None else self.mark.is_met(number)


def row_of(content: Mapping[str, Any]) -> Row:
    """A row as `dataclasses.asdict` wrote it."""
    ratio, mark = content["ratio"], content["mark"]
    return Row(**{**content, "ratio": ratio and Spread(*ratio), "mark": mark and Mark(**mark)})


def row_of_figures(table: str, figures: Mapping[str, Any], mark: Mark | None) -> Row:
    """A row of named figures: `what` they are of, its `seconds`, a `ratio` or how much it is `of the imports`.

    The others become a note.
    """
    rest = dict(figures)
    what, seconds = rest.pop("what"), rest.pop("seconds", None)
    ratio = rest.pop("ratio", rest.pop("of the imports", None))
    note = ", ".join(f"{value:,} {name}" for name, value in rest.items())
    return Row(table, what, seconds, "s", None if ratio is None else Spread(ratio, ratio, ratio), mark=mark, note=note)


def merge(
    path: Path, subject: str, rows: Sequence[Row], *, command: str, seconds: float, peers: Mapping[str, str]
) -> None:
    """Replace a subject's rows of this make of processor; the file is whole before and after."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = read(path)
    code = provenance.code_version((*provenance.SOURCES, "benchmarks"))
    processor = f"{hardware.processor()}{_generation()}"
    others = [each for each in content.get(subject, []) if each["machine"]["processor"] != processor]
    measured = {
        "command": command,
        "seconds": seconds,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": f"{(code.commit or 'unknown')[:12]}{', with changes' if code.dirty else ''}",
        "machine": {**hardware.hardware(), "processor": processor},
        "versions": {**provenance.versions(), **peers},
        "rows": [dataclasses.asdict(row) for row in rows],
    }
    content[subject] = [measured, *others]
    files.write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _generation() -> str:
    """Family and model, where Linux states them: virtual machines call several generations AMD EPYC."""
    stated = hardware.processor_facts()
    if not {"cpu family", "model"} <= stated.keys():
        return ""
    return f" (family {stated['cpu family']}, model {stated['model']})"


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every subject measured so far, the newest make of processor first."""
    content: dict[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


def tables(rows: Sequence[Row], *, where: str = "") -> str:
    """Rows as Markdown, a table for each title; `where` is added to the titles."""
    lines = []
    for title in dict.fromkeys(row.table for row in rows):
        lines += [
            "",
            f"### {title}{where}",
            "",
            "| | value | ratio | quartiles | by CPU time | rounds | target | met |",
            "|---|" + "---:|" * 7,
        ]
        lines += [f"| {' | '.join(_cells(row))} |" for row in rows if row.table == title]
    return "\n".join(lines[1:])


def _cells(row: Row) -> list[str]:
    name = f"{row.contender} ({row.note})" if row.note else row.contender
    return [
        name,
        "" if row.value is None else f"{shown(row.value)} {row.unit}".rstrip(),
        f"{row.ratio.median:.2f}" if row.ratio else "",
        f"{row.ratio.low:.2f} to {row.ratio.high:.2f}" if row.ratio and row.rounds > 1 else "",
        "" if row.cpu_ratio is None else f"{row.cpu_ratio:.2f}",
        str(row.rounds) if row.rounds else "",
        str(row.mark or ""),
        "" if row.met is None else "yes" if row.met else "**no**",
    ]


def shown(value: float) -> str:
    """Three digits that count, or whole numbers."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
