"""Corpora from text files, treebanks and the Hugging Face hub."""
