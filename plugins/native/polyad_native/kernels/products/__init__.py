"""Kernels of `polyad.ops.products`."""
