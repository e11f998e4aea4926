"""A run small enough to be done many times: seconds on one core."""

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
