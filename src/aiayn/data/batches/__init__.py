"""Batches: the sentences of each optimizer step, as padded tensors."""
