"""COMET, a learned score of translations: an extra, since it needs a language model of two gigabytes."""

import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from aiayn.errors import UserError
from aiayn.evaluation.score import Score
from aiayn.system import files

BATCH = 16
"""Sentences that the model reads at once."""


def corpus_comet(sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], *, model: str) -> Score:
    """The mean COMET of a corpus, times 100.

    Args:
        sources: the source sentences.
        hypotheses: one for each, detokenised.
        references: one for each.
        model: a checkpoint file, or a name on the Hugging Face hub, which is downloaded once.

    Raises:
        UserError: COMET is not installed, or has no such model.
    """
    try:
        from comet import download_model, load_from_checkpoint
    except ImportError as error:
        # COMET needs numpy 1, which ends at Python 3.12.
        python = "" if sys.version_info < (3, 13) else f" and Python 3.11 or 3.12, not {platform.python_version()}"
        raise UserError(f'metrics=comet needs COMET ({error}){python}: pip install -e ".[comet]"') from error
    try:
        path = model if files.is_file(Path(model)) else download_model(model)
        loaded = load_from_checkpoint(path)
    except (OSError, KeyError, ValueError) as error:
        raise UserError(f"comet_model={model}: cannot be loaded ({error}); state a checkpoint file") from error
    triples = zip(sources, hypotheses, references, strict=True)
    data = [{"src": source, "mt": hypothesis, "ref": reference} for source, hypothesis, reference in triples]
    output = loaded.predict(data, batch_size=BATCH, gpus=0, progress_bar=False)
    return Score(100 * float(output.system_score), f"nrefs:1|model:{model}|comet:{version('unbabel-comet')}")
