"""Constituency trees: Penn brackets read and written, normalised, as sequences of tokens, and repaired."""
