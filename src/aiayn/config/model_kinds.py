"""The kinds of model: those of the core, and those of the extensions."""

from aiayn.config.model_schema import ModelConfig, PluginConfig, TransformerConfig
from aiayn.registry import added_models, named

MODEL_TYPES: dict[str, type[ModelConfig]] = {
    "transformer": TransformerConfig,
    **{kind: named(model.schema) for kind, model in added_models().items()},
    "plugin": PluginConfig,
}
"""The schema of each kind; conf/model holds an option of the same name."""
