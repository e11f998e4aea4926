"""A sample of the development set that every validation decodes, for BLEU or F1 during training."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np
import torch

from aiayn.config.schema import BeamSearchConfig
from aiayn.data.batches.sentences import SentencesInMemory
from aiayn.data.lines import one_line
from aiayn.data.preparation.prepared import PreparedData
from aiayn.evaluation.bleu import corpus_bleu
from aiayn.evaluation.brackets import score_brackets
from aiayn.evaluation.parses import parses
from aiayn.evaluation.samples import spread
from aiayn.models.translation_model import TranslationModel
from aiayn.training.process_group import ALONE, ProcessGroup
from aiayn.training.scoring import search_all
from aiayn.trees.reading import read_tree


@final
class ValidationSample:
    """Fixed sentences, spread evenly over the development set, decoded with the run's search.

    `metric` is the score's name: `val/bleu`, `val/bleu_none` for pretokenized data, `val/f1` for trees.
    """

    metric: str
    _judge: Callable[[Sequence[str]], float]

    def __init__(
        self, data: PreparedData, search: BeamSearchConfig, *, sentences: int, group: ProcessGroup = ALONE
    ) -> None:
        split = data.split("dev")
        chosen = spread(len(split), sentences)
        mask = np.zeros(len(split), np.bool_)
        mask[chosen] = True
        self._sources = SentencesInMemory(split.source.tokens, split.source.offsets).only(mask)
        sources, references = split.source_lines(), split.target_lines()
        self._tokenizer = data.tokenizer
        self._search = search
        self._group = group
        if data.task == "parsing":
            gold = split.gold_trees()
            self.metric = "val/f1"
            self._judge = partial(
                _f1, [sources[index] for index in chosen], [gold[index] for index in chosen], data.tags
            )
        else:
            self.metric = "val/bleu_none" if data.pretokenized else "val/bleu"
            tokenize = "none" if data.pretokenized else "13a"
            self._judge = partial(_bleu, [references[index] for index in chosen], tokenize)

    def score(self, model: TranslationModel[Any], *, device: torch.device) -> float:
        """The score of a model in evaluation mode, 0 to 100, on every rank; a collective operation."""
        found = search_all(model, self._sources, self._tokenizer, self._search, device=device, group=self._group)
        decoded = self._tokenizer.decode_batch(best.tokens for best, *_ in found)
        return self._judge([one_line(line) for line in decoded])


def _bleu(references: Sequence[str], tokenize: str, outputs: Sequence[str]) -> float:
    return corpus_bleu(outputs, references, tokenize=tokenize).score


def _f1(sources: Sequence[str], gold: Sequence[str], tags: bool, outputs: Sequence[str]) -> float:
    return score_brackets(map(read_tree, gold), parses(sources, outputs, tags=tags).trees, tags=tags).f1
