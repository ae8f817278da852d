"""The same elements in another arrangement: reshape, permute, cat, stack, flip."""
