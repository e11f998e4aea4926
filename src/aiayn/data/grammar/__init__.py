"""The embedded corpora, generated from a grammar: English-German sentence pairs and English trees."""
