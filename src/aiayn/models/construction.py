"""Models of every kind from their architectures."""

from typing import Any

from aiayn.models.architecture import AnyArchitecture, Architecture, PluginArchitecture
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.registry import added_models, named
from aiayn.system.plugins import create


def create_model(architecture: AnyArchitecture, *, rows: int) -> TranslationModel[Any]:
    """A model of any kind, initialised with torch's generator; `rows` of the embedding matrix."""
    if isinstance(architecture, PluginArchitecture):
        given = {**vars(architecture), "vocabulary_size": rows}
        target, own = given.pop("target"), given.pop("arguments")
        return create(target, key="model.target", base=TranslationModel, given=given, own=own)  # type: ignore[type-abstract]
    if isinstance(architecture, Architecture):
        return Transformer(**vars(architecture), vocabulary_size=rows)
    (kind,) = (each for each in added_models().values() if named(each.architecture) is type(architecture))
    model: TranslationModel[Any] = named(kind.model)(**vars(architecture), vocabulary_size=rows)
    return model
