"""The one tiny configuration of the tests: overrides of a run that takes seconds, an architecture, a search."""

from aiayn.config.model_schema import Activation, DecoderStart, Norm, Normalization, TransformerConfig
from aiayn.config.schema import BeamSearchConfig, EosWithin, LengthPenalty, OptimizationConfig, SmoothedClasses
from tiny_sizes import SIZES

TINY = (
    *SIZES,
    "optimization.max_steps=12",
    "optimization.warmup_steps=10",
    "optimization.validation_interval=6",
    "optimization.checkpoint_interval=3",
    "decoding.validation_sentences=3",
    "trainer.log_every_n_steps=1",
    "cost.probe_seconds=0.01",
)
"""Words of `aiayn train`."""

ARCHITECTURE = TransformerConfig(
    kind="transformer",
    d_model=16,
    d_ff=24,
    num_layers=2,
    num_heads=4,
    d_k=4,
    d_v=4,
    dropout=0.0,
    positions="sinusoidal",
    norm=Norm.post,
    max_positions=32,
    vocabulary_rows=None,
    attention="scaled_dot",
    attention_arguments={},
    neighbourhood=16,
    positions_arguments={},
    position_offset=0,
    normalization=Normalization.layer,
    residual=True,
    attention_dropout=0.0,
    activation=Activation.relu,
    activation_dropout=0.0,
    tied_embeddings=True,
    output_bias=False,
    decoder_start=DecoderStart.bos,
    target_space_embedding=False,
    projection_bias=False,
    layer_norm_epsilon=1e-6,
)
"""Of the tests of models; others are made of it by `dataclasses.replace`."""

RECIPE = OptimizationConfig(
    warmup_steps=10,
    learning_rate_factor=1.0,
    adam_beta1=0.9,
    adam_beta2=0.98,
    adam_epsilon=1e-9,
    divergence_factor=3.0,
    label_smoothing=0.1,
    smoothed_classes=SmoothedClasses.all,
)
"""Of modules that train such a model."""

SEARCH = BeamSearchConfig(
    beam_size=3,
    length_penalty=LengthPenalty.gnmt,
    length_penalty_alpha=0.6,
    max_extra_length=2,
    batch_tokens=100,
    eos_within=EosWithin.candidates,
    constrained=False,
)
