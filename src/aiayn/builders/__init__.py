"""Builders of models, corpora and trainings from the typed configuration."""
