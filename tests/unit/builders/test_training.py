"""Static shapes are refused where a GPU would pad them, before anything is prepared."""

import pytest
import torch
from composed_once import validated

from aiayn.builders.training import check_static_shapes
from aiayn.errors import UserError
from aiayn.models.attention_backends import varlen_attention

STATIC = ("launch.compile=true", "launch.static_shapes=true")
GPU, CPU = torch.device("cuda"), torch.device("cpu")


@pytest.mark.skipif(varlen_attention is None, reason="torch before 2.11 has no such kernel")
@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true", "16-mixed"])
@pytest.mark.parametrize("words", ["", "experiment=table3/a_h1 scale=nano", "model.attention=general"])
def test_attention_without_padding_takes_static_shapes(words: str, precision: str) -> None:
    check_static_shapes(validated(*STATIC, *words.split()), GPU, precision=precision)


@pytest.mark.parametrize(
    ("words", "precision", "named"),
    [
        ("", "32-true", "trainer.precision=32-true"),
        ("model.attention=additive", "bf16-mixed", "model.attention=additive"),
        ("model.attention=restricted", "bf16-mixed", "model.attention=restricted"),
        ("model.d_k=8", "bf16-mixed", "d_k=8, d_v=16"),
        ("model.attention_dropout=0.1", "16-mixed", "attention_dropout=0.1"),
    ],
)
def test_attention_with_padding_does_not(words: str, precision: str, named: str) -> None:
    words_of_run = *words.split(), "scale=nano", "model.num_heads=4"
    with pytest.raises(UserError, match=r"^launch\.static_shapes=true: .*; leave it out$") as refusal:
        check_static_shapes(validated(*STATIC, *words_of_run), GPU, precision=precision)
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)
    check_static_shapes(validated(*STATIC, *words_of_run), CPU, precision=precision)
    check_static_shapes(validated(*words_of_run), GPU, precision=precision)
