"""Parse lines of standard input with a run's model."""

import logging
from collections.abc import Sequence

from aiayn.config.data_schema import ParsedDataConfig
from aiayn.data.lines import one_line
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError
from aiayn.extensions.parsing.parses import parses
from aiayn.extensions.parsing.reading import words_of_text
from aiayn.extensions.parsing.schema import ParseConfig
from aiayn.inference.opened_runs import OpenedRun, open_all
from aiayn.inference.text_stream import write_lines
from aiayn.inference.translation import Translator

logger = logging.getLogger("aiayn")


def parse_input(request: ParseConfig) -> None:
    """Write a tree in brackets for each line of standard input, in order, a window at a time; a blank line stays blank.

    Raises:
        UserError: the run, a setting or the input cannot be used; the lines before are written.
    """
    runs = open_all(
        request.run,
        checkpoint=request.checkpoint,
        launch=request.launch,
        trust=request.trust,
        decoding=request.decoding,
    )
    has_tags, *_ = (_has_tags(run) for run in runs.members)
    translator = Translator.from_runs(runs, request)
    outputs = repaired = 0

    def write(sentences: Sequence[str], found: Sequence[Sequence[Hypothesis]]) -> None:
        nonlocal outputs, repaired
        texts = [translator.text(each) for sentence, each in zip(sentences, found, strict=True) if sentence]
        parsed = parses(filter(None, sentences), texts, tags=has_tags)
        outputs += len(parsed.trees)
        repaired += len(parsed.trees) - parsed.well_formed
        trees = iter(parsed.trees)
        write_lines(one_line(str(next(trees))) if sentence else "" for sentence in sentences)

    translator.stream("parse", write, window=request.window, preprocess=lambda line: " ".join(words_of_text(line)))
    if repaired:
        logger.info("%d of %d outputs were not trees over their words and were repaired", repaired, outputs)


def _has_tags(run: OpenedRun) -> bool:
    """Whether the run's trees have part-of-speech tags; UserError if it was not trained on trees."""
    data = run.config.data
    if not isinstance(data, ParsedDataConfig):
        raise UserError(
            f"run={run.directory.path}: trained on {data.name}, which has no trees; aiayn translate can use it"
        )
    return data.tags
