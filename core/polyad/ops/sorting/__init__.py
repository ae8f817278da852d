"""Order: sort, topk, unique, searchsorted."""
