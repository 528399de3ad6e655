"""Products of tensors in blocks: exact, bounded, and as the adders of hardware give them."""
