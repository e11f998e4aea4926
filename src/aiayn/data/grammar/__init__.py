"""The embedded corpus: English and German sentence pairs generated from a grammar."""
