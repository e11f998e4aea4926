"""Every table of "Attention Is All You Need" is a command."""

__version__ = "0.1.0"
