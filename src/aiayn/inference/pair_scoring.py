"""The likelihood of given translations: sentence pairs in, one JSON object per pair out."""

import json
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import torch

from aiayn.config.command_schema import ScoreConfig
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.data.lines import aligned_lines
from aiayn.data.vocabulary import AnyTokenizer, start_id
from aiayn.errors import RunFailedError, UserError
from aiayn.evaluation.perplexity import perplexity
from aiayn.inference.opened_runs import open_all, usable_device
from aiayn.inference.text_stream import INPUT, input_lines, progress_bar, window_size, windows, write_lines
from aiayn.training.scoring import AnyModel, sentence_likelihoods

logger = logging.getLogger("aiayn")

Pair: TypeAlias = tuple[str, str]
"""Source and target."""


@dataclass(frozen=True)
class PairScore:
    """The likelihood of one pair."""

    nll: float | None
    """Unsmoothed, of the target in nats, end mark included; None: the pair is too long."""
    tokens: int
    """Of the target, end mark included."""


def score_input(request: ScoreConfig) -> None:
    """Write the score of each pair in input order, a window at a time; finally log the perplexity.

    Raises:
        UserError: the run, a setting or the input cannot be used; the pairs before are written.
        RunFailedError: a likelihood is not finite.
    """
    size = window_size(request.window) if request.source is None else request.window
    pairs = _pairs(request)
    runs = open_all(request.run, checkpoint=request.checkpoint, launch=request.launch, trust=request.trust)
    max_length, device, tokenizer = runs.max_length(request.max_length), usable_device(request.device), runs.tokenizer()
    model = runs.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    scorer = PairScorer(model, tokenizer, request.batch_tokens or runs.config.decoding.batch_tokens, device, max_length)
    count, scored, nll, tokens = 0, 0, 0.0, 0
    with progress_bar("score", " pairs") as advance:
        for window in windows(pairs, size):
            scores = scorer.score(window, first=count + 1)
            write_lines(json.dumps({"line": line, **asdict(score)}) for line, score in enumerate(scores, count + 1))
            count += len(scores)
            for score in scores:
                if score.nll is not None:
                    scored, nll, tokens = scored + 1, nll + score.nll, tokens + score.tokens
            advance(len(window))
    ppl = f", PPL {perplexity([nll], [tokens]):.4f}" if tokens else ""
    omitted = f", {count - scored:,} too long, not scored" if count > scored else ""
    logger.info("%s pairs, %s tokens%s%s", f"{scored:,}", f"{tokens:,}", ppl, omitted)


@dataclass(frozen=True)
class PairScorer:
    """A model that scores text."""

    model: AnyModel
    """In evaluation mode, on `device`."""
    tokenizer: AnyTokenizer
    batch_tokens: int
    """Per side of a batch."""
    device: torch.device
    max_length: int
    """Pairs with a longer side, end mark included, are not scored: truncation would change the score."""

    def score(self, pairs: Sequence[Pair], *, first: int = 1) -> list[PairScore]:
        """The score of each pair of raw text; `first` is the line number of the first one, for messages."""
        sources, targets = (self.tokenizer.encode_batch([pair[side] for pair in pairs]) for side in (0, 1))
        lengths = [(len(source) + 1, len(target) + 1) for source, target in zip(sources, targets, strict=True)]
        fitting = [number for number, each in enumerate(lengths) if max(each) <= self.max_length]
        for number in sorted({*range(len(pairs))} - {*fitting}):
            logger.warning(
                "line %d: %d source and %d target tokens with their end marks, more than %d: not scored",
                *(first + number, *lengths[number], self.max_length),
            )
        eos_id = self.tokenizer.eos_id
        batch = PairsInMemory(
            *(Sentences.of([side[number] for number in fitting], eos_id=eos_id) for side in (sources, targets))
        )
        start = start_id(self.tokenizer, self.model.target_start)
        nll, _ = sentence_likelihoods(self.model, batch, tokens=self.batch_tokens, start_id=start, device=self.device)
        known = dict(zip(fitting, nll.tolist(), strict=True))
        if not all(map(math.isfinite, known.values())):
            raise RunFailedError(
                f"lines {first} to {first + len(pairs) - 1}: a likelihood is not finite; "
                "the model diverged in training or overflows here"
            )
        return [PairScore(known.get(number), tokens) for number, (_, tokens) in enumerate(lengths)]


def _pairs(request: ScoreConfig) -> Iterator[Pair]:
    if request.source and request.target:
        return aligned_lines(Path(request.source).expanduser(), Path(request.target).expanduser(), "")
    for key, value, other in (("source", request.source, "target"), ("target", request.target, "source")):
        if value is not None:
            raise UserError(f"{key}={value}: state {other} too, or neither for pairs on {INPUT}")
    return _tab_separated(input_lines())


def _tab_separated(lines: Iterator[str]) -> Iterator[Pair]:
    for number, line in enumerate(lines, start=1):
        source, *rest = line.split("\t")
        if len(rest) != 1:
            raise UserError(f"{INPUT}, line {number}: has {len(rest)} tabs; each line is source<TAB>target")
        yield source, rest[0]
