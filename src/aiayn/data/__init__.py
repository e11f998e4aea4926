"""Corpora, tokenizers, preparation and batches."""
