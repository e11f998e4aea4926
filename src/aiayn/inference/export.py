"""A run's model in the formats of other programs: CTranslate2 and safetensors."""

import hashlib
import importlib.util
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from aiayn.builders.architecture import build_architecture
from aiayn.config.command_schema import ExportConfig, ExportFormat, Quantization
from aiayn.config.freeze import frozen_text
from aiayn.config.model_schema import ModelKind
from aiayn.config.outputs import new_output
from aiayn.data.preparation.atomic_cache import open_or_build
from aiayn.errors import UserError
from aiayn.inference.averaging import steps_averaged
from aiayn.inference.export_ctranslate2 import SpecialTokens, refuse_what_cannot_be_held, transformer_spec
from aiayn.inference.opened_run import OpenedRun, open_for_use
from aiayn.models.architecture import Architecture
from aiayn.system import files
from aiayn.system.resource_errors import disk_errors_explained

VERSION = 2
"""Of what an export holds; another one is made where a run directory keeps one of an older version."""

CPU = torch.device("cpu")

logger = logging.getLogger("aiayn")


def export_run(request: ExportConfig) -> Path:
    """Write the model as asked; returns where.

    Raises:
        UserError: the run, the checkpoint or a setting cannot be used, or something is there already.
    """
    setting = f"format={request.format.value}"
    require(request.format.value, setting=setting)
    output = new_output(request.output)
    dtype = SAFETENSORS_TYPES.get(request.quantization)
    if request.format is ExportFormat.safetensors and dtype is None:
        allowed = ", ".join(each.value for each in SAFETENSORS_TYPES)
        raise UserError(f"quantization={request.quantization.value}: {setting} takes {allowed}")
    run = open_for_use(request.run, checkpoint=request.checkpoint, launch=request.launch)
    with disk_errors_explained(f"output={request.output}"):
        if request.format is ExportFormat.ctranslate2:
            with files.new_folder(output) as folder:
                write_ctranslate2(run, folder, request.quantization)
        else:
            assert dtype is not None
            files.write_bytes(output, _safetensors(run, dtype))
    return output


def require(package: str, *, setting: str) -> None:
    """Ask for an optional package before anything takes time.

    Raises:
        UserError: it is not installed.
    """
    if importlib.util.find_spec(package) is None:
        raise UserError(f"{setting}: {package} is not installed; pip install -e '.[{package}]' in the checkout")


def kept_ctranslate2(run: OpenedRun, quantization: Quantization) -> Path:
    """The checkpoint's export in the run directory, made where it is not there; any number of processes may ask.

    Raises:
        UserError: it cannot be written.
    """
    with run.checkpoint.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    key = hashlib.sha256(f"{VERSION} {checksum}".encode()).hexdigest()[:16]
    folder = run.directory.exports / f"ctranslate2-{quantization.value}-{key}"

    def build(partial: Path) -> Mapping[str, Any]:
        logger.info("exporting %s to %s", run.checkpoint_name, folder)
        write_ctranslate2(run, partial, quantization)
        return {"version": VERSION, "checkpoint_sha256": checksum, **_provenance(run, quantization)}

    with disk_errors_explained(f"run={run.directory.path}"):
        open_or_build(folder, build)
    return folder


def write_ctranslate2(run: OpenedRun, folder: Path, quantization: Quantization) -> None:
    """Fill an empty folder: the model, its vocabulary, its configuration, and the tokenizer that goes with it."""
    architecture = _held_architecture(run)
    tokenizer = run.tokenizer()
    spec = transformer_spec(
        _weights(run, vocabulary_size=tokenizer.vocabulary_size),
        architecture,
        pieces=tokenizer.pieces,
        special=SpecialTokens(pad_id=tokenizer.pad_id, bos_id=tokenizer.bos_id, eos_id=tokenizer.eos_id),
    )
    spec.config.add_attribute("aiayn", _provenance(run, quantization))
    spec.validate()
    spec.optimize(quantization.value)
    spec.save(str(folder))
    tokenizer.save(folder / "tokenizer.json")


def _held_architecture(run: OpenedRun) -> Architecture:
    """The architecture of a run that CTranslate2 can hold.

    Raises:
        UserError: it cannot.
    """
    setting, model = f"run={run.directory.path}", run.config.model
    if model.kind is not ModelKind.transformer:
        raise UserError(
            f"{setting}: CTranslate2 has no model.kind={model.kind.name}, only transformer; take engine=torch, or "
            "format=safetensors"
        )
    architecture = build_architecture(model)
    refuse_what_cannot_be_held(architecture, setting=setting)
    return architecture


SAFETENSORS_TYPES = {
    Quantization.float32: torch.float32,
    Quantization.float16: torch.float16,
    Quantization.bfloat16: torch.bfloat16,
}
"""What weights may be as they are; fewer bits need scales, which only CTranslate2 has a place for."""


def _safetensors(run: OpenedRun, dtype: torch.dtype) -> bytes:
    """The weights by their names, and in the metadata what they are and the configuration that builds their model."""
    from safetensors.torch import save

    weights = _weights(run, vocabulary_size=run.tokenizer().vocabulary_size)
    metadata = {"format": "pt", "aiayn": json.dumps(_provenance(run, None)), "config": frozen_text(run.config)}
    return save({name: weight.to(dtype).contiguous() for name, weight in weights.items()}, metadata)


def _weights(run: OpenedRun, *, vocabulary_size: int) -> dict[str, Tensor]:
    """The checkpoint's weights, which are known to fit the run's model.

    Raises:
        UserError: they do not, or are no numbers.
    """
    weights = run.model(vocabulary_size=vocabulary_size, device=CPU).state_dict()
    if not all(bool(weight.isfinite().all()) for weight in weights.values()):
        raise UserError(f"checkpoint={run.checkpoint}: some weights are no finite numbers; the model diverged")
    return weights


def _provenance(run: OpenedRun, quantization: Quantization | None) -> dict[str, Any]:
    """Which weights an export holds."""
    told: dict[str, Any] = {"run": run.record.name, "config_hash": run.record.config_hash, "step": run.step}
    if averaged := steps_averaged(run.checkpoint):
        told["averaged_steps"] = list(averaged)
    return told if quantization is None else {**told, "quantization": quantization.value}
