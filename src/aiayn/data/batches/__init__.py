"""Which sentences make an optimizer step, and their tensors."""
