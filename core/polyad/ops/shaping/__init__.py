"""The same elements in another arrangement: reshape, permute, split, cat, stack, repeat, flip, diagonal, tril."""
