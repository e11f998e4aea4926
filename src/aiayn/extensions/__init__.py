"""Capabilities that the core does without: each is a folder that can be deleted, with its files of conf/ and tests."""
