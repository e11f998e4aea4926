"""A corpus encoded once into memory-mapped files, which all runs and ranks share."""
