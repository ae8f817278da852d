"""Samples of ``polyad.ops.indexing``, by family."""
