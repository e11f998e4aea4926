"""Models of every kind from their architectures."""

from typing import Any

from aiayn.models.architecture import (
    AnyArchitecture,
    ConvolutionalArchitecture,
    PluginArchitecture,
    RecurrentArchitecture,
)
from aiayn.models.baselines.convolutional import ConvolutionalTranslator
from aiayn.models.baselines.recurrent import RecurrentTranslator
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.system.plugins import create


def create_model(architecture: AnyArchitecture, *, rows: int) -> TranslationModel[Any]:
    """A model of any kind, initialised with torch's generator; `rows` of the embedding matrix."""
    if isinstance(architecture, RecurrentArchitecture):
        return RecurrentTranslator(**vars(architecture), vocabulary_size=rows)
    if isinstance(architecture, ConvolutionalArchitecture):
        return ConvolutionalTranslator(**vars(architecture), vocabulary_size=rows)
    if isinstance(architecture, PluginArchitecture):
        given = {**vars(architecture), "vocabulary_size": rows}
        target, own = given.pop("target"), given.pop("arguments")
        return create(target, key="model.target", base=TranslationModel, given=given, own=own)  # type: ignore[type-abstract]
    return Transformer(**vars(architecture), vocabulary_size=rows)
