"""Kernels of `polyad.ops.sorting`."""
