"""Models of Marian in transformers compute the same after `aiayn import`."""

from functools import partial
from pathlib import Path

import pytest
from foreign import Imported, answers_of, are_different, compare_logits, compare_step
from oracle import Oracle
from random_translation import ADAM_EPSILON, LAYERS

from aiayn.config.schema import SmoothedClasses
from aiayn.extensions.foreign.marian import converted

LIBRARY = "Marian in transformers 5.23.0"

pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def imported(folder: Path) -> Imported:
    answers = answers_of("marian_reference.py", "transformers", folder)
    return Imported(folder, folder, answers)


def test_logits(oracle: Oracle, imported: Imported) -> None:
    compare_logits(oracle, imported)


def test_a_training_step(oracle: Oracle, imported: Imported, folder: Path) -> None:
    """The row of the pad's embedding is left out: transformers gives it no gradient as the start of outputs.

    The output layer's bias has no gradient there either.
    """
    module = imported.module(smoothed_classes=SmoothedClasses.all, adam_epsilon=ADAM_EPSILON)
    ours = partial(converted, path=folder, num_layers=LAYERS)
    compare_step(oracle, imported, module, ours, folder=folder, without_rows=[imported.tokenizer.pad_id])


@pytest.mark.parametrize(
    ("answer", "rule"), [("outputs", "early_stopping='never'"), ("heuristic", "early_stopping=False")]
)
def test_beam_search(oracle: Oracle, imported: Imported, answer: str, rule: str) -> None:
    found, outputs = imported.search(), imported.answers[answer]
    assert len({tuple(each) for each in outputs}) > 90, "outputs must depend on their sources"
    differing = are_different(imported, found, outputs).mean()
    oracle.agrees(f"beam search, 100 sentences, {rule}: share of outputs that differ", differing, 0, tolerance=0)
