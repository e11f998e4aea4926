"""Checkpoints of fairseq compute the same after `aiayn import`."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from foreign import Imported, adam_epsilon_before_correction, answers_of, are_different, compare_logits, compare_step
from oracle import Oracle
from random_translation import LAYERS

from aiayn.config.schema import SmoothedClasses
from aiayn.extensions.foreign.fairseq import converted, read_fairseq

LIBRARY = "fairseq-fixed 0.12.3.1"

pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def imported(folder: Path) -> Imported:
    answers = answers_of("fairseq_reference.py", "fairseq", folder)
    return Imported(folder / "model.pt", folder, answers)


def test_logits(oracle: Oracle, imported: Imported) -> None:
    compare_logits(oracle, imported)


def test_logits_with_pre_norm_and_two_embeddings(
    oracle: Oracle, imported: Imported, folder: Path, tmp_path: Path
) -> None:
    """Saved as between October 2020 and March 2021: the settings are objects of OmegaConf and of fairseq's classes."""
    answers = {**imported.answers, "logits": imported.answers["variant"]}
    compare_logits(oracle, Imported(folder / "variant.pt", tmp_path, answers))


def test_a_training_step(oracle: Oracle, imported: Imported, folder: Path) -> None:
    """Its Adam adds epsilon before it corrects the second moment, torch's afterwards."""
    module = imported.module(smoothed_classes=SmoothedClasses.wrong, adam_epsilon=adam_epsilon_before_correction())
    ours = partial(converted, path=folder, num_layers=LAYERS, is_tied=True, is_pre=False)
    compare_step(oracle, imported, module, ours, folder=folder)


def test_beam_search(oracle: Oracle, imported: Imported) -> None:
    """fairseq stops when as many outputs as beams have ended: outputs that this changes have the better score here."""
    found = imported.search(beam_size=4, length_penalty_alpha=0.6)
    outputs = imported.answers["outputs"]
    assert len({tuple(each) for each in outputs}) > 90, "outputs must depend on their sources"
    differing = are_different(imported, found, outputs)
    ours, theirs = np.array([each.score for each in found]), np.array(imported.answers["scores"])
    oracle.agrees("beam search, 100 sentences: share of outputs that differ", differing.mean(), 0, tolerance=0.03)
    oracle.agrees("beam search, 100 sentences: scores", ours[~differing], theirs[~differing], tolerance=1e-5)
    assert (ours[differing] > theirs[differing] + 1e-5).all(), (ours[differing], theirs[differing])


def test_a_file_of_2018_has_the_same_weights(imported: Imported, folder: Path) -> None:
    """Written as fairseq 0.6 did: no archive, one matrix for query, key and value, norms by number."""
    weights = read_fairseq(folder / "old.pt").weights
    expected = imported.model().state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weight, expected[name]) for name, weight in weights.items())
