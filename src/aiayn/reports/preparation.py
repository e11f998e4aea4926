"""What a prepared corpus holds, on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.preparation.prepared import PreparedData
from aiayn.reports.row import duration

COUNTS = {
    "pairs": "pairs",
    "dropped_too_long": "dropped, too long",
    "dropped_empty": "dropped, empty",
    "dropped_contaminated": "dropped, in dev or test",
    "dropped_language": "dropped, another language",
    "dropped_ratio": "dropped, uneven lengths",
    "dropped_duplicate": "dropped, duplicate",
    "source_tokens": "source tokens",
    "target_tokens": "target tokens",
}
"""What a manifest counts of each split, and what the table calls it."""

ALWAYS = {"pairs", "dropped_too_long", "dropped_empty", "source_tokens", "target_tokens"}
"""Counts that are shown where they are zero too: those of filters are not, which mostly are off."""


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
    """One column a split: pairs kept, pairs dropped and why, tokens and lengths; end marks count."""
    splits = [data.manifest["splits"][split] for split in SPLITS]
    words = ", split at spaces" if data.pretokenized else ""
    table = Table(title=f"data {name}, {data.manifest['settings']['tokenizer']}{words}")
    table.add_column("")
    for split in SPLITS:
        table.add_column(split, justify="right")
    for key, label in COUNTS.items():
        numbers = [counts.get(key, 0) for counts in splits]
        if any(numbers) or key in ALWAYS:
            table.add_row(label, *(f"{number:,}" for number in numbers))
    for side in ("source", "target"):
        means = (counts[f"{side}_tokens"] / counts["pairs"] for counts in splits)
        table.add_row(f"{side} tokens a sentence", *(f"{mean:.1f}" for mean in means))
    limit = data.manifest["settings"]["max_length"]
    lengths = {split: (data.split(split).source.lengths, data.split(split).target.lengths) for split in SPLITS}
    for number, side in enumerate(("source", "target")):
        table.add_row(f"longest {side}, tokens", *(f"{lengths[split][number].max():,}" for split in SPLITS))
    above = [int(((source > limit) | (target > limit)).sum()) for source, target in lengths.values()]
    table.add_row(f"kept, above {limit:,} tokens", *(f"{number:,}" for number in above))
    return table


def facts(data: PreparedData) -> dict[str, str]:
    """Where the sentences come from, what train shares with dev and test, the vocabulary, and the folder."""
    shared = data.manifest.get("contamination")  # older folders were not searched
    asked, there = data.manifest["settings"]["vocabulary_size"], data.tokenizer.vocabulary_size
    return {
        "source": origin(data),
        "training pairs with a sentence of dev or test": _shared(shared) if shared else "not counted",
        "vocabulary": f"{there:,} entries" + (f" of {asked:,}: the text yields no more" if there < asked else ""),
        "size": f"{sum(path.stat().st_size for path in data.directory.iterdir()):,} bytes",
        "fingerprint": data.fingerprint,
        "folder": str(data.directory),
    }


def origin(data: PreparedData) -> str:
    """Where the sentences come from, in a line."""
    told = data.manifest.get("origin", {})
    match told.get("kind"):
        case "hub":
            subset = f" ({told['subset']})" if told["subset"] else ""
            commit = told["content"].get("data set")
            return f"{told['path']}{subset}, " + (f"commit {commit[-1]}" if commit else "a folder")
        case "text_files":
            names = [side["file"] for split in SPLITS for pair in told["files"][split] for side in pair]
            return f"{', '.join(names[:6])}" + (f" and {len(names) - 6} more files" if len(names) > 6 else "")
        case "trees":
            names = [each["file"] for part in told["files"].values() for each in part]
            return f"{', '.join(names[:6])}" + (f" and {len(names) - 6} more files" if len(names) > 6 else "")
        case "toy_trees":
            return f"trees of the embedded grammar, version {told['version']}, seed {told['seed']}"
        case "grammar":
            return f"the embedded grammar, version {told['version']}, seed {told['seed']}"
    return f"corpus {data.manifest['corpus']['identity'][:16]}"


def _shared(contamination: Mapping[str, Any]) -> str:
    """How many pairs, by the sides and splits that have their sentences."""
    by_place = ", ".join(f"{place} {number:,}" for place, number in contamination["sentences"].items() if number)
    example = f"; the first: {contamination['examples'][0]}" if contamination["examples"] else ""
    return f"{contamination['pairs']:,}" + (f" ({by_place}){example}" if by_place else "")
