"""Beam sizes and alphas side by side, on the terminal and as a file."""

import dataclasses
import shlex
from collections.abc import Iterator
from pathlib import Path

from aiayn.reports.grids import Grid, markdown_page, print_or_write
from aiayn.reports.tables.table3_grids import interval_text
from aiayn.runs.record import json_text
from aiayn.runs.tuning import DecodingSetting, Searched, Tried, Tuning

PAPER, BEST = "†", "*"
"""Marks of the two settings that were searched for themselves."""


def report_tuning(tuning: Tuning, output: Path | None) -> None:
    """Print what was tried and what is best, or write it.

    Args:
        tuning: what was found.
        output: a .md or .json file, or None for the terminal.
    """
    formats = {".md": markdown, ".json": _json}
    lines = [*_remarks(tuning), f"\n{command(tuning)}"]
    print_or_write(tuning, output, formats, grids=grids, remarks=lambda _: lines)


def grids(tuning: Tuning) -> Iterator[Grid]:
    """BLEU and the length ratio by beam size and alpha, and the settings that were searched for themselves."""
    beams = sorted({each.setting.beam_size for each in tuning.tried})
    alphas = sorted({each.setting.alpha for each in tuning.tried})
    for title in ("BLEU on dev", "length ratio on dev"):
        lines = tuple(
            (
                str(beam),
                *(_cell(tuning, tuning.at(DecodingSetting(beam, alpha)), title.startswith("BLEU")) for alpha in alphas),
            )
            for beam in beams
        )
        yield Grid(f"{title}: beam size down, alpha across", ("<beam size", *(f"{a:g}" for a in alphas)), (lines,))
    headings = ("<searched", "beam size", "alpha", "BLEU", "length ratio", "other outputs")
    yield Grid(
        "Searched with this setting alone",
        headings,
        ((_line(f"{BEST} best", tuning.best), _line(f"{PAPER} paper", tuning.paper)),),
    )


def _cell(tuning: Tuning, tried: Tried, is_bleu: bool) -> str:
    marks = (PAPER if tried.setting == tuning.paper.setting else "") + (
        BEST if tried.setting == tuning.best.setting else ""
    )
    return marks + (f"{tried.bleu:.2f}" if is_bleu else f"{tried.length_ratio:.3f}")


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
    yield f"{tuning.sentences:,} sentences of dev, {tuning.data} ({tuning.fingerprint[:12]}); test was not looked at"
    yield (
        "the tables: one search for each beam size keeps the best hypothesis of each length, from which every alpha "
        "takes its own; other outputs: sentences whose output the setting's own search changes"
    )
    yield f"best − paper: {interval_text(tuning.difference, 2)}; of many settings the best looks better than it is"
    yield f"BLEU: {tuning.best.bleu.signature}"


def command(tuning: Tuning) -> str:
    """What scores the test set with the best setting."""
    run = tuning.runs[0] if len(tuning.runs) == 1 else f"[{','.join(tuning.runs)}]"
    setting = tuning.best.setting
    return shlex.join(
        [
            "aiayn",
            "evaluate",
            f"run={run}",
            f"checkpoint={tuning.checkpoint}",
            f"decoding.beam_size={setting.beam_size}",
            f"decoding.length_penalty_alpha={setting.alpha:g}",
            *tuning.overrides,
        ]
    )


def markdown(tuning: Tuning) -> str:
    """A page of its own."""
    return markdown_page(
        "Beam size and length penalty",
        "Written by `aiayn tune`.",
        grids(tuning),
        _remarks(tuning),
        below=[f"```\n{command(tuning)}\n```"],
    )


def _json(tuning: Tuning) -> str:
    content = dataclasses.asdict(tuning)
    for each in (*content["tried"], content["best"], content["paper"]):
        each["setting"] = each["setting"]._asdict()
    return json_text({**content, "split": "dev", "command": command(tuning)})
