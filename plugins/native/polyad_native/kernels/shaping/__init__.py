"""Kernels of `polyad.ops.shaping`."""
