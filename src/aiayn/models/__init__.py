"""The Transformer as pure modules of PyTorch (sections 3 and 5.4 of the paper)."""
