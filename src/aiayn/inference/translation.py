"""Translate lines of standard input with a run's model."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Self

import torch

from aiayn.config.command_schema import TranslateConfig, UseConfig
from aiayn.config.schema import BeamSearchConfig
from aiayn.data.batches.sentences import Sentences
from aiayn.data.lines import one_line
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.inference.n_best import check_n_best, n_best_line
from aiayn.inference.opened_runs import OpenedRuns, open_all, usable_device
from aiayn.inference.text_stream import input_lines, progress_bar, window_size, windows, write_lines
from aiayn.models.kernels.matmul import packed
from aiayn.training.scoring import AnyModel, search_all

logger = logging.getLogger("aiayn")


def translate_input(request: TranslateConfig) -> None:
    """Write one line for each line of standard input, in order, a window at a time.

    Raises:
        UserError: the run, a setting or the input cannot be used; the lines before are written.
    """
    n_best = request.n_best
    runs = open_all(
        request.run,
        checkpoint=request.checkpoint,
        launch=request.launch,
        trust=request.trust,
        decoding=request.decoding,
    )
    check_n_best(n_best, beam_size=runs.config.decoding.beam_size)
    translator = Translator.from_runs(runs, request, n_best=n_best or 1)
    numbers = count(1)

    def write(lines: Sequence[str], found: Sequence[Sequence[Hypothesis]]) -> None:
        if n_best is None:
            write_lines(map(translator.text, found))
        else:
            pairs = zip(lines, found, strict=True)
            write_lines(n_best_line(next(numbers), *pair, translator.tokenizer) for pair in pairs)

    translator.stream("translate", write, window=request.window)


@dataclass(frozen=True)
class Translator:
    """A model and a search that translate text."""

    model: AnyModel
    """In evaluation mode, on `device`."""
    tokenizer: AnyTokenizer
    search: BeamSearchConfig
    device: torch.device
    max_length: int
    """Longer lines are truncated to this many tokens, end mark included."""
    n_best: int = 1

    @classmethod
    def from_runs(cls, runs: OpenedRuns, request: UseConfig, *, n_best: int = 1) -> Self:
        """Load tokenizer and model for a command."""
        max_length, device, tokenizer = (
            runs.max_length(request.max_length),
            usable_device(request.device),
            runs.tokenizer(),
        )
        model = runs.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
        return cls(model, tokenizer, runs.config.decoding, device, max_length, n_best)

    def stream(
        self,
        title: str,
        write: Callable[[Sequence[str], Sequence[Sequence[Hypothesis]]], None],
        *,
        window: int,
        preprocess: Callable[[str], str] = str,
    ) -> None:
        """Translate standard input, preprocessed line by line; `write` gets each window and its hypotheses."""
        first = 1
        with packed(self.model), progress_bar(title, " lines") as advance:
            for raw in windows(input_lines(), window_size(window)):
                lines = [preprocess(line) for line in raw]
                found = self.translate(lines, first=first, advance=advance)
                write(lines, found)
                first += len(lines)

    def translate(
        self, lines: Sequence[str], *, first: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each line, best first; none for a blank line.

        `first` is the first line's number, for warnings; `advance` gets the number of lines that each batch finished.
        """
        numbers = [number for number, line in enumerate(lines) if line.strip()]
        encoded = self.tokenizer.encode_batch([lines[number] for number in numbers])
        for number, ids in zip(numbers, encoded, strict=True):
            if len(ids) >= self.max_length:
                logger.warning(
                    "line %d: %d tokens with its end mark, truncated to at most %d (max_length)",
                    first + number,
                    len(ids) + 1,
                    self.max_length,
                )
        sources = Sentences.of([ids[: self.max_length - 1] for ids in encoded], eos_id=self.tokenizer.eos_id)
        advance(len(lines) - len(numbers))
        found = search_all(
            self.model,
            sources,
            self.tokenizer,
            self.search,
            device=self.device,
            n_best=self.n_best,
            advance=advance,
        )
        results: list[list[Hypothesis]] = [[] for _ in lines]
        for number, hypotheses in zip(numbers, found, strict=True):
            results[number] = hypotheses
        return results

    def text(self, hypotheses: Sequence[Hypothesis]) -> str:
        """The best hypothesis as one line of text; empty if there is none."""
        return one_line(self.tokenizer.decode(hypotheses[0].tokens)) if hypotheses else ""
