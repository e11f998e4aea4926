"""Facts of the runs behind a page: their commands, their machines, and the scores of each seed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from aiayn.reports.grid import Grid
from aiayn.reports.numbers import counted
from aiayn.reports.reported_runs import ReportedRun
from aiayn.runs.provenance import DISTRIBUTION
from aiayn.runs.record import Record

MOST_COMMANDS = 3
"""The most commands listed on a page."""


def commands(records: Iterable[Record]) -> Iterator[str]:
    """The command lines, most frequent first, without the words that distinguish the jobs of a sweep."""
    typed = Counter(" ".join(re.sub(r"(?<=\s)(experiment|seed)=\S+", "", record.command).split()) for record in records)
    yield from (command for command, _ in typed.most_common(MOST_COMMANDS))
    if len(typed) > MOST_COMMANDS:
        yield f"and {len(typed) - MOST_COMMANDS} other commands"


def machines(records: Iterable[Record]) -> Iterator[str]:
    """The machines, each once, as in "AMD EPYC, 2 cores, 2 threads, 23.5 GiB"."""
    yield from dict.fromkeys(machine_text(record) for record in records if record.hardware)


def machine_text(record: Record) -> str:
    """The known facts of a run's machine, as in "8 x H100, AMD EPYC, 16 cores, 1 thread, 128 GiB"."""
    hardware = record.hardware
    devices = [f"{count} x {name}" for name, count in Counter(hardware.get("gpus", ())).items()]
    known = {"core": hardware.get("cores"), "thread": hardware.get("threads")}
    counts = [counted(count, noun) for noun, count in known.items() if count]
    memory = f"{hardware['memory_gib']} GiB" if hardware.get("memory_gib") else ""
    return ", ".join(filter(None, [*devices, hardware.get("processor"), *counts, memory]))


def hardware_text(record: Record) -> str:
    """The hardware that can change a result, as in "AMD EPYC, 2 processes"; empty if unknown."""
    hardware = record.hardware
    processes = hardware.get("processes", 1)
    several = [f"{processes} processes"] if processes > 1 else []
    return ", ".join([*sorted({*hardware.get("gpus", ())}), *filter(None, [hardware.get("processor")]), *several])


def package_versions(record: Record) -> dict[str, str]:
    """Versions of Python and the packages that can change a result, except this one, whose code is compared."""
    return {name: version for name, version in record.versions.items() if name != DISTRIBUTION}


def origin_remarks(records: Sequence[Record]) -> Iterator[str]:
    """Remarks on the commands of the runs and on their machines."""
    if records:
        yield f"command: {'; '.join(f'`{command}`' for command in commands(records))}"
    found = list(machines(records))
    if found:
        yield f"machine: {'; '.join(found)}"


def seed_grid(runs: Sequence[ReportedRun], split: str) -> Grid:
    """The scores of every run of a page, by experiment."""
    scored = [(run, scores) for run in runs if (scores := run.scores(split)) is not None]
    quality = scored[0][1].quality_name if scored else "BLEU"
    lines: dict[str, list[tuple[str, ...]]] = {}
    for run, scores in scored:
        record = run.record
        code = record.origin.code.text.removeprefix("commit ") if record.commit else ""
        cells = (str(record.seed), f"{record.steps:,}", f"{scores.ppl:.4f}", f"{scores.quality.score:.2f}", code)
        lines.setdefault(record.title, []).append((record.title, *cells))
    headings = ("<experiment", "seed", "steps", f"PPL ({split})", f"{quality} ({split})", "<commit")
    return Grid("Per seed", headings, tuple(map(tuple, lines.values())))
