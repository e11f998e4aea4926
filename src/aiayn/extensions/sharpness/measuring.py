"""Sharpness of a run's attention, before and after training."""

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path

from aiayn.builders.models import build_model
from aiayn.config.schema import ProcessConfig
from aiayn.data.batches.batching import EvaluationStream
from aiayn.data.preparation.prepared import find_prepared
from aiayn.data.vocabulary import start_id
from aiayn.errors import RunFailedError, UserError
from aiayn.extensions.sharpness.attention_sharpness import AttentionSharpness, attention_sharpness
from aiayn.flat_tokens import FlatTokens
from aiayn.inference.opened_runs import open_for_use, usable_device
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.system.resource_errors import memory_errors_explained

BATCH_TOKENS = 1_000
"""Per side of a batch; small because the logits of all layers are in memory together."""


def measure_sharpness(
    run: Path, *, cache: Path, sentences: int, device: str, trust: bool
) -> tuple[AttentionSharpness, AttentionSharpness]:
    """Measure a Transformer on the first pairs of dev, with its initial weights and with the last checkpoint's.

    Raises:
        UserError: the run, its data in `cache` or a setting cannot be used.
        RunFailedError: out of memory, or the logits are not finite.
    """
    place = usable_device(device)
    launch = ProcessConfig(keep_allocator_memory=False)
    opened = open_for_use(str(run), checkpoint="last", launch=launch, trust=trust)
    fingerprint = opened.record.data_fingerprint
    data = find_prepared(cache, fingerprint) if fingerprint else None
    if data is None:
        raise UserError(
            f"paths.cache={cache}: does not hold the data {fingerprint} of {run}; name the cache of its training"
        )
    rows = data.tokenizer.vocabulary_size
    models = (
        build_model(opened.config, vocabulary_size=rows).eval().to(place),
        opened.model(vocabulary_size=rows, device=place),
    )
    stream = EvaluationStream(
        data.split("dev", limit=sentences),
        tokens=BATCH_TOKENS,
        start_id=start_id(data.tokenizer, models[0].target_start),
    )
    batches = [(batch.source.to(place), batch.target_input.to(place)) for batch in stream]
    with memory_errors_explained("sentences"):
        initial, trained = (_measure(model, batches) for model in models)
    if not all(math.isfinite(each.variance.sum()) for each in trained):
        raise RunFailedError(f"{run}: logits of its attention are not finite; the model diverged in training")
    return initial, trained


def _measure(model: TranslationModel[object], batches: Sequence[tuple[FlatTokens, FlatTokens]]) -> AttentionSharpness:
    assert isinstance(model, Transformer), "only it has this kind of attention"
    parts = (attention_sharpness(model, source, target_input) for source, target_input in batches)
    return AttentionSharpness(*(reduce(add, of_kind) for of_kind in zip(*parts, strict=True)))
