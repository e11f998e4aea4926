"""What was measured, as one Markdown page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from results import Row, row_of, shown

INTRODUCTION = """\
# Performance

`make bench` writes this page; all numbers are written by the program. Contenders take turns, each in a process of its
own, on the same batches. Load from other programs affects all contenders, so compare ratios. A *ratio* is the median
over the rounds.

- `make bench` measures everything; `make bench BENCH="training decoding"` measures those subjects again on the present
  make of processor, and keeps the rest. The subjects: {subjects}.
- `AIAYN_DATA` names the folder of real text; without it, generated sentences replace it, and a table says so.
- Other libraries are installed into `.venv-peers` from `benchmarks/requirements-peers.txt`. A library that cannot be
  installed is left out of the tables, with a note.
- The tables are of the processor measured last. The rows are in `docs/results/performance.json`, with those of other
  processors, quartiles, ratios by CPU time, shares of the speed of matrix products, larger beams and other lengths.
"""

RECIPE = """\
## Profile of a step

    AIAYN_DATA=... .venv/bin/python benchmarks/profile_step.py [--model small] [--threads 2]

prints the operations that take the time of a training step, and the share of matrix products among them. Lightning's
profiler shows the time outside the steps: `aiayn train trainer.profiler=simple`, or `advanced`, or `pytorch`.
"""

FURTHER = re.compile(r"Share of the ceiling|Beam (8|16),|Beam 4, 16 sentences")
"""How tables begin that are in the JSON file only."""


def markdown(content: Mapping[str, Any], subjects: Mapping[str, str]) -> str:
    """The page.

    Args:
        content: of the JSON file, by subject, the newest make of processor first.
        subjects: all there are, in order, and what each is about.
    """
    names = ", ".join(f"`{name}`" for name in subjects)
    measured = [(name, each) for name in subjects for each in content.get(name, ())]
    parts = [INTRODUCTION.format(subjects=names), *_targets(measured)]
    for name, about in subjects.items():
        newest = next((each for subject, each in measured if subject == name), None)
        if newest is not None and any(_has_number(row) for row in _rows(newest)):
            parts += [f"## {title(name)}", "", f"{about} {newest['machine']['processor']}.", "", *_table(_rows(newest))]
    return "\n".join([*parts, *_provenance(measured), RECIPE])


def title(subject: str) -> str:
    """A subject's heading."""
    return "One GPU" if subject == "one_gpu" else subject.replace("_", "-").capitalize()


def _rows(measured: Mapping[str, Any]) -> list[Row]:
    return [row_of(row) for row in measured["rows"]]


def _has_number(row: Row) -> bool:
    return row.value is not None or row.ratio is not None


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _targets(measured: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """All rows that have a target, of every make of processor, in one table."""
    yield from (
        "## Targets",
        "",
        "| subject | measurement | processor | reached | target | met |",
        "|---|---|---|---:|---:|---:|",
    )
    for name, each in measured:
        for row in _rows(each):
            if row.mark is not None:
                met = "not measured" if row.met is None else "yes" if row.met else "**no**"
                what = f"{row.table.partition(';')[0]}: {row.contender}"
                yield _line((name, what, each["machine"]["processor"], row.reached, str(row.mark), met))
    yield ""


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """One table of a subject; the name of a measurement is in its first line."""
    yield from ("| measurement | contender | value | ratio |", "|---|---|---:|---:|")
    before = None
    for row in rows:
        if FURTHER.match(row.table):
            continue
        name = f"{row.contender} ({row.note})" if row.note else row.contender
        value = "" if row.value is None else f"{shown(row.value)} {row.unit}".rstrip()
        ratio = "" if row.ratio is None else f"{row.ratio.median:.2f}"
        yield _line(("" if row.table == before else row.table, name, value, ratio))
        before = row.table
    yield ""


def _provenance(measured: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """When, where and by which code each subject was measured, and the versions of the libraries."""
    yield from (
        "## Provenance",
        "",
        "| subject | date | commit | machine | command | seconds |",
        "|---|---|---|---|---|---:|",
    )
    versions: dict[str, list[str]] = {}
    for name, each in measured:
        machine = each["machine"]
        parts = [machine["processor"], f"{machine['cores']} cores", f"{machine['memory_gib']} GiB", *machine["gpus"]]
        yield _line(
            (name, each["date"], each["commit"], ", ".join(parts), f"`{each['command']}`", f"{each['seconds']:.0f}")
        )
        stated = ", ".join(f"{package} {version}" for package, version in each["versions"].items())
        versions.setdefault(stated, []).append(name)
    yield ""
    for stated, names in versions.items():
        of = "" if len(versions) == 1 else f" of {', '.join(dict.fromkeys(names))}"
        yield from (f"Versions{of}: {stated}.", "")
