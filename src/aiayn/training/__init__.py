"""Everything that needs Lightning: module, data module, callbacks, trainer."""
