"""The likelihood of given translations: sentence pairs in, one JSON object a pair out."""

import json
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import torch

from aiayn.config.command_schema import ScoreConfig
from aiayn.data.batches.sentences import PairsInMemory, SentencesInMemory
from aiayn.data.lines import aligned_lines
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.errors import RunFailedError, UserError
from aiayn.evaluation.perplexity import perplexity
from aiayn.inference.opened_run import usable_device
from aiayn.inference.opened_runs import open_all
from aiayn.inference.text_stream import INPUT, input_is_terminal, input_lines, progress_bar, windows, write_lines
from aiayn.training.scoring import AnyModel, sentence_likelihoods

logger = logging.getLogger("aiayn")

Pair: TypeAlias = tuple[str, str]
"""Source and target."""


@dataclass(frozen=True)
class PairScore:
    """What the model makes of one pair."""

    nll: float | None
    """Negative log-likelihood of the target without label smoothing, in nats, end mark included; None: too long."""
    tokens: int
    """Tokens of the target, end mark included."""


def score_input(request: ScoreConfig) -> None:
    """Write the score of each pair in the order of the input, a window at a time; in the end their perplexity.

    Raises:
        UserError: the run, a setting or the input cannot be used; the pairs before are written.
        RunFailedError: the model's likelihoods are no numbers.
    """
    for key, value in (("window", request.window), ("batch_tokens", request.batch_tokens)):
        if value is not None and value < 1:
            raise UserError(f"{key}={value}: must be at least 1")
    pairs = _pairs(request)
    runs = open_all(request.run, checkpoint=request.checkpoint, launch=request.launch)
    longest, device, tokenizer = runs.longest(request.max_length), usable_device(request.device), runs.tokenizer()
    model = runs.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    scorer = PairScorer(model, tokenizer, request.batch_tokens or runs.config.decoding.batch_tokens, device, longest)
    waits = request.source is None and input_is_terminal()
    total = _Total()
    with progress_bar("score", " pairs") as advance:
        for window in windows(pairs, 1 if waits else request.window):
            scores = scorer.score(window, first=total.pairs + 1)
            lines = enumerate(scores, start=total.pairs + 1)
            write_lines(json.dumps({"line": number, **asdict(score)}) for number, score in lines)
            total.add(scores)
            advance(len(window))
    logger.info("%s", total)


@dataclass(frozen=True)
class PairScorer:
    """A model ready to score text."""

    model: AnyModel
    """In evaluation mode, on `device`."""
    tokenizer: AnyTokenizer
    batch_tokens: int
    """Budget a side of one batch."""
    device: torch.device
    max_length: int
    """Tokens a side, end mark included, beyond which a pair is not scored: half a sentence has another likelihood."""

    def score(self, pairs: Sequence[Pair], *, first: int = 1) -> list[PairScore]:
        """Each pair's score.

        Args:
            pairs: raw text.
            first: the number of the first one, for warnings.
        """
        sources, targets = (self.tokenizer.encode_batch([pair[side] for pair in pairs]) for side in (0, 1))
        fitting = []
        for number, ids in enumerate(zip(sources, targets, strict=True)):
            if max(map(len, ids)) < self.max_length:
                fitting.append(number)
            else:
                counts = [len(side) + 1 for side in ids]
                logger.warning(
                    "line %d: %d source and %d target tokens with their end marks, more than %d: not scored",
                    first + number,
                    *counts,
                    self.max_length,
                )
        eos_id = self.tokenizer.eos_id
        batch = PairsInMemory(
            *(SentencesInMemory.of([side[number] for number in fitting], eos_id=eos_id) for side in (sources, targets))
        )
        nll, _ = sentence_likelihoods(
            self.model, batch, tokens=self.batch_tokens, bos_id=self.tokenizer.bos_id, device=self.device
        )
        known = dict(zip(fitting, nll.tolist(), strict=True))
        if not all(map(math.isfinite, known.values())):
            raise RunFailedError(
                f"lines {first} to {first + len(pairs) - 1}: a likelihood is no finite number; "
                "the model diverged in training or overflows here"
            )
        return [PairScore(known.get(number), len(ids) + 1) for number, ids in enumerate(targets)]


@dataclass
class _Total:
    """Sums over the pairs so far."""

    pairs: int = 0
    too_long: int = 0
    nll: float = 0.0
    tokens: int = 0

    def add(self, scores: Sequence[PairScore]) -> None:
        self.pairs += len(scores)
        for score in scores:
            if score.nll is None:
                self.too_long += 1
            else:
                self.nll += score.nll
                self.tokens += score.tokens

    def __str__(self) -> str:
        scored = self.pairs - self.too_long
        parts = [f"{scored:,} {'pair' if scored == 1 else 'pairs'}, {self.tokens:,} tokens"]
        if self.tokens:
            parts.append(f"PPL {perplexity([self.nll], [self.tokens]):.4f}")
        if self.too_long:
            parts.append(f"{self.too_long:,} too long, not scored")
        return ", ".join(parts)


def _pairs(request: ScoreConfig) -> Iterator[Pair]:
    """The pairs of two files, or of standard input.

    Raises:
        UserError: one file is named without the other.
    """
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
            tabs = f"{len(rest)} tabs" if rest else "no tab"
            raise UserError(f"{INPUT}, line {number}: has {tabs}; each line is source<TAB>target, with one tab")
        yield source, rest[0]
