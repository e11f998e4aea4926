"""A corpus tokenised once into flat, memory-mapped files that every run and rank shares."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias, final

from aiayn.data.batches.prefetch import mapped_ahead
from aiayn.data.corpora.corpus import Corpus, Split, Task
from aiayn.data.corpora.languages import refuse_unknown_languages
from aiayn.data.corpora.streamed import size_of, text_of
from aiayn.data.filters import HELD_OUT, Filters, HeldOut, TextPairs
from aiayn.data.preparation.atomic_cache import (
    MANIFEST,
    DamagedFolderError,
    open_or_build,
    read_verified,
    shards_beside,
)
from aiayn.data.preparation.encoding import AT_ONCE, write_split
from aiayn.data.preparation.prepared_split import TREES, PreparedSplit
from aiayn.data.preparation.shards import SHARD, ShardEncoder, ShardText, finished, first_missing, join, undone
from aiayn.data.preparation.workers import encoding_processes
from aiayn.data.vocabulary import AnyKind, AnyTokenizer, load_tokenizer, train_tokenizer
from aiayn.errors import UserError

Progress: TypeAlias = Callable[[str, int, int | None], None]

FORMAT_VERSION = 3  # part of every key: a change of the files' layout makes new folders
_CHUNK = 2_000  # pairs read at a time where no shards are made of them
_TOKENIZER = "tokenizer.json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PreparationSettings:
    """What decides the prepared files besides the corpus itself.

    Attributes:
        vocabulary_size: tokens of the shared vocabulary, the special ones included.
        max_length: tokens a side, eos included, above which a training pair is dropped.
        tokenizer: how words are cut into pieces.
        pretokenized: whether the text is already split into words by spaces, and is cut there alone.
        filters: what else is asked of a training pair.
    """

    vocabulary_size: int
    max_length: int
    tokenizer: AnyKind = "byte_pair"
    pretokenized: bool = False
    filters: Filters = field(default_factory=Filters)

    def as_json(self) -> dict[str, Any]:
        """By name; filters only where there are some, for folders that are older than filters have other keys."""
        settings = asdict(self)
        if self.filters == Filters():
            del settings["filters"]
        return settings


@final
class PreparedData:
    """A prepared corpus on disk, verified when it was opened.

    Attributes:
        directory: the folder that holds it.
        manifest: settings, the corpus' identity, languages and origin, counts per split, what training pairs share with
            dev and test, and the checksum of every file.
    """

    def __init__(self, directory: Path, manifest: Mapping[str, Any]) -> None:
        self.directory = directory
        self.manifest = manifest

    @property
    def fingerprint(self) -> str:
        """Hexadecimal sha256 over the checksums of all files: equal fingerprints mean equal data."""
        return str(self.manifest["fingerprint"])

    @property
    def task(self) -> Task:
        """What targets are."""
        task: Task = self.manifest["corpus"].get("task", "translation")
        return task

    @property
    def tags(self) -> bool:
        """Whether targets that are trees have the words' tags."""
        return bool(self.manifest.get("origin", {}).get("tags"))

    @property
    def pretokenized(self) -> bool:
        """Whether the text is split into words by spaces already."""
        return bool(self.manifest["settings"]["pretokenized"])

    @property
    def languages(self) -> tuple[str, str]:
        """Of source and target, ISO 639-1."""
        corpus = self.manifest["corpus"]
        return str(corpus["source_language"]), str(corpus["target_language"])

    @cached_property
    def tokenizer(self) -> AnyTokenizer:
        """The tokenizer that the ids belong to."""
        return load_tokenizer(self.directory / _TOKENIZER)

    def pairs_given(self, name: Split) -> int:
        """Return how many pairs the corpus has in a split, those that were dropped included."""
        counts = self.manifest["splits"][name]
        return sum(int(number) for kind, number in counts.items() if kind == "pairs" or kind.startswith("dropped_"))

    def split(self, name: Split, *, limit: int | None = None) -> PreparedSplit:
        """Return the pairs of one split; with a limit only so many, the first ones."""
        return PreparedSplit(self.directory, name, limit)


def prepare(
    corpus: Corpus,
    *,
    settings: PreparationSettings,
    cache: Path,
    processes: int = 1,
    progress: Progress | None = None,
) -> PreparedData:
    """Tokenise a corpus into the cache, or open what an earlier call left there.

    Safe to call from many processes at once: one prepares, the others wait. Every byte is verified before it is used;
    a damaged folder is prepared again with a warning. After a kill, training pairs that were encoded stay so. Memory is
    constant in the corpus' size, but for its tokenizer and, where duplicates are dropped, some twenty bytes a pair.

    Args:
        corpus: the sentence pairs.
        settings: what to make of them.
        cache: folder for all prepared corpora and tokenizers.
        processes: how many encode the training pairs; 1 is this one alone. The files are the same.
        progress: told the stage (`tokenizer`, `train`, `dev` or `test`), how many of its pairs are done so far, and of
            how many, where that is known.

    Raises:
        UserError: a setting is impossible, a split has no pairs (left), or the cache cannot be written.
    """
    if settings.max_length < 2:
        raise UserError(f"data.max_length={settings.max_length} leaves no room for a token and its eos; give 2 or more")
    if settings.filters.language:
        refuse_unknown_languages(corpus.source_language, corpus.target_language)
    described = {
        "identity": corpus.identity,
        "source_language": corpus.source_language,
        "target_language": corpus.target_language,
    }
    if corpus.task != "translation":  # folders that are older than other tasks have keys without it
        described["task"] = corpus.task
    directory = cache / "prepared" / _key(described, settings.as_json())
    job = _Job(corpus, described, settings, cache, shards_beside(directory), processes, progress or _no_progress)
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
    shards: Path
    processes: int
    progress: Progress


def _build_prepared(job: _Job, directory: Path) -> dict[str, Any]:
    tokenizer = _shared_tokenizer(job)
    tokenizer.save(directory / _TOKENIZER)
    _encode_train(job, tokenizer)
    counts, contamination = join(job.shards, directory / "train", drops_duplicates=job.settings.filters.duplicates)
    splits: dict[Split, dict[str, int]] = {"train": {**counts, "contaminated": contamination.pairs}}
    for split in HELD_OUT:
        splits[split] = write_split(_chunks(job, split, split), tokenizer, directory / split)
        if job.corpus.task == "parsing":
            trees = job.corpus.split(split)["tree"]
            (directory / f"{split}.{TREES}").write_bytes("".join(f"{tree}\n" for tree in trees).encode())
    for split, counts in splits.items():
        if not counts["pairs"]:
            raise UserError(f"data: the {split} split has no sentence pairs{_where_they_went(counts, job.settings)}")
    return {
        "format": FORMAT_VERSION,
        "settings": job.settings.as_json(),
        "corpus": job.described,
        "origin": job.corpus.origin,
        "splits": splits,
        "contamination": asdict(contamination),
    }


def _encode_train(job: _Job, tokenizer: AnyTokenizer) -> None:
    """Encode all shards of the training pairs that are not there yet."""
    job.shards.mkdir(exist_ok=True)
    encoder = ShardEncoder(
        tokenizer,
        (job.corpus.source_language, job.corpus.target_language),
        job.settings.max_length,
        job.settings.filters,
        HeldOut.of({split: _identifying(job, split) for split in HELD_OUT}),
        job.shards,
    )
    done = finished(job.shards)
    start = first_missing(done)
    if start:
        logger.info("going on from training pair %s, where an earlier preparation was ended", f"{start:,}")
    table = job.corpus.split("train")
    texts = undone(text_of(table, SHARD, start=start), done, start=start)
    with ExitStack() as stack:
        write: Callable[[ShardText], int] = encoder.write
        if job.processes > 1:
            write = stack.enter_context(encoding_processes(encoder, job.processes))
        for end in mapped_ahead(write, texts, at_once=max(AT_ONCE, job.processes)):
            job.progress("train", end, size_of(table))


def _identifying(job: _Job, split: Split) -> Iterator[TextPairs]:
    """The text of a held-out split by which its sentences are found in train: many sentences have the same tree."""
    for sources, targets in text_of(job.corpus.split(split), _CHUNK):
        yield sources, targets if job.corpus.task == "translation" else []


def _where_they_went(counts: Mapping[str, int], settings: PreparationSettings) -> str:
    filters = settings.filters
    words = {
        "too_long": f"over data.max_length={settings.max_length}",
        "empty": "empty on one side",
        "ratio": f"over data.filters.max_ratio={filters.max_ratio}",
        "language": "in another language",
        "contaminated": "in dev or test",
        "duplicate": "duplicates",
    }
    dropped = " and ".join(
        f"{counts[f'dropped_{reason}']:,} {text}" for reason, text in words.items() if counts.get(f"dropped_{reason}")
    )
    remedy = f"{'raise data.max_length or ' if counts.get('dropped_too_long') else ''}choose another corpus"
    return f" left, {dropped} were dropped; {remedy}" if dropped else f"; {remedy}"


def _shared_tokenizer(job: _Job) -> AnyTokenizer:
    """Train the tokenizer once per corpus and kind of vocabulary, whatever else the settings say."""
    settings = {name: value for name, value in asdict(job.settings).items() if name not in ("max_length", "filters")}
    directory = job.cache / "tokenizers" / _key(job.described, settings)

    def train(folder: Path) -> dict[str, Any]:
        tokenizer = train_tokenizer(
            _chunks(job, "train", "tokenizer"),
            vocabulary_size=job.settings.vocabulary_size,
            kind=job.settings.tokenizer,
            pretokenized=job.settings.pretokenized,
        )
        tokenizer.save(folder / _TOKENIZER)
        return {"format": FORMAT_VERSION, "corpus": job.described, "settings": settings}

    open_or_build(directory, train)
    return load_tokenizer(directory / _TOKENIZER)


def _chunks(job: _Job, split: Split, stage: str) -> Iterator[TextPairs]:
    """The text of a split, some pairs at a time; what was taken is reported as done."""
    table = job.corpus.split(split)
    done = 0
    for pairs in text_of(table, _CHUNK):
        yield pairs
        done += len(pairs[0])
        job.progress(stage, done, size_of(table))


def _key(*parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([FORMAT_VERSION, *parts], sort_keys=True).encode()).hexdigest()[:16]


def _no_progress(stage: str, pairs: int, total: int | None) -> None:
    """Report to nobody."""
    del stage, pairs, total
