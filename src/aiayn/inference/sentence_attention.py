"""What a run's model attends to in lines of standard input."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from aiayn.builders.training import build_search
from aiayn.config.command_schema import AttentionConfig, AttentionUnits
from aiayn.data.units import token_units, word_units
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.errors import RunFailedError, UserError
from aiayn.inference.engines import torch_engine
from aiayn.inference.opened_run import open_for_use, usable_device
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
    """None: the model's own translation is to be taken."""


def attend_to_input(request: AttentionConfig) -> AttentionMaps:
    """The attentions of each line that is not blank; the run directory keeps them, too.

    Raises:
        UserError: the run, a setting or the input cannot be used.
        RunFailedError: memory does not suffice, or the model's weights are no numbers.
    """
    for key, value, least in (("max_sentences", request.max_sentences, 1), ("max_length", request.max_length, 2)):
        if value < least:
            raise UserError(f"{key}={value}: must be at least {least}")
    run = open_for_use(request.run, checkpoint=request.checkpoint, launch=request.launch, decoding=request.decoding)
    longest = min(request.max_length, run.config.model.max_positions)
    device, tokenizer = usable_device(request.device), run.tokenizer()
    lines = list(_lines(request.max_sentences))
    model = run.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    assert isinstance(model, Transformer), "the command refuses others"
    engine = torch_engine(model, tokenizer, build_search(run.config.decoding), device=device)
    attender = Attender(model, tokenizer, Translator(engine.find, tokenizer, longest), request.units, device, longest)
    with memory_errors_explained("max_length, max_sentences or decoding.batch_tokens"):
        sentences = attender.attend(lines)
    if not sentences:
        raise UserError(f"{INPUT}: no sentence to draw; give it lines, as in < sentences.txt")
    maps = AttentionMaps(run.step, request.units.value, sentences)
    with disk_errors_explained(f"run={request.run}"):
        write_attention_maps(run.directory.attention / f"{run.checkpoint_name}.json", maps)
    return maps


@dataclass(frozen=True)
class Attender:
    """A model ready to be asked what it attends to."""

    model: Transformer
    """In evaluation mode, on `device`."""
    tokenizer: AnyTokenizer
    translator: Translator
    """The same model's."""
    units: AttentionUnits
    device: torch.device
    max_length: int
    """Tokens a side, end mark included, beyond which a sentence is left out."""

    def attend(self, lines: Sequence[Line]) -> list[AttendedSentence]:
        """What is attended to in each line that fits; others are warned of."""
        sources = self.tokenizer.encode_batch([line.source for line in lines])
        fitting = [
            (line, source) for line, source in zip(lines, sources, strict=True) if self._fits(line, source, "source")
        ]
        open_ones = [line for line, _ in fitting if line.target is None]
        found = self.translator.translate([line.source for line in open_ones])
        translated = {line.number: list(best.tokens) for line, (best, *_) in zip(open_ones, found, strict=True)}
        attended = []
        for line, source in fitting:
            if line.target is None:
                target = translated[line.number]
            else:
                (target,) = self.tokenizer.encode_batch([line.target])
            if self._fits(line, target, "target"):
                attended.append(self._attended(line.number, source, target))
        return attended

    def _fits(self, line: Line, ids: Sequence[int], side: str) -> bool:
        if len(ids) < self.max_length:
            return True
        logger.warning(
            "line %d: %d %s tokens with the end mark, more than %d (max_length): not drawn",
            line.number,
            len(ids) + 1,
            side,
            self.max_length,
        )
        return False

    def _attended(self, number: int, source: list[int], target: list[int]) -> AttendedSentence:
        """One sentence by itself, so that no other and no pad can change it; token ids come without marks."""
        bos, eos = self.tokenizer.bos_id, self.tokenizer.eos_id
        reads, predicts, source = [bos, *target], [*target, eos], [*source, eos]
        batch = (torch.tensor([ids], device=self.device) for ids in (source, reads))
        # [layers, 1, heads, queries, keys] -> without the batch
        weights = [each[:, 0].double().cpu().numpy() for each in attention_weights(self.model, *batch)]
        cut = word_units if self.units is AttentionUnits.words else token_units
        of_source, of_reads, of_predicts = (cut(self.tokenizer, ids) for ids in (source, reads, predicts))
        if not all(np.isfinite(each).all() for each in weights):
            raise RunFailedError(f"line {number}: the weights are no finite numbers; the model diverged in training")
        encoder, decoder, cross = weights
        return AttendedSentence(
            line=number,
            source=of_source.labels,
            target=of_predicts.labels,
            target_input=of_reads.labels,
            encoder=merged(encoder, queries=of_source.starts, keys=of_source.starts),
            decoder=merged(decoder, queries=of_predicts.starts, keys=of_reads.starts),
            cross=merged(cross, queries=of_predicts.starts, keys=of_source.starts),
        )


def merged(weights: Weights, *, queries: Sequence[int], keys: Sequence[int]) -> Weights:
    """The weights between groups of neighbours, such as the pieces of words: sums over keys, means over queries.

    Args:
        weights: `[layers, heads, queries, keys]`.
        queries: where each group of queries begins, ascending from 0.
        keys: likewise.
    """
    sums = np.add.reduceat(np.add.reduceat(weights, keys, axis=-1), queries, axis=-2)
    result: Weights = sums / np.diff([*queries, weights.shape[-2]])[:, None]
    return result


def _lines(most: int) -> Iterator[Line]:
    """The lines that are not blank, of the first so many.

    Raises:
        UserError: one is neither a source nor a pair.
    """
    for number, text in enumerate(islice(input_lines(), most + 1), start=1):
        if number > most:
            logger.warning("lines after the first %d are not drawn (max_sentences)", most)
            break
        source, *target = text.split("\t")
        if len(target) > 1:
            raise UserError(f"{INPUT}, line {number}: has {len(target)} tabs; each line is source or source<TAB>target")
        if text.strip():
            yield Line(number, source, target[0] if target else None)
