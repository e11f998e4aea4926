"""Prepare a run's corpus in the cache, with a progress bar."""

import logging
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.builders.corpus import build_corpus, preparation_settings
from aiayn.config.data_schema import HubDataConfig
from aiayn.config.schema import TrainConfig
from aiayn.data.corpora.corpus import HELD_OUT, SPLITS, Split
from aiayn.data.corpora.hub import HubCorpus
from aiayn.data.preparation.prepared import PreparedData, peek_prepared, prepare
from aiayn.errors import UserError
from aiayn.system import files, processes
from aiayn.system.progress import Bar

FAR_BEYOND = 4
"""A sentence of dev or test longer than this many times `data.max_length` is warned of."""

logger = logging.getLogger("aiayn")


@dataclass(frozen=True)
class Preparation:
    """A corpus in the cache."""

    data: PreparedData
    was_there: bool
    """Whether it was only verified."""
    seconds: float


def prepare_data(config: TrainConfig, *, trained_on: str | None = None) -> PreparedData:
    """The prepared corpus of a run, shared by later runs and all ranks; errors are those of `prepare`."""
    return prepare_in_cache(config, trained_on=trained_on).data


def prepare_in_cache(config: TrainConfig, *, trained_on: str | None = None) -> Preparation:
    """Prepare a run's corpus unless the cache holds it; `trained_on` is the fingerprint in the run's record, if any."""
    started = time.perf_counter()
    cache = Path(config.paths.cache)
    corpus = build_corpus(config.data, cache=cache)
    with closing(_StageBar()) as bar:
        data = prepare(
            corpus,
            settings=preparation_settings(config),
            cache=cache,
            trained_on=trained_on,
            processes=config.launch.preparation_processes,
            progress=bar.show,
        )
    if isinstance(corpus, HubCorpus):  # the cache is shared with runs that expect other sizes
        corpus.check_sizes({split: data.pairs_given(split) for split in SPLITS})
    if processes.rank() == 0:
        _warn_of_long_sentences(data)
        _warn_of_cut_outputs(data, config.decoding.max_extra_length)
    return Preparation(data, was_there=not bar.stage, seconds=time.perf_counter() - started)


def cached_data(config: TrainConfig) -> PreparedData | None:
    """A run's corpus if the cache has it prepared; nothing is verified, prepared or asked of the hub."""
    cache, data = Path(config.paths.cache).expanduser(), config.data
    if isinstance(data, HubDataConfig) and not files.is_dir(Path(data.path).expanduser()):

        def belongs(manifest: Mapping[str, Any]) -> bool:
            origin, splits = manifest["origin"], {split: getattr(data.splits, split) for split in SPLITS}
            return (origin.get("path"), origin.get("subset"), origin.get("splits")) == (data.path, data.subset, splits)

    else:
        try:
            identity = build_corpus(data, cache=cache).identity
        except UserError:  # its files are not there
            return None

        def belongs(manifest: Mapping[str, Any]) -> bool:
            return bool(manifest["corpus"]["identity"] == identity)

    return peek_prepared(cache, preparation_settings(config), belongs)


def _warn_of_long_sentences(data: PreparedData) -> None:
    """Warn of the longest sentence of dev and of test if scoring it takes most of the time."""
    limit = int(data.manifest["settings"]["max_length"])
    for split in HELD_OUT:
        prepared = data.split(split)
        sides = {"source": prepared.source.lengths, "target": prepared.target.lengths}
        side = max(sides, key=lambda each: int(sides[each].max()))
        index = int(sides[side].argmax())
        tokens = int(sides[side][index])
        if tokens > FAR_BEYOND * limit:
            logger.warning(
                "data.%s: %s has %s %s tokens, %.0f times data.max_length=%s; it is scored all the same, in time that "
                "grows with the square of its length: split it, or remove it on both sides",
                split,
                _place(data, split, side, index),
                f"{tokens:,}",
                side,
                tokens / limit,
                limit,
            )


def _warn_of_cut_outputs(data: PreparedData, extra: int) -> None:
    """Warn of references of dev and test that are longer than an output may be."""
    for split in HELD_OUT:
        prepared = data.split(split)
        beyond = prepared.target.lengths.astype(int) - prepared.source.lengths
        if number := int((beyond > extra).sum()):
            logger.warning(
                "decoding.max_extra_length=%s: outputs end at source tokens + %s, and %s of %s references of %s are "
                "longer; %s is enough for all",
                extra,
                extra,
                f"{number:,}",
                f"{len(prepared):,}",
                split,
                int(beyond.max()),
            )


def _place(data: PreparedData, split: Split, side: str, index: int) -> str:
    """The place of a sentence, as in "line 31 of dev.en", or its number in a split of several files."""
    origin = data.manifest["origin"]
    pairs = origin["files"][split] if origin.get("kind") == "text_files" else []
    if len(pairs) != 1:
        return f"sentence {index + 1:,}"
    return f"line {index + 1:,} of {pairs[0][('source', 'target').index(side)]['file']}"


class _StageBar:
    """A progress bar of sentence pairs, one stage after another; `stage` is empty before the first."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self.stage = ""

    def show(self, stage: str, pairs: int, total: int | None) -> None:
        bar = self._bar
        if bar is None or stage != self.stage:
            self.close()
            self.stage = stage
            description = "learn vocabulary" if stage == "tokenizer" else f"encode {stage}"
            bar = self._bar = Bar(description, total=total, unit=" pairs")
        bar.reach(pairs)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
