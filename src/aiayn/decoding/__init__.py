"""Greedy and beam search over a step function; knows no model."""
