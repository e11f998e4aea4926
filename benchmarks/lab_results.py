"""The claims and the cost of the lab's studies, written into a page between two comments.

Run: python benchmarks/lab_results.py docs/results.md docs/results/lab/*/

A folder with the published data of a study (`aiayn report hypotheses study=... publish=<folder>`) gives its rows;
others are ignored. The tables take the place of all lines between `<!-- lab -->` and `<!-- end of lab -->`.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from aiayn.errors import UserError
from aiayn.reports.claim_grids import DECIMALS, claimed, effect_assumed
from aiayn.reports.deviations import deviations_of
from aiayn.reports.formats import markdown_table
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import counted, effect_text, millions
from aiayn.reports.publication import ARCHIVE, RUNS, unpacked
from aiayn.reports.registered import RegisteredStudy, read_registered
from aiayn.reports.reported_runs import ReportedRun, finished_run
from aiayn.runs.cost import Total
from aiayn.runs.registrations import HASH_DIGITS, registered_names
from aiayn.system import files

MARKS = re.compile(r"(?<=<!-- lab -->\n).*(?=<!-- end of lab -->)", re.DOTALL)


def main() -> None:
    """Write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("folders", type=Path, nargs="+", help="with published data of studies")
    chosen = parser.parse_args()
    try:
        page = chosen.page.read_text(encoding="utf-8")
        if not MARKS.search(page):
            raise UserError(
                f"{chosen.page}: has no lines <!-- lab --> and <!-- end of lab -->; write both where the tables go"
            )
        text = _tables(chosen.folders, chosen.page.parent)
    except (UserError, OSError) as error:
        parser.error(str(error))
    files.write_text(chosen.page, MARKS.sub(lambda _: text, page))


def _tables(folders: Sequence[Path], beside: Path) -> str:
    """The tables of all studies, with links from a page in the folder `beside`."""
    claims, costs = [], []
    for folder in (each for each in folders if (each / ARCHIVE).is_file()):
        link = f"[{folder.name}]({Path(os.path.relpath(folder / 'README.md', beside)).as_posix()})"
        with unpacked(folder.resolve(), str(folder)):
            for name in registered_names(Path(RUNS)):
                study = read_registered(Path(RUNS), name)
                claims.append(tuple(_claims(study, link)))
                costs.append((_cost(study, link),))
    if not claims:
        raise UserError(f"{', '.join(map(str, folders))}: no published data of a study; state folders that have some")
    headings = ("<study", "<claim", "<verdict", "power", "<assumed", "<measured, with its interval")
    grids = (
        Grid("Claims, with differences of log PPL unless they are of BLEU", headings, tuple(claims)),
        Grid("Studies", ("<study", "<scope", "<frozen", "runs", "deviations", "core-hours", "kWh"), tuple(costs)),
    )
    return "".join(f"\n{markdown_table(grid)}\n" for grid in grids) + "\n"


def _claims(study: RegisteredStudy, link: str) -> Iterator[tuple[str, ...]]:
    for judged in study.claims:
        assumed, measured = [], []
        for one in judged.primary:
            assumed.append(f"{claimed(one.comparison)}: {effect_assumed(one.comparison)}")
            measured.append(effect_text(one.effect, DECIMALS[one.comparison.metric]))
        power = "" if judged.power is None else f"{judged.power:.0%}"
        reason = f": {judged.reason}" if judged.reason else ""
        verdict = f"{judged.verdict.value}{reason}"
        yield link, judged.claim.statement, verdict, power, "<br>".join(assumed), "<br>".join(measured)


def _cost(study: RegisteredStudy, link: str) -> tuple[str, ...]:
    registration = study.registration
    pilots = [run for pilot in registration.pilots if (run := finished_run(study.folder / pilot.run)) is not None]
    every = [*study.finished, *pilots]
    total = Total.of([attempt for run in every for attempt in run.record.account.attempts])
    runs = f"{len(study.finished)} of {len(study.planned)}, {counted(len(registration.pilots), 'pilot')}"
    energy = "unknown" if total.processor_kwh is None else f"{total.processor_kwh:.2f}"
    frozen = f"{registration.time}, sha256 {registration.sha256[:HASH_DIGITS]}"
    deviations = f"{len(deviations_of(study))}"
    return link, _scope(study.finished), frozen, runs, deviations, f"{_core_hours(every):.1f}", energy


def _scope(runs: Sequence[ReportedRun]) -> str:
    """Corpus, scale, sizes and steps, as in "grammar, 100,000 pairs; nano, 1.6M parameters, 7,000 steps"."""
    if not runs:
        return ""
    record = runs[0].record
    sizes = _range([run.record.parameters or 0 for run in runs], millions)
    steps = _range([run.record.steps for run in runs], "{:,}".format)
    pairs = f"{record.data_counts['train']['pairs']:,} pairs"
    return f"{record.data}, {pairs}; {record.scale}, {sizes} parameters, {steps} steps"


def _range(values: Sequence[int], shown: Callable[[int], str]) -> str:
    """The smallest and the largest value, once where both look alike."""
    return " to ".join(dict.fromkeys(shown(value) for value in (min(values), max(values))))


def _core_hours(runs: Sequence[ReportedRun]) -> float:
    """Wall time of all attempts, times the threads of a process."""
    return sum(run.record.account.total.device_hours * int(run.record.hardware["threads"]) for run in runs)


if __name__ == "__main__":
    main()
