"""Recurrent and convolutional models, as baselines beside the Transformer."""
