"""The layer types that Table 1 compares, and their operations."""
