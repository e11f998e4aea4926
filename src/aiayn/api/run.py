"""A run put to use from a program: its record, its configuration, its model."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from aiayn.api.words import folder, text, texts, word, words
from aiayn.commands.composing import typed_configuration
from aiayn.config.computed import key_of
from aiayn.config.freeze import load_config
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.record import Record, SplitScores, read_record
from aiayn.system.torch_environment import set_torch_environment

if TYPE_CHECKING:  # the first use of the model imports torch
    from aiayn.api.loaded import LoadedModel
    from aiayn.inference.pair_scoring import PairScore
    from aiayn.runs.attention_maps import AttendedSentence

EXAMPLE = "['The door is open.']"


def load(
    run: str | PathLike[str],
    *,
    checkpoint: str | int = "last",
    device: str = "auto",
    decoding: Mapping[str, Any] | None = None,
    trust: bool = False,
) -> "Run":
    """Open a run directory; its model is loaded when it is used first.

    Args:
        run: the run directory.
        checkpoint: last, best, average or an optimizer step.
        device: cpu, cuda, cuda:<n>, or auto: CUDA if available.
        decoding: search settings that differ from the run's, as in {"beam_size": 8}.
        trust: run the plugged-in classes of a run outside the folder runs, if their files are those of its training.

    Raises:
        UserError: there is no such run.
    """
    directory = open_run(fspath(folder(run, "run")))
    return Run(directory, checkpoint=checkpoint, device=device, decoding=decoding, trust=trust)


class Run:
    """A run directory, and the model of one of its checkpoints, which is loaded at its first use and kept."""

    def __init__(
        self,
        directory: RunDirectory,
        *,
        checkpoint: str | int = "last",
        device: str = "auto",
        decoding: Mapping[str, Any] | None = None,
        trust: bool = False,
    ) -> None:
        self._directory = directory
        self._device = device
        self._overrides = (
            word("run", str(directory.path)),
            word("checkpoint", str(checkpoint)),
            f"trust={str(trust).lower()}",
            *words("decoding", decoding),
        )

    def __repr__(self) -> str:
        record = self.record
        scores = (f"{split} {each.quality_name} {each.quality.score:.2f}" for split, each in record.scores.items())
        return f"Run({', '.join([str(self.path), record.status.value, *scores])})"

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._directory.path

    @property
    def record(self) -> Record:
        """The record as it is now, `run.json`; docs/record.md lists its fields."""
        return read_record(self._directory.record)

    @cached_property
    def config(self) -> TrainConfig:
        """The frozen configuration."""
        return load_config(self._directory.config)

    @property
    def metrics(self) -> list[dict[str, float | None]]:
        """The lines of `metrics.jsonl` so far, such as {"step": 200, "val/ppl": 3.1}; null is None."""
        return [values for _, values in self._directory.metric_rows()]

    @cached_property
    def _model(self) -> "LoadedModel":
        request = typed_configuration("translate", [*self._overrides, word("device", self._device)])
        set_torch_environment()
        from aiayn.api.loaded import LoadedModel

        return LoadedModel.of(request)

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Translate lines as `aiayn translate` does; a blank line stays blank.

        Raises:
            UserError: the checkpoint or a setting cannot be used.
            RunFailedError: out of memory.
        """
        return self._model.translate(texts(lines, "lines", example=EXAMPLE))

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> "list[PairScore]":
        """Return the negative log-likelihood `nll` of each target, in nats, and its `tokens`, as `aiayn score` does.

        Both count the end mark. A pair longer than `model.max_positions` has no `nll`.

        Raises:
            UserError: the checkpoint cannot be used, or the lists differ in length.
            RunFailedError: a likelihood is not finite, or out of memory.
        """
        given = (texts(each, name, example=EXAMPLE) for each, name in ((sources, "sources"), (targets, "targets")))
        return self._model.score(*given)

    def attention(
        self, source: str, target: str | None = None, *, units: Literal["tokens", "words"] = "tokens"
    ) -> "AttendedSentence":
        """Return the attention weights of a sentence pair (section 3.2), and the tokens or words that they join.

        `encoder` is `[layers, heads, source_len, source_len]`, `decoder` `[layers, heads, target_len, target_len]`,
        `cross` `[layers, heads, target_len, source_len]`. A query's weights sum to 1. `source`, `target` and
        `target_input` are the labels, with the marks of start and end.

        Args:
            source: one sentence.
            target: its translation; None: the model's own.
            units: words: pieces of a word are summed as keys and averaged as queries.

        Raises:
            UserError: the run is no Transformer's, or the sentence is empty or too long.
            RunFailedError: the weights are not finite.
        """
        return self._model.attention(text(source, "source"), None if target is None else text(target, "target"), units)

    def evaluate(self, overrides: Sequence[str] = ()) -> dict[str, SplitScores]:
        """Decode and score splits as `aiayn evaluate` does; the files go to `evaluations/`, the record stays.

        Args:
            overrides: keys of `aiayn evaluate` besides run, as in ["splits=[test]", "decoding.limit_sentences=100"];
                checkpoint and search are those of `load` where they are not stated.

        Raises:
            UserError: the checkpoint, the corpus or a setting cannot be used.
            RunFailedError: out of memory.
        """
        own = texts(overrides, "overrides", example="['splits=[test]']")
        for each in own:
            if key_of(each) == "run":
                raise UserError(f"{each}: this run is evaluated; leave it out, and load the other one")
        request = typed_configuration("evaluate", [*self._overrides, *own])
        set_torch_environment()
        from aiayn.inference.evaluation import evaluate_run

        return evaluate_run(request)
