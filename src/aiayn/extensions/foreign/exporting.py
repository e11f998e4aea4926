"""Write a run's model in the formats of other programs: CTranslate2 and safetensors."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from aiayn.config.freeze import frozen_text
from aiayn.config.model_schema import TransformerConfig
from aiayn.config.outputs import new_output
from aiayn.data.given_pieces import GivenTokenizer
from aiayn.errors import UserError
from aiayn.extensions.foreign.export_ctranslate2 import check_supported, transformer_spec
from aiayn.extensions.foreign.schema import ExportConfig, ExportFormat, Quantization
from aiayn.inference.averaging import steps_averaged
from aiayn.inference.opened_runs import OpenedRun, open_for_use
from aiayn.inference.weights import finite_weights
from aiayn.system import files
from aiayn.system.extras import require
from aiayn.system.resource_errors import disk_errors_explained

CPU = torch.device("cpu")

SAFETENSORS_TYPES = {
    Quantization.float32: torch.float32,
    Quantization.float16: torch.float16,
    Quantization.bfloat16: torch.bfloat16,
}
"""Types without scales, which only CTranslate2's format has."""


def export_run(request: ExportConfig) -> Path:
    """Write the model; UserError if a setting cannot be used or the output exists."""
    setting, package = f"format={request.format.value}", request.format.value
    require(package, extra=package, setting=setting)
    output = new_output(request.output)
    dtype = SAFETENSORS_TYPES.get(request.quantization)
    if request.format is ExportFormat.safetensors and dtype is None:
        allowed = ", ".join(each.value for each in SAFETENSORS_TYPES)
        raise UserError(f"quantization={request.quantization.value}: {setting} takes {allowed}")
    run = open_for_use(request.run, checkpoint=request.checkpoint, launch=request.launch, trust=request.trust)
    with disk_errors_explained(f"output={request.output}"):
        if request.format is ExportFormat.ctranslate2:
            with files.new_folder(output) as folder:
                write_ctranslate2(run, folder, request.quantization)
        else:
            assert dtype is not None
            files.write_bytes(output, _safetensors(run, dtype))
    return output


def write_ctranslate2(run: OpenedRun, folder: Path, quantization: Quantization) -> None:
    """Write model, vocabulary, configuration and tokenizer to an empty folder."""
    setting, model = f"run={run.directory.path}", run.config.model
    if not isinstance(model, TransformerConfig):
        raise UserError(
            f"{setting}: CTranslate2 does not support model.kind={model.kind}, only transformer; "
            "take format=safetensors"
        )
    check_supported(model, setting=setting)
    tokenizer = run.tokenizer()
    spec = transformer_spec(
        _weights(run, vocabulary_size=tokenizer.vocabulary_size),
        model,
        pieces=tokenizer.pieces,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
        unk_id=tokenizer.special.unk if isinstance(tokenizer, GivenTokenizer) else None,
    )
    spec.config.add_attribute("aiayn", {**_provenance(run), "quantization": quantization.value})
    spec.validate()
    spec.optimize(quantization.value)
    spec.save(str(folder))
    tokenizer.save(folder / "tokenizer.json")


def _safetensors(run: OpenedRun, dtype: torch.dtype) -> bytes:
    """The weights by name; the metadata holds provenance and the configuration that builds the model."""
    from safetensors.torch import save

    weights = _weights(run, vocabulary_size=run.tokenizer().vocabulary_size)
    metadata = {"format": "pt", "aiayn": json.dumps(_provenance(run)), "config": frozen_text(run.config)}
    return save({name: weight.to(dtype) for name, weight in weights.items()}, metadata)


def _weights(run: OpenedRun, *, vocabulary_size: int) -> dict[str, Tensor]:
    """The checkpoint's weights, as float tensors that are all finite."""
    return finite_weights(run.model(vocabulary_size=vocabulary_size, device=CPU), run.checkpoint)


def _provenance(run: OpenedRun) -> dict[str, Any]:
    content: dict[str, Any] = {"run": run.record.name, "config_hash": run.record.config_hash, "step": run.step}
    if averaged := steps_averaged(run.checkpoint):
        content["averaged_steps"] = list(averaged)
    return content
