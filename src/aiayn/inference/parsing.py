"""Sentences through a model that parses: standard input to trees on standard output."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from aiayn.builders.training import build_search
from aiayn.config.command_schema import ParseConfig
from aiayn.config.data_schema import ParsedDataConfig
from aiayn.data.lines import one_line
from aiayn.errors import UserError
from aiayn.evaluation.parses import parses
from aiayn.inference.engines import torch_engine
from aiayn.inference.opened_run import OpenedRun, usable_device
from aiayn.inference.opened_runs import open_all
from aiayn.inference.text_stream import input_is_terminal, input_lines, progress_bar, windows, write_lines
from aiayn.inference.translation import Translator
from aiayn.system.resource_errors import memory_errors_explained
from aiayn.trees.reading import words_of_text, write_tree

logger = logging.getLogger("aiayn")


def parse_input(request: ParseConfig) -> None:
    """Write a tree in brackets for each line of standard input, in its order, a window at a time.

    Words are parted as `words_of_text` does. A blank line stays one.

    Raises:
        UserError: the run, a setting or the input cannot be used; the lines before are written.
    """
    if request.window < 1:
        raise UserError(f"window={request.window}: must be at least 1")
    runs = open_all(request.run, checkpoint=request.checkpoint, launch=request.launch, decoding=request.decoding)
    has_tags = [_has_tags(run) for run in runs.members]
    longest, device, tokenizer = runs.longest(request.max_length), usable_device(request.device), runs.tokenizer()
    model = runs.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    engine = torch_engine(model, tokenizer, build_search(runs.config.decoding), device=device)
    translator = Translator(engine.find, tokenizer, longest)
    first = 1
    repairs = _Repairs()
    with engine.held(), progress_bar("parse", " lines") as advance:
        for lines in windows(input_lines(), 1 if input_is_terminal() else request.window):
            sentences = [" ".join(words_of_text(line)) for line in lines]
            with memory_errors_explained("decoding.batch_tokens, decoding.beam_size or max_length"):
                found = translator.translate(sentences, first=first, advance=advance)
            write_lines(_trees(sentences, [translator.text(best) for best in found], repairs, tags=has_tags[0]))
            first += len(lines)
    if repairs.repaired:
        logger.info(
            "%d of %d outputs were no trees over their words, and repaired", repairs.repaired, repairs.sentences
        )


@dataclass
class _Repairs:
    """How many outputs there were so far."""

    sentences: int = 0
    repaired: int = 0
    """Of them, those that were no tree over exactly the words as they came."""


def _has_tags(run: OpenedRun) -> bool:
    """Whether the run writes the words' tags.

    Raises:
        UserError: it does not parse.
    """
    data = run.config.data
    if not isinstance(data, ParsedDataConfig):
        raise UserError(
            f"run={run.directory.path}: trained on {data.name}, which has no trees; aiayn translate can use it"
        )
    return data.tags


def _trees(sentences: Sequence[str], outputs: Sequence[str], repairs: _Repairs, *, tags: bool) -> list[str]:
    """The tree of each sentence, which is blank where that is; what was repaired is counted."""
    written = [(sentence, output) for sentence, output in zip(sentences, outputs, strict=True) if sentence]
    if not written:
        return [""] * len(sentences)
    found = parses(*zip(*written, strict=True), tags=tags)
    repairs.sentences += len(found.trees)
    repairs.repaired += len(found.trees) - found.well_formed
    trees = iter(found.trees)
    return [one_line(write_tree(next(trees))) if sentence else "" for sentence in sentences]
