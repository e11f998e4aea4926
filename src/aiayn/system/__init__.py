"""Files, processes, signals, memory, devices and terminal progress; independent of runs and models."""
