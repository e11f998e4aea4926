"""Beam sizes and length penalties compared on the development set."""

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from aiayn.extensions.tuning.result import DecodingSetting, EvaluatedSetting, Searched, TuneContent, Tuning
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import ends_text, signed

PAPER, BEST = "†", "*"
"""Mark the two settings that were searched with separately."""


def report_tuning(tuning: Tuning, output: Path | None) -> None:
    """Print the settings tried and the best one, or write them to a .md or .json file."""
    show(document(tuning), output)


def grids(tuning: Tuning) -> Iterator[Grid]:
    """BLEU and the length ratio by beam size and alpha, and the settings that were searched with separately."""
    beams = sorted({each.setting.beam_size for each in tuning.tried})
    alphas = sorted({each.setting.alpha for each in tuning.tried})
    marks = defaultdict(str, {tuning.paper.setting: PAPER})
    marks[tuning.best.setting] += BEST
    measures: dict[str, Callable[[EvaluatedSetting], str]] = {
        "BLEU on dev": lambda tried: f"{tried.bleu:.2f}",
        "length ratio on dev": lambda tried: f"{tried.length_ratio:.3f}",
    }
    tried = {beam: [tuning.at(DecodingSetting(beam, alpha)) for alpha in alphas] for beam in beams}
    for title, shown in measures.items():
        lines = tuple(
            (str(beam), *(marks.get(each.setting, "") + shown(each) for each in of_beam))
            for beam, of_beam in tried.items()
        )
        yield Grid(f"{title}: beam size down, alpha across", ("<beam size", *(f"{a:g}" for a in alphas)), (lines,))
    headings = ("<searched", "beam size", "alpha", "BLEU", "length ratio", "other outputs")
    searched = _line(f"{BEST} best", tuning.best), _line(f"{PAPER} paper", tuning.paper)
    yield Grid("Searched with this setting alone", headings, (searched,))


def _line(name: str, searched: Searched) -> tuple[str, ...]:
    setting, others = searched.setting, searched.other_outputs
    return (
        name,
        str(setting.beam_size),
        f"{setting.alpha:g}",
        f"{searched.bleu.score:.2f}",
        f"{searched.length_ratio:.3f}",
        "" if others is None else f"{others:,}",
    )


def _remarks(tuning: Tuning) -> Iterator[str]:
    steps = ", ".join(f"{step:,}" for step in tuning.steps)
    yield f"{' + '.join(tuning.runs)}: checkpoint {tuning.checkpoint} (step {steps})"
    yield f"{tuning.sentences:,} sentences of dev, {tuning.data} ({tuning.fingerprint[:12]}); test was not read"
    yield (
        "the tables: one search per beam size keeps the best hypothesis of each length, among which every alpha "
        "chooses; other outputs: sentences whose output differs in a search with the setting itself"
    )
    test = tuning.difference
    difference = f"{signed(test.difference, 2)} {ends_text(test.low, test.high, 2)}"
    yield f"best − paper: {difference}; the best of many settings is overestimated"
    yield f"BLEU: {tuning.best.bleu.signature}"


def command(tuning: Tuning) -> str:
    """The command that scores the test set with the best setting."""
    run = tuning.runs[0] if len(tuning.runs) == 1 else f"[{','.join(tuning.runs)}]"
    setting = tuning.best.setting
    search = [f"decoding.beam_size={setting.beam_size}", f"decoding.length_penalty_alpha={setting.alpha:g}"]
    return shlex.join(
        ["aiayn", "evaluate", f"run={run}", f"checkpoint={tuning.checkpoint}", *search, *tuning.overrides]
    )


def document(tuning: Tuning) -> Document:
    """The report as plain data."""
    return Document(
        title="Beam size and length penalty",
        written="Written by `aiayn tune`.",
        grids=list(grids(tuning)),
        remarks=list(_remarks(tuning)),
        command=command(tuning),
        content=TuneContent(**vars(tuning), split="dev", command=command(tuning)),
    )
