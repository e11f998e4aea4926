"""A run small enough to be done many times: seconds on one core."""

TINY = (
    "data.sentences=300",
    "data.dev_sentences=12",
    "data.test_sentences=12",
    "data.max_length=60",
    "tokenizer.vocabulary_size=400",
    "model.d_model=16",
    "model.d_ff=32",
    "model.num_layers=1",
    "model.num_heads=2",
    "optimization.max_steps=12",
    "optimization.warmup_steps=10",
    "optimization.source_tokens=600",
    "optimization.target_tokens=600",
    "optimization.validation_interval=6",
    "optimization.checkpoint_interval=3",
    "decoding.beam_size=2",
    "decoding.max_extra_length=2",
    "decoding.validation_sentences=3",
    "trainer.log_every_n_steps=1",
    "trainer.accelerator=cpu",
)
