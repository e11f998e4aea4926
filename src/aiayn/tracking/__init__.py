"""metrics.jsonl and W&B: the loggers of a run, its final results, and the sync of offline data."""
