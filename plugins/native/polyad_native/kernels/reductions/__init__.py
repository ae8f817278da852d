"""Kernels of `polyad.ops.reductions`."""
