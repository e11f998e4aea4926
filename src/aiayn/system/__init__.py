"""Files, processes, signals, memory, devices and terminal progress: nothing here knows a run or a model."""
