"""Bring a run's corpus into the cache, with a progress bar where it takes a while."""

import logging
import time
from dataclasses import dataclass
from pathlib import Path

from aiayn.builders.corpus import build_corpus, preparation_settings
from aiayn.config.schema import TrainConfig
from aiayn.data.corpora.corpus import SPLITS, Split
from aiayn.data.corpora.hub import HubCorpus
from aiayn.data.preparation.prepared import PreparedData, prepare
from aiayn.system import processes
from aiayn.system.progress import Bar

FAR_BEYOND = 4
"""How many times `data.max_length` a sentence of dev or test is before a warning."""

logger = logging.getLogger("aiayn")


@dataclass(frozen=True)
class Preparation:
    """A corpus in the cache, and what it took."""

    data: PreparedData
    was_there: bool
    """Whether nothing had to be prepared, only verified."""
    seconds: float
    """Wall time."""


def prepare_data(config: TrainConfig) -> PreparedData:
    """The prepared corpus of a run; made once, shared by every later run and rank.

    Raises:
        UserError: the corpus or the cache cannot be used.
    """
    return bring_into_cache(config).data


def bring_into_cache(config: TrainConfig) -> Preparation:
    """Prepare a run's corpus unless the cache holds it; errors as for `prepare_data`."""
    started = time.perf_counter()
    cache = Path(config.paths.cache)
    bar = _StageBar()
    corpus = build_corpus(config.data, cache=cache)
    try:
        data = prepare(
            corpus,
            settings=preparation_settings(config),
            cache=cache,
            processes=config.launch.preparation_processes,
            progress=bar.show,
        )
    finally:
        bar.close()
    if isinstance(corpus, HubCorpus):  # a folder in the cache may have been prepared for somebody who accepted it
        corpus.check_sizes({split: data.pairs_given(split) for split in SPLITS})
    if processes.rank() == 0:
        _warn_of_long_sentences(data)
    return Preparation(data, was_there=not bar.stage, seconds=time.perf_counter() - started)


def _warn_of_long_sentences(data: PreparedData) -> None:
    """Name the longest sentence of dev and of test, where it is so long that scoring it takes most of the time."""
    limit = int(data.manifest["settings"]["max_length"])
    for split in SPLITS[1:]:
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


def _place(data: PreparedData, split: Split, side: str, index: int) -> str:
    """Where a sentence stands, such as "line 31 of dev.en"; its number in the split where several files make it up."""
    origin = data.manifest["origin"]
    pairs = origin["files"][split] if origin.get("kind") == "text_files" else []
    if len(pairs) != 1:
        return f"sentence {index + 1:,}"
    return f"line {index + 1:,} of {pairs[0][('source', 'target').index(side)]['file']}"


class _StageBar:
    """A bar that counts sentence pairs, one stage after another.

    Attributes:
        stage: the stage last told; empty before the first.
    """

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self.stage = ""

    def show(self, stage: str, pairs: int, total: int | None) -> None:
        """Show that `pairs` of the stage's pairs are done, of `total` where that is known."""
        bar = self._bar
        if bar is None or stage != self.stage:
            self.close()
            self.stage = stage
            description = "learn vocabulary" if stage == "tokenizer" else f"encode {stage}"
            bar = self._bar = Bar(description, total=total, unit=" pairs")
        bar.reach(pairs)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
