"""Training with Lightning: module, data module, loss, schedule, callbacks, checkpoints and session."""
