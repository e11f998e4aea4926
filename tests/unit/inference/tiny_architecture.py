"""An architecture small enough for every test of a model."""

from aiayn.models.architecture import Architecture

TINY = Architecture(
    d_model=16,
    d_ff=24,
    num_layers=2,
    num_heads=4,
    d_k=4,
    d_v=4,
    dropout=0.0,
    positions="sinusoidal",
    norm="post",
    projection_bias=False,
    layer_norm_epsilon=1e-6,
    max_positions=32,
)
