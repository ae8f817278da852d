"""Kernels of `polyad.ops.nn`."""
