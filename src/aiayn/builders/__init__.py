"""From typed configuration to objects: the only place where the two meet."""
