"""Kernels of `polyad.ops.indexing`."""
