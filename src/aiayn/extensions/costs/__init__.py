"""The costs of a run before it is started: `aiayn plan`, and the layers of a model: `aiayn inspect`."""
