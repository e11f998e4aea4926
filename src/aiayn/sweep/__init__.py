"""A multirun: its jobs, launchers, search, lines on the terminal, and outcomes."""
