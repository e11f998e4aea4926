"""Run one frozen configuration in the right process or process group, and resume it."""
