"""Comparisons of a model of another library with the one that `aiayn import` makes from its checkpoint."""

import dataclasses
import math
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import libraries
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from oracle import Oracle
from random_translation import ADAM_EPSILON, ANSWERS, BETAS, LEARNING_RATE, SMOOTHING
from torch import Tensor
from training_step import TrainingStep

from aiayn.builders.training import build_module
from aiayn.commands.front_end import main
from aiayn.config.schema import DecodingConfig, ProcessConfig, SmoothedClasses
from aiayn.data.batches.collation import TranslationBatch, collate
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.data.vocabulary import start_id
from aiayn.decoding.step import Hypothesis
from aiayn.inference.opened_runs import OpenedRun, open_for_use
from aiayn.models.translation_model import TranslationModel
from aiayn.training.module import TranslationModule
from aiayn.training.scoring import search_all

CPU = torch.device("cpu")

FLOAT64 = 1e-6
"""Of values around 1; fairseq computes the angles of its sinusoids in float32."""


def answers_of(program: str, library: str, folder: Path) -> dict[str, Any]:
    """Run a reference program of this folder; the test is skipped if its library cannot be installed."""
    if (reason := libraries.missing(library)) is not None:
        text = f"{library} is not in {libraries.ENVIRONMENT.name}: {reason}"
        if os.environ.get("AIAYN_REQUIRE_ORACLES") == "1":
            pytest.fail(text)
        pytest.skip(text)
    command = [str(libraries.python()), "-W", "ignore", str(libraries.FOLDER / program), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = torch.load(folder / ANSWERS, weights_only=True)
    return content


class Imported:
    """The run directory of a checkpoint, and the answers of the library."""

    def __init__(self, checkpoint: Path, folder: Path, answers: Mapping[str, Any]) -> None:
        run = folder / "run"
        assert main(["import", f"checkpoint={checkpoint}", f"output={run}", f"paths.cache={folder}"]) == 0
        self.run: OpenedRun = open_for_use(
            str(run), checkpoint="last", launch=ProcessConfig(keep_allocator_memory=False)
        )
        self.answers = answers
        self.tokenizer = self.run.tokenizer()

    def model(self) -> TranslationModel[Any]:
        """The model, in evaluation mode."""
        return self.run.model(vocabulary_size=self.tokenizer.vocabulary_size, device=CPU)

    def batch(self) -> TranslationBatch:
        """The pairs whose loss the library differentiated."""
        model, eos_id = self.model(), self.tokenizer.eos_id
        source, target = (Sentences.of([ids[:-1] for ids in side], eos_id=eos_id) for side in self.answers["pairs"])
        numbers = np.arange(len(source.lengths))
        return collate(PairsInMemory(source, target), numbers, start_id=start_id(self.tokenizer, model.target_start))

    def search(self, **settings: Any) -> list[Hypothesis]:
        """The best output of each source, by the run's search with other settings."""
        decoding: DecodingConfig = dataclasses.replace(self.run.config.decoding, **settings)
        eos_id = self.tokenizer.eos_id
        sources = Sentences.of([ids[:-1] for ids in self.answers["sources"]], eos_id=eos_id)
        return [best for best, *_ in search_all(self.model(), sources, self.tokenizer, decoding, device=CPU)]

    def module(self, *, smoothed_classes: SmoothedClasses, adam_epsilon: float) -> TranslationModule:
        """Our training of the model in float64 without dropout, by the library's recipe."""
        config = self.run.config
        d_model = config.model.d_model
        recipe = dataclasses.replace(
            config.optimization,
            label_smoothing=SMOOTHING,
            smoothed_classes=smoothed_classes,
            adam_beta1=BETAS[0],
            adam_beta2=BETAS[1],
            adam_epsilon=adam_epsilon,
            warmup_steps=1,
            learning_rate_factor=LEARNING_RATE * math.sqrt(d_model),  # of step 1 the paper's rate is 1 / sqrt(d_model)
        )
        silent = dataclasses.replace(config.model, dropout=0.0)
        trained = dataclasses.replace(config, model=silent, optimization=recipe)
        opened = dataclasses.replace(self.run, config=trained)
        model = opened.model(vocabulary_size=self.tokenizer.vocabulary_size, device=CPU)
        return build_module(trained, model.double().train(), data_fingerprint="none")


def compare_logits(oracle: Oracle, imported: Imported) -> None:
    """Of every target token, in both precisions."""
    batch, expected = imported.batch(), imported.answers["logits"]
    with torch.no_grad():
        for dtype, tolerance in ((torch.float64, FLOAT64), (torch.float32, 1e-4)):
            logits = imported.model().to(dtype)(batch.source, batch.target_input)
            oracle.agrees(f"logits, {str(dtype).removeprefix('torch.')}", logits, expected, tolerance=tolerance)


def compare_step(
    oracle: Oracle,
    imported: Imported,
    module: TranslationModule,
    converted: Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]],
    *,
    folder: Path,
    without_rows: Sequence[int] = (),
) -> None:
    """Loss, gradients and the weights after a step of Adam; some rows of the embeddings are not compared."""
    answers, batch = imported.answers, imported.batch()
    step = TrainingStep(module, [batch], folder, precision="64-true")
    oracle.agrees("label-smoothed loss, float64", step.loss, answers["loss"], tolerance=FLOAT64)
    rows = [row for row in range(imported.tokenizer.vocabulary_size) if row not in without_rows]
    for quantity, own, theirs, unit, tolerance in (
        ("gradients, float64", step.gradients, answers["gradients"], 1.0, FLOAT64),
        ("first step of Adam, in learning rates", step.after, answers["after"], LEARNING_RATE, 0.01),
    ):
        expected = converted(theirs)
        trained = own.keys() - {"output_bias"}  # no parameter in transformers
        assert trained <= expected.keys()
        for name in sorted(trained):
            chosen = rows if name == "embedding.weight" else slice(None)
            oracle.agrees(quantity, own[name][chosen] / unit, expected[name][chosen] / unit, tolerance=tolerance)


def are_different(
    imported: Imported, found: Sequence[Hypothesis], expected: Sequence[Sequence[int]]
) -> NDArray[np.bool_]:
    """Which outputs have other tokens, end marks included, [outputs]."""
    own = [[*each.tokens, *([imported.tokenizer.eos_id] if each.finished else [])] for each in found]
    return np.array([ours != [*theirs] for ours, theirs in zip(own, expected, strict=True)])


def adam_epsilon_before_correction() -> float:
    """torch's epsilon that does at step 1 as much as one that is added before the second moment's bias is corrected."""
    return ADAM_EPSILON / math.sqrt(1 - BETAS[1])
