"""Constituency trees: reading, writing, normalisation, linearisation and repair."""
