"""Batches of real text through aiayn's own data path, and the configuration of the runs that would see them.

The text is that of the folder `AIAYN_DATA`; where it is not set, sentences of the grammar take its place.
"""

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from aiayn.builders.cost import model_cost
from aiayn.builders.preparation import prepare_data
from aiayn.config.compose import compose_command
from aiayn.config.freeze import frozen_text, to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.data.batches.batching import TrainingStream
from aiayn.data.batches.collation import TranslationBatch
from aiayn.data.preparation.prepared import PreparedData
from aiayn.models.cost import ModelCost
from aiayn.models.kernels.matmul import ROWS_MULTIPLE
from token_batches import BOS, write_batches

FILES = {
    "news": {"train": "news/train", "dev": "news/newstest2013", "test": "news/newstest2013"},
    "multi30k": {"train": "multi30k/train", "dev": "multi30k/val", "test": "multi30k/test_2016_flickr"},
}
"""Below AIAYN_DATA; the languages and .gz follow."""


@dataclass(frozen=True)
class Workload:
    """A model and its text."""

    title: str
    text: str
    """A key of `FILES`, or `generated`."""
    scale: str
    vocabulary_size: int
    budget: int
    """Tokens a side of a batch, padding included."""
    overrides: tuple[str, ...] = ()

    @property
    def corpus(self) -> str:
        """What the text is called in a table."""
        if self.text not in FILES:
            return f"{self.text} sentences"
        return self.text if "AIAYN_DATA" in os.environ else "generated sentences (AIAYN_DATA is not set)"

    def words(self) -> list[str]:
        """What is typed behind `aiayn train`."""
        return [
            f"scale={self.scale}",
            *data_words(self.text),
            f"tokenizer.vocabulary_size={self.vocabulary_size}",
            f"model.vocabulary_rows={self.vocabulary_size}",
            f"optimization.source_tokens={self.budget}",
            f"optimization.target_tokens={self.budget}",
            "logger=none",
            *self.overrides,
        ]

    def config(self) -> TrainConfig:
        """The configuration of such a run."""
        return to_dataclass(compose_command("train", self.words()), TrainConfig)

    def cost(self) -> ModelCost:
        """What a step of it costs."""
        return model_cost(self.config().model, vocabulary_size=self.vocabulary_size)


BASE = Workload("base", "news", "paper", 37_000, 2048)
SMALL = Workload("small", "multi30k", "small", 10_000, 2048)
TINY = Workload(
    "tiny",
    "generated",
    "nano",
    400,
    256,
    (
        "data.sentences=200",
        "data.dev_sentences=4",
        "data.test_sentences=4",
        "data.max_length=60",
        "model.d_model=16",
        "model.d_ff=32",
        "model.num_layers=1",
    ),
)
"""To see whether the machinery works."""


def settings(workload: Workload, work: Path, *, batches: int, **more: Any) -> dict[str, Any]:
    """What contenders of a training contest need; batches and configuration are written to the folder `work`."""
    config = workload.config()
    batches_path, config_path = work / f"{workload.title}.pt", work / f"{workload.title}.yaml"
    write_batches(batches_path, training_batches(config, prepare_data(config), batches))
    config_path.write_text(frozen_text(config), encoding="utf-8")
    model = config.model
    names = ("d_model", "d_ff", "num_layers", "num_heads", "dropout")
    sizes = {name: getattr(model, name) for name in names}
    return {
        "work": str(work),
        "batches": str(batches_path),
        "config": str(config_path),
        "sizes": {
            **sizes,
            "vocabulary_size": workload.vocabulary_size,
            "label_smoothing": config.optimization.label_smoothing,
        },
        **more,
    }


def training_batches(config: TrainConfig, data: PreparedData, count: int) -> list[TranslationBatch]:
    """The first batches of a run."""
    stream = TrainingStream(
        data.split("train"),
        source_tokens=config.optimization.source_tokens,
        target_tokens=config.optimization.target_tokens,
        seed=config.seed,
        rank=0,
        world_size=1,
        accumulation=1,
        start_step=0,
        max_steps=count,
        start_id=BOS,
        multiple=ROWS_MULTIPLE,
    )
    return list(islice(stream, count))


def data_words(text: str) -> list[str]:
    """The words of `aiayn train` that name a text, a key of `FILES`, or the grammar."""
    folder = os.environ.get("AIAYN_DATA")
    if folder is None or text not in FILES:
        return ["data=grammar"]
    files = {
        f"data.{split}.{side}": f"{folder}/{stem}.{language}.gz"
        for split, stem in FILES[text].items()
        for side, language in (("source", "en"), ("target", "de"))
    }
    return ["data=text_files", f"data.name={text}", *(f"{key}={path}" for key, path in files.items())]
