"""Pre-registered studies: plans frozen before their runs, power, deviations, and results that others recompute."""
