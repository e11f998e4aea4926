"""What decodes: the model itself, or its export to CTranslate2."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch

from aiayn.builders.architecture import build_architecture
from aiayn.config.command_schema import Engine, EngineConfig, EvaluateConfig, Quantization, TranslateConfig
from aiayn.config.schema import BeamSearchConfig, EndsAmong
from aiayn.data.batches.sentences import Sentences
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError
from aiayn.inference.ctranslate2_search import CTranslate2Search, Positions
from aiayn.inference.export import kept_ctranslate2, require
from aiayn.inference.export_ctranslate2 import table_length
from aiayn.inference.opened_run import OpenedRun
from aiayn.inference.opened_runs import OpenedRuns
from aiayn.models.products import packed
from aiayn.runs.directory import named_runs
from aiayn.training.process_group import ALONE, ProcessGroup
from aiayn.training.scoring import AnyModel, search_all


class FindHypotheses(Protocol):
    """A search over whole corpora."""

    def __call__(
        self,
        sources: Sentences,
        *,
        n_best: int = 1,
        advance: Callable[[int], object] = ...,
        group: ProcessGroup = ALONE,
    ) -> list[list[Hypothesis]]:
        """See `aiayn.training.scoring.search_all`."""
        ...


@dataclass(frozen=True)
class SearchEngine:
    """A search and the engine behind it."""

    name: str
    """As records and folders name it: torch, ctranslate2-int8 and the like, ensemble2-<key>."""
    find: FindHypotheses
    held: Callable[[], AbstractContextManager[None]] = nullcontext
    """What many small searches should be made inside of, for speed."""


def torch_engine(
    model: AnyModel, tokenizer: AnyTokenizer, search: BeamSearchConfig, *, device: torch.device, name: str = "torch"
) -> SearchEngine:
    """The search over the model itself, or an ensemble of that name, in evaluation mode and on `device`."""
    find = partial(search_all, model, tokenizer=tokenizer, search=search, device=device)
    return SearchEngine(name, find, partial(packed, model))


def refuse_engine(request: EvaluateConfig | TranslateConfig) -> None:
    """Refuse an engine that is not there or cannot do what is asked, before anything takes time.

    Raises:
        UserError: naming what to install or to change.
    """
    if request.engine is Engine.ctranslate2:
        require("ctranslate2", setting="engine=ctranslate2")
        if vars(request.decoding)["ends_among"] is EndsAmong.candidates:
            raise UserError(
                "decoding.ends_among=candidates: engine=ctranslate2 knows beam alone; leave it out or take engine=torch"
            )
        if len(names := named_runs(request.run)) > 1:
            raise UserError(
                f"run=[{','.join(names)}]: engine=ctranslate2 decodes with one model; name one or take engine=torch"
            )
    elif request.quantization is not Quantization.float32:
        raise UserError(f"quantization={request.quantization.value}: engine=torch has none; add engine=ctranslate2")


def chosen_engine(
    request: EngineConfig, runs: OpenedRuns, tokenizer: AnyTokenizer, *, device: torch.device
) -> SearchEngine:
    """What the user chose, with the runs' search and weights.

    Raises:
        UserError: it cannot be used here.
    """
    if request.engine is Engine.ctranslate2:
        return ctranslate2_engine(runs.first, tokenizer, request.quantization, device=device)
    model = runs.model(vocabulary_size=tokenizer.vocabulary_size, device=device)
    return torch_engine(model, tokenizer, runs.config.decoding, device=device)


def ctranslate2_engine(
    run: OpenedRun, tokenizer: AnyTokenizer, quantization: Quantization, *, device: torch.device
) -> SearchEngine:
    """The run's search over its export, which the run directory keeps, with as many threads as torch would use.

    Raises:
        UserError: CTranslate2 does not find the device, the export cannot be made, or the search is constrained.
    """
    if run.config.decoding.constrained:
        raise UserError(
            "decoding.constrained=true: engine=ctranslate2 cannot hold its outputs to trees; take engine=torch, or "
            "decoding.constrained=false"
        )
    import ctranslate2

    ctranslate2.set_log_level(logging.ERROR)  # a CPU need not compute in the type that weights are stored in
    if device.type == "cuda" and (device.index or 0) >= ctranslate2.get_cuda_device_count():
        raise UserError(f"engine=ctranslate2: finds no device {device} here; choose engine=torch or another device")
    translator = ctranslate2.Translator(
        str(kept_ctranslate2(run, quantization)),
        device=device.type,
        device_index=device.index or 0,
        intra_threads=torch.get_num_threads(),
    )
    architecture = build_architecture(run.config.model)
    positions = Positions(end=table_length(architecture), are_all=architecture.positions == "learned")
    search = CTranslate2Search(translator, tokenizer, run.config.decoding, positions=positions)
    return SearchEngine(f"ctranslate2-{quantization.value}", search)
