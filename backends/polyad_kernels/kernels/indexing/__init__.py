"""Kernels of ``polyad.ops.indexing``, by family."""
