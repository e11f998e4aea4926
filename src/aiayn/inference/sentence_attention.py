"""The attention weights of a run's model on lines of standard input."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from aiayn.config.command_schema import AttentionConfig, AttentionUnits
from aiayn.data.units import token_units, word_units
from aiayn.data.vocabulary import start_id
from aiayn.errors import RunFailedError, UserError
from aiayn.flat_tokens import FlatTokens
from aiayn.inference.opened_runs import open_for_use, usable_device
from aiayn.inference.text_stream import INPUT, input_lines
from aiayn.inference.translation import Translator
from aiayn.models.attention_weights import attention_weights
from aiayn.models.transformer import Transformer
from aiayn.runs.attention_maps import AttendedSentence, AttentionMaps, Weights, write_attention_maps
from aiayn.system.resource_errors import disk_errors_explained, memory_errors_explained

logger = logging.getLogger("aiayn")


@dataclass(frozen=True)
class Line:
    """A line of the input."""

    number: int
    """From 1."""
    source: str
    target: str | None
    """None: the model translates the source."""


def attend_to_input(request: AttentionConfig) -> AttentionMaps:
    """The attention maps of each line that is not blank, also written to the run directory.

    Raises:
        UserError: the run, a setting or the input cannot be used.
        RunFailedError: out of memory, or the weights are not finite.
    """
    run = open_for_use(
        request.run,
        checkpoint=request.checkpoint,
        launch=request.launch,
        trust=request.trust,
        decoding=request.decoding,
    )
    max_length = min(request.max_length, run.config.model.max_positions)
    device, tokenizer = usable_device(request.device), run.tokenizer()
    lines = list(_lines(request.max_sentences))
    model = run.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    assert isinstance(model, Transformer), "the command refuses others"
    translator = Translator(model, tokenizer, run.config.decoding, device, max_length)
    with memory_errors_explained("max_length, max_sentences or decoding.batch_tokens"):
        sentences = AttentionReader(model, translator, request.units).read(lines)
    if not sentences:
        raise UserError(f"{INPUT}: no sentence to draw; give it lines, as in < sentences.txt")
    maps = AttentionMaps(run.step, request.units.value, sentences)
    with disk_errors_explained(f"run={request.run}"):
        write_attention_maps(run.directory.attention / f"{run.checkpoint_name}.json", maps)
    return maps


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


def _lines(limit: int) -> Iterator[Line]:
    for number, text in enumerate(islice(input_lines(), limit + 1), start=1):
        if number > limit:
            logger.warning("lines after the first %d are not drawn (max_sentences)", limit)
            break
        source, *target = text.split("\t")
        if len(target) > 1:
            raise UserError(f"{INPUT}, line {number}: has {len(target)} tabs; each line is source or source<TAB>target")
        if text.strip():
            yield Line(number, source, target[0] if target else None)
