"""A sample of the development set that is translated at every validation: BLEU while a run still trains."""

from typing import Any, final

import numpy as np
import torch

from aiayn.data.lines import one_line
from aiayn.data.prepared import PreparedData
from aiayn.data.sentences import SentencesInMemory
from aiayn.evaluation.bleu import corpus_bleu
from aiayn.evaluation.samples import spread
from aiayn.models.translation_model import TranslationModel
from aiayn.training.process_group import ALONE, ProcessGroup
from aiayn.training.scoring import Search, search_all


@final
class ValidationSample:
    """The same sentences each time, spread evenly over the development set, and the run's own search.

    Args:
        data: the prepared corpus.
        search: how the run decodes at its end.
        sentences: how many; at most all there are.
        group: the ranks that share the decoding.
    """

    def __init__(self, data: PreparedData, search: Search, *, sentences: int, group: ProcessGroup = ALONE) -> None:
        split = data.split("dev")
        chosen = spread(len(split), sentences)
        mask = np.zeros(len(split), np.bool_)
        mask[chosen] = True
        self._sources = SentencesInMemory(split.source.tokens, split.source.offsets).only(mask)
        references = split.target_lines()
        self._references = [references[index] for index in chosen]
        self._tokenizer = data.tokenizer
        self._tokenize = "none" if data.pretokenized else "13a"
        self._search = search
        self._group = group

    @property
    def metric(self) -> str:
        """What the score is called: BLEU of words as they came has another name than BLEU of detokenised text."""
        return "val/bleu_none" if self._tokenize == "none" else "val/bleu"

    def bleu(self, model: TranslationModel[Any], *, device: torch.device) -> float:
        """BLEU, 0 to 100, of what the model makes of the sample; all ranks take part, and each gets the score.

        Args:
            model: in evaluation mode, on `device`; it stays as it is.
            device: where the model is.
        """
        found = search_all(model, self._sources, self._tokenizer, self._search, device=device, group=self._group)
        decoded = self._tokenizer.decode_batch(best.tokens for best, *_ in found)
        return corpus_bleu([one_line(line) for line in decoded], self._references, tokenize=self._tokenize).score
