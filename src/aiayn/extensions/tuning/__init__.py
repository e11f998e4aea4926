"""Choosing beam size and length penalty (`aiayn tune`), and searching settings by Optuna (sweeps=search)."""
