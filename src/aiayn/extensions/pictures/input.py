"""The attention weights of a run's model on lines of standard input."""

import logging
from collections.abc import Iterator
from itertools import islice

from aiayn.errors import UserError
from aiayn.extensions.pictures.schema import AttentionConfig
from aiayn.inference.opened_runs import open_for_use, usable_device
from aiayn.inference.sentence_attention import AttentionReader, Line
from aiayn.inference.text_stream import INPUT, input_lines
from aiayn.inference.translation import Translator
from aiayn.models.transformer import Transformer
from aiayn.runs.attention_maps import AttentionMaps, write_attention_maps
from aiayn.system.resource_errors import disk_errors_explained, memory_errors_explained

logger = logging.getLogger("aiayn")


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
