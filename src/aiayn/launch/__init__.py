"""One frozen configuration to the right process."""
