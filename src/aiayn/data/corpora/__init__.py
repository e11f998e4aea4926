"""Corpora: sentence pairs and trees from files, from the Hugging Face hub, and embedded ones."""
