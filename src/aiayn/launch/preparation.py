"""Bring a run's corpus into the cache, with a progress bar where it takes a while."""

import time
from dataclasses import dataclass
from pathlib import Path

from aiayn.build.corpus import build_corpus, preparation_settings
from aiayn.config.schema import TrainConfig
from aiayn.data.corpus import SPLITS
from aiayn.data.hub import HubCorpus
from aiayn.data.prepared import PreparedData, prepare
from aiayn.progress import Bar


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
        corpus.refuse_other_sizes({split: data.pairs_given(split) for split in SPLITS})
    return Preparation(data, was_there=not bar.stage, seconds=time.perf_counter() - started)


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
