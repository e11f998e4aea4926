"""The attention weights of a model on sentences."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aiayn.config.command_schema import AttentionUnits
from aiayn.data.units import token_units, word_units
from aiayn.data.vocabulary import start_id
from aiayn.errors import RunFailedError
from aiayn.flat_tokens import FlatTokens
from aiayn.inference.translation import Translator
from aiayn.models.attention_weights import attention_weights
from aiayn.models.transformer import Transformer
from aiayn.runs.attention_maps import AttendedSentence, Weights

logger = logging.getLogger("aiayn")


@dataclass(frozen=True)
class Line:
    """A line of the input."""

    number: int
    """From 1."""
    source: str
    target: str | None
    """None: the model translates the source."""


@dataclass(frozen=True)
class AttentionReader:
    """Reads the attention weights of a model."""

    model: Transformer
    translator: Translator
    """Of the same model; longer sentences than its `max_length` are left out."""
    units: AttentionUnits

    def read(self, lines: Sequence[Line]) -> list[AttendedSentence]:
        """The attention maps of each line that fits; others are logged."""
        tokenizer, attended = self.translator.tokenizer, []
        for line in lines:
            (source,) = tokenizer.encode_batch([line.source])
            if not self._fits(line, source, "source"):
                continue
            if line.target is None:
                ((best, *_),) = self.translator.translate([line.source])
                target = list(best.tokens)
            else:
                (target,) = tokenizer.encode_batch([line.target])
            if self._fits(line, target, "target"):
                attended.append(self._attended(line.number, source, target))
        return attended

    def _fits(self, line: Line, ids: Sequence[int], side: str) -> bool:
        if len(ids) < self.translator.max_length:
            return True
        logger.warning(
            "line %d: %d %s tokens with the end mark, more than %d (max_length): not drawn",
            line.number,
            len(ids) + 1,
            side,
            self.translator.max_length,
        )
        return False

    def _attended(self, number: int, source: list[int], target: list[int]) -> AttendedSentence:
        """Read one sentence in a batch of its own, without padding; token ids come without marks."""
        tokenizer, device = self.translator.tokenizer, self.translator.device
        start, eos = start_id(tokenizer, self.model.target_start), tokenizer.eos_id
        reads, predicts, source = [start, *target], [*target, eos], [*source, eos]
        batch = (FlatTokens.of([ids]).to(device) for ids in (source, reads))
        # [layers, 1, heads, queries, keys] -> without the batch
        weights = [each[:, 0].double().cpu().numpy() for each in attention_weights(self.model, *batch)]
        units_of = word_units if self.units is AttentionUnits.words else token_units
        of_source, of_reads, of_predicts = (units_of(tokenizer, ids) for ids in (source, reads, predicts))
        if not all(np.isfinite(each).all() for each in weights):
            raise RunFailedError(f"line {number}: the weights are not finite; the model diverged in training")
        encoder, decoder, cross = weights
        return AttendedSentence(
            line=number,
            source=of_source.labels,
            target=of_predicts.labels,
            target_input=of_reads.labels,
            encoder=merge_units(encoder, queries=of_source.starts, keys=of_source.starts),
            decoder=merge_units(decoder, queries=of_predicts.starts, keys=of_reads.starts),
            cross=merge_units(cross, queries=of_predicts.starts, keys=of_source.starts),
        )


def merge_units(weights: Weights, *, queries: Sequence[int], keys: Sequence[int]) -> Weights:
    """Weights between groups of positions, such as words: sums over keys, means over queries.

    `weights` are `[layers, heads, queries, keys]`; `queries` and `keys` are the starts of the groups, from 0.
    """
    sums = np.add.reduceat(np.add.reduceat(weights, keys, axis=-1), queries, axis=-2)
    result: Weights = sums / np.diff([*queries, weights.shape[-2]])[:, None]
    return result
