"""Parsing as a task of the core: its scores, its validation, and its constraint of searches."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from aiayn.config.schema import BeamSearchConfig
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.split_files import PreparedSplit
from aiayn.evaluation.bracket_counts import total
from aiayn.extensions.parsing.brackets import SIGNATURE, score_brackets, score_sentences
from aiayn.extensions.parsing.open_brackets import BracketVocabulary
from aiayn.extensions.parsing.parses import parses
from aiayn.extensions.parsing.reading import read_tree
from aiayn.extensions.parsing.symbols import SymbolTokenizer
from aiayn.inference.quality import Quality
from aiayn.models.translation_model import TranslationModel
from aiayn.runs.record import RecordedBrackets
from aiayn.system import files


def quality(data: PreparedData, split: PreparedSplit, outputs: Sequence[str], path: Path) -> Quality:
    """The brackets of the trees that a parser's outputs are; the trees are written to a file."""
    found = parses(split.source_lines(), outputs, tags=data.tags)
    files.write_text(path, "".join(f"{tree}\n" for tree in found.trees))
    sentences = list(score_sentences(map(read_tree, split.gold_trees()), found.trees, tags=data.tags))
    scores = total(sentences)
    brackets = RecordedBrackets(
        f1=scores.f1,
        precision=scores.precision,
        recall=scores.recall,
        exact_match=scores.exact_match,
        tagging_accuracy=scores.tagging_accuracy,
        well_formed=found.well_formed_rate,
        signature=SIGNATURE,
    )
    return Quality(brackets=brackets, sentences=[((), each) for each in sentences])


def validation_score(
    data: PreparedData, sources: Sequence[str], references: Sequence[str], outputs: Sequence[str]
) -> float:
    """The F1 of some outputs, 0 to 100."""
    trees = parses(sources, outputs, tags=data.tags).trees
    return score_brackets(map(read_tree, references), trees, tags=data.tags).f1


def constraint(
    model: TranslationModel[Any], tokenizer: SymbolTokenizer, search: BeamSearchConfig, device: torch.device
) -> BracketVocabulary:
    """The brackets of trees, as deep as the length of outputs allows."""
    deepest = max(1, search.max_extra_length // 2)
    return BracketVocabulary.of(
        tokenizer.brackets,
        tokenizer.words_of_trees,
        eos_id=tokenizer.eos_id,
        vocabulary_size=model.vocabulary_size,
        max_depth=deepest,
        max_openings=deepest,
        device=device,
    )
