"""`aiayn reproduce <table>`: the table's sweep, then its report; every word goes to `aiayn train` or `aiayn report`."""

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from io import StringIO

from aiayn.commands.report import REPORTS, check_choice
from aiayn.commands.words import split_format, unknown_word_remedy
from aiayn.config.outputs import output_file
from aiayn.errors import RunFailedError, UserError
from aiayn.system.output_format import Format

TABLES = tuple(table for table in ("table2", "table3", "table4") if table in REPORTS)
"""Each is a sweep, sweeps/<table>.yaml, and a report, which may be an extension's."""

SMALLER = {
    "table2": ["sweeps=table2_en_de"],
    "table4": ["-m", "experiment=table4/wsj_only", "data=toy_trees"],
}
"""The runs below scale=paper, where there is no English-French corpus and there are no silver trees."""

OF_THE_REPORT = ("output", "only.data", "only.like")
"""Keys of the report alone."""

OF_BOTH = ("paths.runs", "paths.cache")

SCALE = "demo"
"""The default, as in conf/train.yaml."""

HELP = f"""\
aiayn reproduce {" | ".join(TABLES)} [group=option] [key=value] ...

Runs the rows of a table that have not finished, and prints the table beside the paper's:
  aiayn train sweeps=<table> [group=option] [key=value] ...
  aiayn report <table> only.scale=<scale>
Rerun the command to resume; finished runs are not repeated. Keys and groups are those of aiayn train.
Below scale=paper, table2 trains English-German alone, since the only English-French corpus is WMT14; and table4 trains
the parser "WSJ only" alone, on the embedded trees unless data= or data.path= is stated.
Three keys go to the report: output (writes the table to a file, too), only.data, and only.like (of table3 alone).

Examples:
  aiayn reproduce table2 scale=nano
  aiayn reproduce table3 scale=nano hydra/launcher=joblib output=table3.md
  aiayn reproduce table3 scale=small trainer=gpu seed=1,2,3
  aiayn reproduce table4 scale=paper data.path=<folder of the WSJ>
"""


def reproduce(words: Sequence[str], run: Callable[[list[str]], int]) -> int:
    """Run the sweep of a table, then report it, even if jobs failed; the exit code.

    Args:
        words: of the command line: the table's name, then overrides.
        run: runs one command line.
    """
    if {"--help", "-h"} & {*words}:
        sys.stdout.write(HELP)
        return 0
    chosen, others = split_format(words)
    sweep, report = command_lines(others)
    formats = [f"format={chosen}"] if chosen is Format.json else []
    failure = None
    try:
        with redirect_stdout(StringIO()) if chosen is Format.json else nullcontext():  # the report prints the document
            run(["train", *sweep, *formats])
    except RunFailedError as error:
        failure = error
    outputs = [word for word in report if word.startswith("output=")]
    try:
        run(["report", *(word for word in report if word not in outputs), *formats])
        if outputs:
            run(["report", *report])
    except UserError as error:
        if failure is not None:  # the reason that there is nothing to report
            raise failure from error
        raise
    if failure is not None:
        raise failure
    return 0


def command_lines(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of `aiayn train` and those of `aiayn report`, for a table's name and overrides."""
    if not words or words[0] not in TABLES:
        wanted = unknown_word_remedy(words[0], TABLES) if words else f"choose a table from {', '.join(TABLES)}"
        raise UserError(f"{' '.join(['aiayn reproduce', *words[:1]])}: {wanted}")
    table, *overrides = words
    scale, sweep, report = SCALE, [], [table]
    for word in overrides:
        key, _, value = word.partition("=")
        if word.startswith("-"):
            raise UserError(f"{word}: aiayn reproduce has no flags but --help; aiayn train sweeps={table} has them")
        if key.lstrip("+") == "sweeps":
            raise UserError(f"{word}: aiayn reproduce {table} runs its own sweep; aiayn train {word} runs another")
        if key == "scale":
            if "," in value:
                raise UserError(f"{word}: a table has one scale; reproduce one after the other")
            scale = value
        if key in OF_THE_REPORT or key in OF_BOTH:
            _check_before_training(table, key, value)
            report.append(word)
        if key not in OF_THE_REPORT:
            sweep.append(word)
    return [*_runs(table, scale, sweep), *sweep], [*report, f"only.scale={scale}"]


def _runs(table: str, scale: str, overrides: Sequence[str]) -> list[str]:
    """The words of `aiayn train` that name the runs of a table, without those that overrides replace."""
    whole = [f"sweeps={table}"]
    stated = {word.partition("=")[0] for word in overrides}
    if scale == "paper":
        if table == "table4" and not {"data", "data.path"} & stated:
            raise UserError("aiayn reproduce table4 scale=paper: state data.path=<folder of the WSJ>")
        return whole
    if "data.path" in stated:
        stated.add("data")  # the path of data=wsj
    return [word for word in SMALLER.get(table, whole) if word.partition("=")[0] not in stated]


def _check_before_training(table: str, key: str, value: str) -> None:
    """Refuse at once a word that the report would refuse after the runs."""
    if key.startswith("only."):
        check_choice(table, key, value)
    if key == "output":
        output_file(value, suffixes=REPORTS[table].writes)
