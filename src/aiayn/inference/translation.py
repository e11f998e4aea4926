"""Lines of text through a run's model: standard input to standard output."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiayn.config.command_schema import TranslateConfig
from aiayn.data.batches.sentences import SentencesInMemory
from aiayn.data.lines import one_line
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError
from aiayn.inference.engines import FindHypotheses, chosen_engine, refuse_engine
from aiayn.inference.n_best import n_best_line, refuse_n_best
from aiayn.inference.opened_run import usable_device
from aiayn.inference.opened_runs import open_all
from aiayn.inference.text_stream import input_is_terminal, input_lines, progress_bar, windows, write_lines
from aiayn.system.resource_errors import memory_errors_explained

logger = logging.getLogger("aiayn")


def translate_input(request: TranslateConfig) -> None:
    """Write one line for each line of standard input, in its order, a window at a time.

    Raises:
        UserError: the run, a setting or the input cannot be used; the lines before are written.
    """
    if request.window < 1:
        raise UserError(f"window={request.window}: must be at least 1")
    refuse_engine(request)
    runs = open_all(request.run, checkpoint=request.checkpoint, launch=request.launch, decoding=request.decoding)
    n_best = request.n_best
    refuse_n_best(n_best, beam_size=runs.config.decoding.beam_size)
    longest, device, tokenizer = runs.longest(request.max_length), usable_device(request.device), runs.tokenizer()
    engine = chosen_engine(request, runs, tokenizer, device=device)
    translator = Translator(engine.find, tokenizer, longest, n_best=n_best or 1)
    first = 1
    with engine.held(), progress_bar("translate", " lines") as advance:
        for lines in windows(input_lines(), 1 if input_is_terminal() else request.window):
            with memory_errors_explained("decoding.batch_tokens, decoding.beam_size or max_length"):
                found = translator.translate(lines, first=first, advance=advance)
            if n_best is None:
                write_lines(translator.text(best) for best in found)
            else:
                write_lines(
                    n_best_line(number, line, best, tokenizer)
                    for number, (line, best) in enumerate(zip(lines, found, strict=True), start=first)
                )
            first += len(lines)


@dataclass(frozen=True)
class Translator:
    """A search ready to translate text."""

    find: FindHypotheses
    tokenizer: AnyTokenizer
    max_length: int
    """Tokens of a line, end mark included, beyond which its end is not read."""
    n_best: int = 1

    def translate(
        self, lines: Sequence[str], *, first: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each line, best first; none for a blank line.

        Args:
            lines: raw text.
            first: the number of the first one, for warnings.
            advance: told how many lines each batch finished.
        """
        numbers = [number for number, line in enumerate(lines) if line.strip()]
        encoded = self.tokenizer.encode_batch([lines[number] for number in numbers])
        for number, ids in zip(numbers, encoded, strict=True):
            if len(ids) >= self.max_length:
                logger.warning(
                    "line %d: %d tokens with its end mark, of which at most %d are read: its end is left out",
                    first + number,
                    len(ids) + 1,
                    self.max_length,
                )
        sources = SentencesInMemory.of([ids[: self.max_length - 1] for ids in encoded], eos_id=self.tokenizer.eos_id)
        advance(len(lines) - len(numbers))
        found = self.find(sources, n_best=self.n_best, advance=advance)
        results: list[list[Hypothesis]] = [[] for _ in lines]
        for number, hypotheses in zip(numbers, found, strict=True):
            results[number] = hypotheses
        return results

    def text(self, hypotheses: Sequence[Hypothesis]) -> str:
        """The best hypothesis as one line of text; an empty one where there is none."""
        return one_line(self.tokenizer.decode(hypotheses[0].tokens)) if hypotheses else ""
