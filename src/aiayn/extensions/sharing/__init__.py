"""Runs shared with others: published folders, the Hugging Face hub, model cards, and replays of recorded runs."""
