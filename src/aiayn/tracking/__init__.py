"""metrics.jsonl and W&B: the loggers of a run, its final results, and sending what was kept offline."""
