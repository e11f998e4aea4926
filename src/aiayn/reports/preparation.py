"""A prepared corpus on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.preparation.prepared import PreparedData
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import duration

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
"""The counts of a split in a manifest, and their labels in the table."""

ALWAYS = {"pairs", "dropped_too_long", "dropped_empty", "source_tokens", "target_tokens"}
"""Counts that are shown even if zero."""

MOST_FILES = 6
"""Named as the source; of more, the number is given."""


@dataclass(frozen=True)
class PrepareContent(Content):
    """A corpus in the cache: aiayn prepare."""

    schema: ClassVar = "prepare/1"

    data: str
    """Name of the corpus."""
    folder: Path
    """Folder of the prepared corpus in the cache."""
    fingerprint: str
    """Checksum of the prepared corpus."""
    vocabulary: int
    """Entries of the vocabulary."""
    source: str
    """Where the sentences come from."""
    was_there: bool
    """Whether it was prepared already."""
    seconds: float
    """Wall time of preparing, or of verifying."""
    splits: Mapping[str, Mapping[str, int]]
    """Numbers of pairs kept and dropped, and of tokens, by split."""


def print_preparation(data: PreparedData, *, name: str, seconds: float, was_there: bool) -> None:
    """Print the counts of each split, the vocabulary, folder and size.

    Args:
        data: the prepared corpus.
        name: of the corpus in the configuration.
        seconds: wall time of preparing it, or of verifying it if it was there already.
        was_there: whether it was.
    """
    took = duration(seconds) if seconds >= 10 else f"{seconds:.1f} s"
    last = f"prepared already, nothing to do: verified in {took}" if was_there else f"prepared in {took}"
    lines = [f"{fact}: {value}" for fact, value in facts(data).items()]
    content = PrepareContent(
        data=name,
        folder=data.directory,
        fingerprint=data.fingerprint,
        vocabulary=data.tokenizer.vocabulary_size,
        source=origin(data),
        was_there=was_there,
        seconds=seconds,
        splits=data.manifest["splits"],
    )
    written, grids = "Written by `aiayn prepare`.", [split_grid(data, name=name)]
    show(Document(name, written, grids, [*lines, last], content=content), None)


def split_grid(data: PreparedData, *, name: str) -> Grid:
    """One column per split: pairs kept, pairs dropped and why, tokens and lengths; end marks count."""
    manifest = data.manifest
    splits = [manifest["splits"][split] for split in SPLITS]
    lines: list[tuple[str, ...]] = []
    for key, label in COUNTS.items():
        numbers = [counts.get(key, 0) for counts in splits]
        if any(numbers) or key in ALWAYS:
            lines.append((label, *(f"{number:,}" for number in numbers)))
    for side in ("source", "target"):
        means = (counts[f"{side}_tokens"] / counts["pairs"] for counts in splits)
        lines.append((f"{side} tokens a sentence", *(f"{mean:.1f}" for mean in means)))
    limit = manifest["settings"]["max_length"]
    sources = [data.split(split).source.lengths for split in SPLITS]
    targets = [data.split(split).target.lengths for split in SPLITS]
    for side, lengths in (("source", sources), ("target", targets)):
        lines.append((f"longest {side}, tokens", *(f"{of_split.max():,}" for of_split in lengths)))
    above = (int(((source > limit) | (target > limit)).sum()) for source, target in zip(sources, targets, strict=True))
    lines.append((f"kept, above {limit:,} tokens", *(f"{number:,}" for number in above)))
    words = ", split at spaces" if data.pretokenized else ""
    return Grid(f"data {name}, {manifest['settings']['tokenizer']}{words}", ("<", *SPLITS), (tuple(lines),))


def facts(data: PreparedData) -> dict[str, str]:
    """Source, overlap of train with dev and test, vocabulary and folder."""
    settings, there = data.manifest["settings"], data.tokenizer.vocabulary_size
    asked = there if settings["given"] else settings["vocabulary_size"]
    return {
        "source": origin(data),
        "training pairs with a sentence of dev or test": _shared(data.manifest["contamination"]),
        "vocabulary": f"{there:,} entries" + (f" of {asked:,}: the text yields no more" if there < asked else ""),
        "size": f"{sum(path.stat().st_size for path in data.directory.iterdir()):,} bytes",
        "fingerprint": data.fingerprint,
        "folder": str(data.directory),
    }


def origin(data: PreparedData) -> str:
    """The source of the sentences, in a line."""
    found = data.manifest["origin"]
    match found.get("kind"):
        case "hub":
            subset = f" ({found['subset']})" if found["subset"] else ""
            commit = found["content"].get("data set")
            return f"{found['path']}{subset}, " + (f"commit {commit[-1]}" if commit else "a folder")
        case "text_files":
            return _listed([side["file"] for split in SPLITS for pair in found["files"][split] for side in pair])
        case "trees":
            return _listed([each["file"] for part in found["files"].values() for each in part])
        case "toy_trees":
            return f"trees of the embedded grammar, version {found['version']}, seed {found['seed']}"
        case "grammar":
            return f"the embedded grammar, version {found['version']}, seed {found['seed']}"
    return f"corpus {data.manifest['corpus']['identity'][:16]}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_FILES} more files" if len(names) > MOST_FILES else ""
    return ", ".join(names[:MOST_FILES]) + more


def _shared(contamination: Mapping[str, Any]) -> str:
    """The number of pairs, and how many by the sides and splits that contain their sentences."""
    by_place = ", ".join(f"{place} {number:,}" for place, number in contamination["sentences"].items() if number)
    example = f"; the first: {contamination['examples'][0]}" if contamination["examples"] else ""
    return f"{contamination['pairs']:,}" + (f" ({by_place}){example}" if by_place else "")
