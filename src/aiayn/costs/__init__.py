"""What a run will cost, and what it has cost: operations, time, energy, memory."""
