"""The run directory: identity, lock, state and record."""
