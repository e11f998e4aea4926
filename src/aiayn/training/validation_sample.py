"""A sample of the development set that every validation decodes, for BLEU or F1 during training."""

from typing import Any, final

import numpy as np
import torch

from aiayn.config.schema import BeamSearchConfig
from aiayn.data.preparation.prepared import PreparedData
from aiayn.evaluation.bleu import corpus_bleu
from aiayn.evaluation.samples import spread
from aiayn.models.translation_model import TranslationModel
from aiayn.registry import added_task, named
from aiayn.training.process_group import ALONE, ProcessGroup
from aiayn.training.scoring import best_texts, search_all


@final
class ValidationSample:
    """Fixed sentences, spread evenly over the development set, decoded with the run's search.

    `metric` is the score's name: `val/bleu`, `val/bleu_none` for pretokenized data, `val/f1` for trees.
    """

    def __init__(
        self,
        data: PreparedData,
        search: BeamSearchConfig,
        *,
        sentences: int,
        bleu_tokenizer: str,
        group: ProcessGroup = ALONE,
    ) -> None:
        split = data.split("dev")
        chosen = spread(len(split), sentences)
        mask = np.zeros(len(split), np.bool_)
        mask[chosen] = True
        self._data, self._search, self._group, self._bleu_tokenizer = data, search, group, bleu_tokenizer
        self._sources = split.source.only(mask)
        self._task = added_task(data.task)
        self.metric = "val/bleu_none" if data.pretokenized else "val/bleu"
        if self._task:
            self.metric = self._task.metric
        sides = split.source_lines(), split.gold_trees() if self._task else data.references(split)
        self._lines = [[side[index] for index in chosen] for side in sides]

    def score(self, model: TranslationModel[Any], *, device: torch.device) -> float:
        """The score of a model in evaluation mode, 0 to 100, on every rank; a collective operation."""
        data, (sources, references) = self._data, self._lines
        found = search_all(model, self._sources, data.tokenizer, self._search, device=device, group=self._group)
        outputs = best_texts(found, data.tokenizer)
        if self._task:
            return float(named(self._task.validation_score)(data, sources, references, outputs))
        return corpus_bleu(outputs, references, tokenize=self._bleu_tokenizer).score
