"""Pictures of the attention weights of a run's model: `aiayn attention`."""
