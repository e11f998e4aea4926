"""Readers of other libraries' checkpoints: their weights, settings and vocabularies in this project's form."""
