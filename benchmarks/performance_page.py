"""What was measured, as one Markdown page."""

from collections.abc import Mapping
from typing import Any

from results import Row, row_of, tables

INTRODUCTION = """\
# Performance

Written by `make bench`; no number here was typed. Contenders take turns, each in a process of its own, on the same
batches: what else the machine does hits all of them, so ratios carry over to other machines better than figures do. A
*ratio* is the median over the rounds, the *quartiles* are those of the single rounds. Wall time is what counts; the
ratio *by CPU time* shows where other programs have disturbed it.

- `make bench` measures everything and writes this page; `make bench BENCH="training decoding"` measures those subjects
  anew, on the make of processor that is there, and leaves the rest. The subjects: {subjects}.
- `AIAYN_DATA` names the folder of real text; without it, generated sentences take its place, and a table says so.
- Other people's libraries are installed into `.venv-peers` from `benchmarks/requirements-peers.txt`. One that cannot be
  is left out of the tables, with a note.
- The rows stand in `docs/results/performance.json`.
"""

RECIPE = """\
## Profile of a step

    AIAYN_DATA=... .venv/bin/python benchmarks/profile_step.py [--model small] [--threads 2]

prints the operations that a training step spends its time in, and the share of matrix products among them. What a
whole run spends around its steps, Lightning's own profiler shows: `aiayn train trainer.profiler=simple`, or `advanced`,
or `pytorch`.
"""


def markdown(content: Mapping[str, Any], subjects: Mapping[str, str]) -> str:
    """The page.

    Args:
        content: of the JSON file, by subject.
        subjects: all there are, in order, and what each is about.
    """
    names = ", ".join(f"`{name}`" for name in subjects)
    parts = [INTRODUCTION.format(subjects=names), _marks(content, subjects)]
    for name, about in subjects.items():
        if name in content:
            parts += [f"## {title(name)}", "", about, "", *map(_measured, content[name])]
    return "\n".join([*parts, RECIPE])


def title(subject: str) -> str:
    """A subject's heading."""
    return "One GPU" if subject == "one_gpu" else subject.replace("_", "-").capitalize()


def _rows(measured: Mapping[str, Any]) -> list[Row]:
    return [row_of(row) for row in measured["rows"]]


def _marks(content: Mapping[str, Any], subjects: Mapping[str, str]) -> str:
    """All rows that have something to reach, in one table."""
    lines = [
        "## Marks",
        "",
        "| subject | what | processor | reached | mark | met |",
        "|---|---|---|---:|---:|---:|",
    ]
    for name, measured in ((subject, each) for subject in subjects for each in content.get(subject, ())):
        processor = measured["machine"]["processor"]
        for row in _rows(measured):
            if row.mark is not None:
                met = "not measured" if row.met is None else "yes" if row.met else "**no**"
                cells = name, f"{row.table}: {row.contender}", processor, row.reached, str(row.mark), met
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _measured(measured: Mapping[str, Any]) -> str:
    """The tables of a subject on one make of processor, which the headings name."""
    machine, versions = measured["machine"], measured["versions"]
    gpus = f", {', '.join(machine['gpus'])}" if machine["gpus"] else ""
    return "\n".join(
        [
            tables(_rows(measured), where=f", {machine['processor']}"),
            "",
            f"{measured['date']}, commit {measured['commit']}, `{measured['command']}`, {measured['seconds']:.0f} s;",
            f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB{gpus};",
            f"{', '.join(f'{package} {version}' for package, version in versions.items())}.",
            "",
        ]
    )
