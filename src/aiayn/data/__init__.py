"""Corpora, tokenizer, prepared data, token batching and collation."""
