"""A corpus tokenised once into flat, memory-mapped files that every run and rank shares."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from aiayn.config.errors import UserError
from aiayn.data.corpus import SPLITS, Corpus, Split
from aiayn.data.durable import MANIFEST, DamagedFolderError, open_or_build, read_verified
from aiayn.data.tokenizer import SubwordTokenizer, TokenizerKind

Progress: TypeAlias = Callable[[str, int], None]

FORMAT_VERSION = 2  # part of every key: a change of the files' layout makes new folders
_CHUNK = 2_000  # pairs encoded and written at a time; bounds the memory
_TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class PreparationSettings:
    """What decides the prepared files besides the corpus itself.

    Attributes:
        vocabulary_size: tokens of the shared vocabulary, the special ones included.
        max_length: tokens a side, eos included, above which a training pair is dropped.
        tokenizer: how words are cut into pieces.
        pretokenized: whether the text is already split into words by spaces, and is cut there alone.
    """

    vocabulary_size: int
    max_length: int
    tokenizer: TokenizerKind = "byte_pair"
    pretokenized: bool = False


@final
class TokenArray:
    """One side of a split: token ids of all sentences end to end, each ending with eos, read from disk on demand.

    Attributes:
        tokens: int32 `[tokens]`, memory-mapped.
        offsets: int64 `[sentences + 1]`, memory-mapped; sentence i is `tokens[offsets[i] : offsets[i + 1]]`.
    """

    def __init__(self, stem: Path, limit: int | None = None) -> None:
        self._stem, self._limit = stem, limit
        self.tokens: NDArray[np.int32] = np.asarray(np.memmap(_with_suffix(stem, "tokens"), dtype="<i4", mode="r"))
        offsets: NDArray[np.int64] = np.asarray(np.memmap(_with_suffix(stem, "offsets"), dtype="<i8", mode="r"))
        self.offsets = offsets if limit is None else offsets[: limit + 1]

    def __reduce__(self) -> tuple[type["TokenArray"], tuple[Path, int | None]]:
        return TokenArray, (self._stem, self._limit)  # a pickled map would carry all its data

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Return the token ids of one sentence, eos included: int32 `[length]`."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"sentence {index} of {len(self)}")
        index %= len(self)
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[index] for index in range(len(self)))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sentence, eos included: int64 `[sentences]`."""
        return np.diff(self.offsets)


@final
class PreparedSplit:
    """The sentence pairs of one split.

    Attributes:
        source: the source side's token ids.
        target: the target side's token ids, as many sentences.
    """

    def __init__(self, directory: Path, name: Split, limit: int | None = None) -> None:
        self._stems = directory / f"{name}.source", directory / f"{name}.target"
        self.source, self.target = (TokenArray(stem, limit) for stem in self._stems)

    def __len__(self) -> int:
        return len(self.source)

    def source_lines(self) -> list[str]:
        """Return the raw source sentences; kept for dev and test only."""
        return _read_lines(self._stems[0])[: len(self)]

    def target_lines(self) -> list[str]:
        """Return the raw target sentences, the references of a translation; kept for dev and test only."""
        return _read_lines(self._stems[1])[: len(self)]


@final
class PreparedData:
    """A prepared corpus on disk, verified when it was opened.

    Attributes:
        directory: the folder that holds it.
        manifest: settings, the corpus' identity and languages, counts per split, and the checksum of every file.
    """

    def __init__(self, directory: Path, manifest: Mapping[str, Any]) -> None:
        self.directory = directory
        self.manifest = manifest

    @property
    def fingerprint(self) -> str:
        """Hexadecimal sha256 over the checksums of all files: equal fingerprints mean equal data."""
        return str(self.manifest["fingerprint"])

    @property
    def pretokenized(self) -> bool:
        """Whether the text is split into words by spaces already."""
        return bool(self.manifest["settings"]["pretokenized"])

    @cached_property
    def tokenizer(self) -> SubwordTokenizer:
        """The tokenizer that the ids belong to."""
        return SubwordTokenizer.load(self.directory / _TOKENIZER)

    def pairs_given(self, name: Split) -> int:
        """Return how many pairs the corpus has in a split, those that were dropped included."""
        counts = self.manifest["splits"][name]
        return sum(int(counts[kind]) for kind in ("pairs", "dropped_too_long", "dropped_empty"))

    def split(self, name: Split, *, limit: int | None = None) -> PreparedSplit:
        """Return the pairs of one split; with a limit only so many, the first ones."""
        return PreparedSplit(self.directory, name, limit)


def prepare(
    corpus: Corpus, *, settings: PreparationSettings, cache: Path, progress: Progress | None = None
) -> PreparedData:
    """Tokenise a corpus into the cache, or open what an earlier call left there.

    Safe to call from many processes at once: one prepares, the others wait. Every byte is verified before it is used;
    a damaged folder is prepared again with a warning. Memory is constant in the corpus' size, but for its tokenizer.

    Args:
        corpus: the sentence pairs.
        settings: what to make of them.
        cache: folder for all prepared corpora and tokenizers.
        progress: told the stage (`tokenizer`, `train`, `dev` or `test`) and how many of its pairs are done so far.

    Raises:
        UserError: a setting is impossible, a split has no pairs (left), or the cache cannot be written.
    """
    if settings.max_length < 2:
        raise UserError(f"data.max_length={settings.max_length} leaves no room for a token and its eos; give 2 or more")
    described = {
        "identity": corpus.identity,
        "source_language": corpus.source_language,
        "target_language": corpus.target_language,
    }
    job = _Job(corpus, described, settings, cache, progress or _no_progress)
    directory = cache / "prepared" / _key(described, asdict(settings))
    try:
        return PreparedData(directory, open_or_build(directory, partial(_build_prepared, job)))
    except OSError as error:
        raise UserError(
            f"paths.cache={cache}: the data cannot be prepared there ({error}); free it or choose another folder"
        ) from error


def find_prepared(cache: Path, fingerprint: str) -> PreparedData | None:
    """The prepared corpus of a fingerprint, where the cache has it whole; no corpus is looked at."""
    for path in sorted((cache / "prepared").glob(f"*/{MANIFEST}")):
        with suppress(OSError, DamagedFolderError, ValueError, LookupError):
            if json.loads(path.read_bytes())["fingerprint"] == fingerprint:
                return PreparedData(path.parent, read_verified(path.parent))
    return None


@dataclass(frozen=True)
class _Job:
    corpus: Corpus
    described: Mapping[str, str]  # the corpus' identity and languages
    settings: PreparationSettings
    cache: Path
    progress: Progress


def _build_prepared(job: _Job, directory: Path) -> dict[str, Any]:
    tokenizer = _shared_tokenizer(job)
    tokenizer.save(directory / _TOKENIZER)
    splits = {}
    for split in SPLITS:
        counts = _write_split(job, split, tokenizer, directory)
        if not counts["pairs"]:
            raise UserError(f"data: the {split} split has no sentence pairs{_where_they_went(counts, job.settings)}")
        splits[split] = counts
    return {"format": FORMAT_VERSION, "settings": asdict(job.settings), "corpus": job.described, "splits": splits}


def _where_they_went(counts: Mapping[str, int], settings: PreparationSettings) -> str:
    reasons = {
        f"over data.max_length={settings.max_length}": counts["dropped_too_long"],
        "empty on one side": counts["dropped_empty"],
    }
    dropped = " and ".join(f"{number:,} {reason}" for reason, number in reasons.items() if number)
    remedy = f"{'raise data.max_length or ' if counts['dropped_too_long'] else ''}choose another corpus"
    return f" left, {dropped} were dropped; {remedy}" if dropped else f"; {remedy}"


def _shared_tokenizer(job: _Job) -> SubwordTokenizer:
    """Train the tokenizer once per corpus and kind of vocabulary, whatever else the settings say."""
    settings = asdict(job.settings)
    del settings["max_length"]
    directory = job.cache / "tokenizers" / _key(job.described, settings)

    def train(folder: Path) -> dict[str, Any]:
        tokenizer = SubwordTokenizer.train(
            _training_lines(job),
            vocabulary_size=job.settings.vocabulary_size,
            kind=job.settings.tokenizer,
            pretokenized=job.settings.pretokenized,
        )
        tokenizer.save(folder / _TOKENIZER)
        return {"format": FORMAT_VERSION, "corpus": job.described, "settings": settings}

    open_or_build(directory, train)
    return SubwordTokenizer.load(directory / _TOKENIZER)


def _training_lines(job: _Job) -> Iterator[str]:
    done = 0
    for sources, targets in _chunks(job.corpus, "train"):
        yield from sources
        yield from targets
        done += len(sources)
        job.progress("tokenizer", done)


def _write_split(job: _Job, split: Split, tokenizer: SubwordTokenizer, directory: Path) -> dict[str, int]:
    counts = dict.fromkeys(("pairs", "dropped_too_long", "dropped_empty", "source_tokens", "target_tokens"), 0)
    done = 0
    with ExitStack() as stack:
        sides = [_SideWriter(stack, directory / f"{split}.{side}", split) for side in ("source", "target")]
        for lines in _chunks(job.corpus, split):
            ids = tuple(tokenizer.encode_batch(side) for side in lines)
            everything = range(len(ids[0]))
            kept = _kept_pairs(lines, ids, job.settings.max_length, counts) if split == "train" else everything
            for side, side_lines, side_ids in zip(sides, lines, ids, strict=True):
                side.append([side_ids[pair] for pair in kept], side_lines)
            counts["pairs"] += len(kept)
            done += len(ids[0])
            job.progress(split, done)
    counts["source_tokens"], counts["target_tokens"] = (side.tokens for side in sides)
    return counts


def _kept_pairs(
    lines: tuple[list[str], ...], ids: tuple[list[list[int]], ...], max_length: int, counts: dict[str, int]
) -> list[int]:
    """Return which pairs of a training chunk to keep, and count the others by their reason."""
    kept = []
    for pair, (source, target, source_ids, target_ids) in enumerate(zip(*lines, *ids, strict=True)):
        if not source.strip() or not target.strip():
            counts["dropped_empty"] += 1
        elif max(len(source_ids), len(target_ids)) >= max_length:  # eos comes on top
            counts["dropped_too_long"] += 1
        else:
            kept.append(pair)
    return kept


class _SideWriter:
    """Appends sentences to the files of one side of a split."""

    def __init__(self, stack: ExitStack, stem: Path, split: Split) -> None:
        self.tokens = 0
        self._where = stem.name
        self._tokens, self._offsets = (
            stack.enter_context(_with_suffix(stem, suffix).open("wb")) for suffix in ("tokens", "offsets")
        )
        self._text = None if split == "train" else stack.enter_context(_with_suffix(stem, "txt").open("wb"))
        self._offsets.write(np.zeros(1, "<i8").tobytes())

    def append(self, sentences: Sequence[list[int]], lines: Sequence[str]) -> None:
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 1
        ends = self.tokens + np.cumsum(lengths)
        with_eos: list[int] = []
        for ids in sentences:
            with_eos += ids
            with_eos.append(SubwordTokenizer.eos_id)
        self._tokens.write(np.fromiter(with_eos, "<i4", len(with_eos)).tobytes())
        self._offsets.write(ends.astype("<i8").tobytes())
        self.tokens += int(lengths.sum())
        if self._text:
            for line in lines:
                if "\n" in line:
                    raise UserError(f"data: a sentence of {self._where} holds a line break: {line[:50]!r}; remove it")
                self._text.write(line.encode() + b"\n")


def _chunks(corpus: Corpus, split: Split) -> Iterator[tuple[list[str], list[str]]]:
    table = corpus.split(split)
    for start in range(0, len(table), _CHUNK):
        rows = table[start : start + _CHUNK]
        yield list(rows["source"]), list(rows["target"])


def _key(*parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([FORMAT_VERSION, *parts], sort_keys=True).encode()).hexdigest()[:16]


def _with_suffix(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}.{suffix}")


def _read_lines(stem: Path) -> list[str]:
    path = _with_suffix(stem, "txt")
    assert path.exists(), f"{path}: raw text is kept for dev and test only"
    return path.read_bytes().decode().split("\n")[:-1]  # not splitlines: a sentence may hold \r or U+2028


def _no_progress(stage: str, pairs: int) -> None:
    """Report to nobody."""
    del stage, pairs
