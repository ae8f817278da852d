"""Kernels of `polyad.ops.optim`."""
