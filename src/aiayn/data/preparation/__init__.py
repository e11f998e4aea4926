"""A corpus encoded once, into memory-mapped files that every run and rank shares."""
