"""Batches: the sentences of each optimizer step, as flat tensors."""
