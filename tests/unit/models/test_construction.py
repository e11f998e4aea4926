import subprocess
import sys
from typing import Any

import pytest
import torch
from tiny_models import architecture, sentences

from aiayn.builders.models import create_model
from aiayn.config.model_schema import ModelConfig
from aiayn.extensions.baselines.convolutional import ConvolutionalTranslator
from aiayn.extensions.baselines.recurrent import RecurrentTranslator
from aiayn.extensions.baselines.schema import Cell, ConvolutionalConfig, RecurrentAttention, RecurrentConfig
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel

SETTINGS = """
import torch

def settings():
    backends = torch.backends
    kernels = [each for each in dir(backends.cuda) if each.endswith("_sdp_enabled")]
    return [getattr(backends.cuda, each)() for each in kernels] + [
        backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32, backends.cudnn.enabled, backends.mkldnn.enabled,
        torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled(), torch.initial_seed(),
    ]

before = settings()
import aiayn.builders.models
assert settings() == before
"""


def test_importing_models_changes_no_setting_of_torch() -> None:
    subprocess.run([sys.executable, "-c", SETTINGS], check=True, timeout=120)


COMMON: dict[str, Any] = {"d_model": 8, "num_layers": 1, "dropout": 0.0, "max_positions": 9}
KINDS: list[tuple[ModelConfig, type[TranslationModel[Any]]]] = [
    (architecture(d_model=8), Transformer),
    (RecurrentConfig(**COMMON, kind="recurrent", cell=Cell.gru, attention=RecurrentAttention.dot), RecurrentTranslator),
    (ConvolutionalConfig(**COMMON, kind="convolutional", kernel_size=3), ConvolutionalTranslator),
]


@pytest.mark.parametrize(("made_of", "kind"), KINDS)
def test_every_architecture_has_its_model(made_of: ModelConfig, kind: type[TranslationModel[Any]]) -> None:
    model = create_model(made_of, rows=29)
    assert type(model) is kind
    assert model.vocabulary_size == 29
    assert model(sentences(3, 2), sentences(4, 1)).shape == (5, 29)


@pytest.mark.parametrize("made_of", [made_of for made_of, _ in KINDS])
def test_the_generators_state_decides(made_of: ModelConfig) -> None:
    models = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        models.append(create_model(made_of, rows=29).state_dict())
    first, again, other = models
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)
