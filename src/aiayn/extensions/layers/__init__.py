"""Table 1, measured: the four layer types, bare, and their operations, path lengths and times."""
