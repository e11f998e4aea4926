"""A run small enough that all its time is what everything but training takes; the tests do the same runs."""

SIZES = (
    "data.sentences=300",
    "data.dev_sentences=12",
    "data.test_sentences=12",
    "data.max_length=60",
    "tokenizer.vocabulary_size=400",
    "model.d_model=16",
    "model.d_ff=32",
    "model.num_layers=1",
    "model.num_heads=2",
    "optimization.source_tokens=600",
    "optimization.target_tokens=600",
    "decoding.beam_size=2",
    "decoding.max_extra_length=2",
    "trainer.accelerator=cpu",
)
