"""The command line: one short main a command."""
