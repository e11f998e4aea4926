"""Checkpoints of other libraries, read as weights, settings and vocabularies of this project."""
