"""A corpus tokenised once into flat, memory-mapped files, which all runs and ranks share."""

import hashlib
import json
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeAlias, final

from aiayn.data.batches.prefetch import parallel_map
from aiayn.data.corpora.corpus import HELD_OUT, SPLITS, Corpus, Split, Task
from aiayn.data.lines import TextPairs
from aiayn.data.preparation.atomic_cache import (
    MANIFEST,
    DamagedFolderError,
    Manifest,
    open_or_build,
    read_verified,
    shard_directory,
)
from aiayn.data.preparation.filters import REASONS, Filters, HeldOut, check_languages
from aiayn.data.preparation.shards import SHARD, ShardEncoder, ShardText, first_missing, join
from aiayn.data.preparation.split_files import ENCODING_THREADS, TREES, PreparedSplit, write_split
from aiayn.data.preparation.word_borders import TOKENIZER, WHOLE_WORDS, cuts_words, has_marked_words
from aiayn.data.preparation.workers import encoding_processes
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.data.vocabulary import AnyKind, AnyTokenizer, GivenPieces, load_tokenizer, train_tokenizer
from aiayn.errors import UserError
from aiayn.system.documents import read_json

Progress: TypeAlias = Callable[[str, int, int | None], object]
"""Called with the stage (`tokenizer`, `train`, `dev` or `test`), the pairs done so far, and their total if known."""

FORMAT_VERSION = 4  # of the files; part of every key
_CHUNK = 2_000  # pairs read at a time outside shards

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PreparationSettings:
    """All settings, besides the corpus itself, that the prepared files depend on."""

    vocabulary_size: int
    max_length: int
    """Longest side of a training pair in tokens, eos included; longer pairs are dropped."""
    tokenizer: AnyKind = "byte_pair"
    pretokenized: bool = False
    """Whether the text is already split into words by spaces."""
    filters: Filters = field(default_factory=Filters)
    given: GivenPieces | None = None
    """Marker and vocabulary of the tokenizer `given`; None for others."""

    def described(self) -> dict[str, Any]:
        """Return the settings as plain values; a UserError if the file of a vocabulary cannot be read."""
        settings = asdict(self) | {"given": self.given and self.given.described()}
        if self.filters.contaminated:  # what counts as a word decides which pairs are left
            settings["filters"]["words"] = "L M N"
        return settings


@final
class PreparedData:
    """A prepared corpus on disk, verified when opened; see `_build_prepared` for the manifest."""

    def __init__(self, directory: Path, manifest: Mapping[str, Any]) -> None:
        self.directory = directory
        self.manifest = manifest

    @property
    def fingerprint(self) -> str:
        """Hexadecimal SHA-256 over the checksums of all files."""
        return str(self.manifest["fingerprint"])

    @property
    def task(self) -> Task:
        """The kind of the targets."""
        task: Task = self.manifest["corpus"]["task"]
        return task

    @property
    def tags(self) -> bool:
        """Whether targets are trees with the words' tags."""
        return bool(self.manifest["origin"].get("tags"))

    @property
    def pretokenized(self) -> bool:
        """Whether the text is already split into words by spaces."""
        return bool(self.manifest["settings"]["pretokenized"])

    @property
    def languages(self) -> tuple[str, str]:
        """Language codes of source and target."""
        corpus = self.manifest["corpus"]
        return str(corpus["source_language"]), str(corpus["target_language"])

    @cached_property
    def tokenizer(self) -> AnyTokenizer:
        """The tokenizer of the token ids."""
        return load_tokenizer(self.directory / TOKENIZER)

    def keeps_marks(self, corpus: Corpus) -> bool:
        """Whether words of the corpus keep combining marks here at which earlier versions cut them; reads its text."""
        is_whole = self.manifest.keys() >= WHOLE_WORDS.keys() and not self.pretokenized
        return is_whole and isinstance(self.tokenizer, SubwordTokenizer) and has_marked_words(corpus)

    def pairs_given(self, name: Split) -> int:
        """Return the number of pairs of a split in the corpus, dropped ones included."""
        counts = self.manifest["splits"][name]
        return sum(int(number) for kind, number in counts.items() if kind == "pairs" or kind.startswith("dropped_"))

    def split(self, name: Split, *, limit: int | None = None) -> PreparedSplit:
        """Return the pairs of one split, or its first `limit` pairs."""
        return PreparedSplit(self.directory, name, limit)

    def references(self, split: PreparedSplit) -> list[str]:
        """Return the target sentences of dev or test as translations are scored: normalised, as outputs are."""
        return list(map(self.tokenizer.normalized, split.target_lines()))


def prepare(
    corpus: Corpus,
    *,
    settings: PreparationSettings,
    cache: Path,
    trained_on: str | None = None,
    processes: int = 1,
    progress: Progress = lambda *_: None,
) -> PreparedData:
    """Tokenise a corpus into the cache, or open the result of an earlier call.

    Safe for concurrent calls: one process prepares, the others wait. All bytes are verified; a damaged folder is
    prepared again with a warning. After a kill, the next call resumes after the training pairs already encoded. Memory
    does not grow with the corpus, except for training the tokenizer and, to drop duplicates, twenty bytes a pair.

    With one of `processes`, training pairs are encoded in threads of this process. `trained_on` is the fingerprint of
    the data that a run has begun on; see `cuts_words`.

    Raises:
        UserError: A setting is impossible, a split has no pairs (left), or the cache cannot be written.
        RunFailedError: The hub cannot be reached, or a process was killed; the next call resumes.
    """
    if settings.filters.language:
        check_languages(corpus.source_language, corpus.target_language)
    described = {
        "identity": corpus.identity,
        "source_language": corpus.source_language,
        "target_language": corpus.target_language,
        "task": corpus.task,
    }
    directory = _folder(cache / "prepared", corpus, described, settings.described(), trained_on=trained_on)
    job = _Job(corpus, described, settings, cache, shard_directory(directory), processes, progress)
    try:
        return PreparedData(directory, open_or_build(directory, partial(_build_prepared, job)))
    except OSError as error:
        raise UserError(
            f"paths.cache={cache}: the data cannot be prepared there ({error}); free it or choose another folder"
        ) from error


def find_prepared(cache: Path, fingerprint: str) -> PreparedData | None:
    """Return the prepared corpus with a fingerprint if the cache has it undamaged; does not read the corpus."""
    for folder, manifest in _manifests(cache):
        if manifest.get("fingerprint") == fingerprint:
            with suppress(OSError, DamagedFolderError, LookupError):
                return PreparedData(folder, read_verified(folder))
    return None


def holds_prepared(cache: Path, fingerprint: str) -> bool:
    """Whether the cache has a prepared corpus with a fingerprint; not verified."""
    return any(manifest.get("fingerprint") == fingerprint for _, manifest in _manifests(cache))


def peek_prepared(
    cache: Path, settings: PreparationSettings, belongs: Callable[[Mapping[str, Any]], bool]
) -> PreparedData | None:
    """Return a prepared corpus with these settings whose manifest `belongs`, if the cache has one; not verified."""
    described = json.loads(json.dumps(settings.described()))
    found = None
    for folder, manifest in _manifests(cache):
        with suppress(LookupError):
            if manifest["settings"] == described and belongs(manifest):
                found = PreparedData(folder, manifest)
                if manifest.keys() >= WHOLE_WORDS.keys():
                    break
    return found


def _manifests(cache: Path) -> Iterator[tuple[Path, Manifest]]:
    """Yield the folder and manifest of each prepared corpus of this format; unreadable ones are skipped."""
    for path in sorted((cache / "prepared").glob(f"*/{MANIFEST}")):
        with suppress(OSError, ValueError, LookupError):
            manifest = read_json(path)
            if manifest["format"] == FORMAT_VERSION:
                yield path.parent, manifest


@dataclass(frozen=True)
class _Job:
    corpus: Corpus
    described: Mapping[str, str]  # identity, languages and task of the corpus
    settings: PreparationSettings
    cache: Path
    shards: Path
    processes: int
    progress: Progress


def _build_prepared(job: _Job, directory: Path) -> dict[str, Any]:
    for split in SPLITS:  # before hours of work: the first pair of train, and all of dev and test
        rows = job.corpus.rows(split)
        if next(rows, None) is None:
            raise UserError(f"data: the {split} split has no sentence pairs; choose another corpus")
        if split in HELD_OUT:
            deque(rows, maxlen=0)
    tokenizer = _shared_tokenizer(job)
    tokenizer.save(directory / TOKENIZER)
    _encode_train(job, tokenizer)
    counts, contamination = join(job.shards, directory / "train", drops_duplicates=job.settings.filters.duplicates)
    if not counts["pairs"]:
        dropped = [
            f"{counts[f'dropped_{each}']:,} {each.replace('_', ' ')}" for each in REASONS if counts[f"dropped_{each}"]
        ]
        raise UserError(
            f"data: the train split has no sentence pairs left, {', '.join(dropped)}; raise data.max_length="
            f"{job.settings.max_length}, change data.filters or choose another corpus"
        )
    splits: dict[Split, dict[str, int]] = {"train": counts}
    for split in HELD_OUT:
        splits[split] = write_split(_reported(job, split, split), tokenizer, directory / split)
        if job.corpus.task == "parsing":
            trees = "".join(f"{tree}\n" for *_, tree in job.corpus.rows(split))
            (directory / f"{split}.{TREES}").write_bytes(trees.encode())
    return {
        "format": FORMAT_VERSION,
        "settings": job.settings.described(),
        "corpus": job.described,
        "origin": job.corpus.origin,
        "splits": splits,
        "contamination": contamination,
        **WHOLE_WORDS,
    }


def _encode_train(job: _Job, tokenizer: AnyTokenizer) -> None:
    """Encode the missing shards of the training pairs."""
    job.shards.mkdir(exist_ok=True)
    encoder = ShardEncoder(
        tokenizer,
        (job.corpus.source_language, job.corpus.target_language),
        job.settings.max_length,
        job.settings.filters,
        HeldOut.of({split: _identifying(job, split) for split in HELD_OUT}),
        job.shards,
    )
    start = first_missing(job.shards)
    if start:
        logger.info("resuming an earlier preparation from training pair %s", f"{start:,}")
    texts = map(ShardText, count(start, SHARD), _chunks(job, "train", SHARD, start=start))
    size = job.corpus.size("train")
    with ExitStack() as stack:
        write: Callable[[ShardText], int] = encoder.write
        if job.processes > 1:
            write = stack.enter_context(encoding_processes(encoder, job.processes))
        for end in parallel_map(write, texts, num_threads=max(ENCODING_THREADS, job.processes)):
            job.progress("train", end, size)


def _identifying(job: _Job, split: Split) -> Iterator[TextPairs]:
    """The text that identifies held-out pairs in train: not linearised trees, which many sentences share."""
    for sources, targets in _chunks(job, split, _CHUNK):
        yield sources, targets if job.corpus.task == "translation" else []


def _shared_tokenizer(job: _Job) -> AnyTokenizer:
    """Train the tokenizer once per corpus and kind of vocabulary; the other settings do not matter."""
    described = job.settings.described()
    settings = {name: value for name, value in described.items() if name not in ("max_length", "filters")}
    directory = _folder(job.cache / "tokenizers", job.corpus, job.described, settings)

    def train(folder: Path) -> dict[str, Any]:
        tokenizer = train_tokenizer(
            _reported(job, "train", "tokenizer"),
            vocabulary_size=job.settings.vocabulary_size,
            kind=job.settings.tokenizer,
            pretokenized=job.settings.pretokenized,
            given=job.settings.given,
        )
        tokenizer.save(folder / TOKENIZER)
        return {"format": FORMAT_VERSION, "corpus": job.described, "settings": settings, **WHOLE_WORDS}

    open_or_build(directory, train)
    return load_tokenizer(directory / TOKENIZER)


def _chunks(job: _Job, split: Split, size: int, *, start: int = 0) -> Iterator[TextPairs]:
    """Yield the text of a split from pair `start` on, `size` pairs at a time."""
    rows = job.corpus.rows(split, start=start)
    while chunk := list(islice(rows, size)):
        sources, targets, *_ = map(list, zip(*chunk, strict=True))
        yield sources, targets


def _reported(job: _Job, split: Split, stage: str) -> Iterator[TextPairs]:
    """Yield the text of a split in chunks, reporting progress."""
    size = job.corpus.size(split)
    done = 0
    for pairs in _chunks(job, split, _CHUNK):
        yield pairs
        done += len(pairs[0])
        job.progress(stage, done, size)


def _folder(parent: Path, corpus: Corpus, *parts: Mapping[str, Any], trained_on: str | None = None) -> Path:
    """The folder of some settings; another one if an earlier version has cut words there at their marks."""
    directory = parent / _key(*parts)
    return parent / _key(*parts, WHOLE_WORDS) if cuts_words(directory, corpus, trained_on=trained_on) else directory


def _key(*parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([FORMAT_VERSION, *parts], sort_keys=True).encode()).hexdigest()[:16]
