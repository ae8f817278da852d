"""Kernels of `polyad.ops.random`."""
