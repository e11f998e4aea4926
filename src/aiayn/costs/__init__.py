"""The planned and the actual costs of a run: operations, time, energy, memory, money."""
