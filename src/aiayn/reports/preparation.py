"""What a prepared corpus holds, on the terminal."""

from rich.console import Console
from rich.table import Table

from aiayn.data.corpus import SPLITS
from aiayn.data.prepared import PreparedData
from aiayn.reports.row import duration

COUNTS = {
    "pairs": "pairs",
    "dropped_too_long": "dropped, too long",
    "dropped_empty": "dropped, empty",
    "source_tokens": "source tokens",
    "target_tokens": "target tokens",
}
"""What a manifest counts of each split, and what the table calls it."""


def print_preparation(data: PreparedData, *, name: str, seconds: float, was_there: bool) -> None:
    """Print the counts of each split, the vocabulary, and where and how large it is.

    Args:
        data: the prepared corpus.
        name: what the user calls it.
        seconds: wall time of preparing or, where it was there already, of verifying it.
        was_there: whether nothing had to be prepared.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(split_table(data, name=name))
    for fact, value in facts(data).items():
        console.print(f"{fact}: {value}")
    took = duration(seconds) if seconds >= 10 else f"{seconds:.1f} s"
    console.print(f"prepared already, nothing to do: verified in {took}" if was_there else f"prepared in {took}")


def split_table(data: PreparedData, *, name: str) -> Table:
    """One column a split: pairs kept, pairs dropped and why, tokens; end marks count."""
    splits = [data.manifest["splits"][split] for split in SPLITS]
    words = ", split at spaces" if data.pretokenized else ""
    table = Table(title=f"data {name}, {data.manifest['settings']['tokenizer']}{words}")
    table.add_column("")
    for split in SPLITS:
        table.add_column(split, justify="right")
    for key, label in COUNTS.items():
        table.add_row(label, *(f"{counts[key]:,}" for counts in splits))
    for side in ("source", "target"):
        means = (counts[f"{side}_tokens"] / counts["pairs"] for counts in splits)
        table.add_row(f"{side} tokens a sentence", *(f"{mean:.1f}" for mean in means))
    return table


def facts(data: PreparedData) -> dict[str, str]:
    """The vocabulary, and what and where the folder is."""
    asked, there = data.manifest["settings"]["vocabulary_size"], data.tokenizer.vocabulary_size
    return {
        "vocabulary": f"{there:,} entries" + (f" of {asked:,}: the text yields no more" if there < asked else ""),
        "size": f"{sum(path.stat().st_size for path in data.directory.iterdir()):,} bytes",
        "fingerprint": data.fingerprint,
        "folder": str(data.directory),
    }
