"""The settings of a run's model; no tensor library is imported."""

from aiayn.config.freeze import load_config
from aiayn.config.model_schema import TransformerConfig
from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory


def transformer_of(run: RunDirectory) -> TransformerConfig:
    """The settings of a run's Transformer; UserError for another model."""
    model = load_config(run.config).model
    if not isinstance(model, TransformerConfig):
        raise UserError(f"run={run.path}: model.kind={model.kind} has no heads to draw; name a Transformer's run")
    return model
