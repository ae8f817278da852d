"""Kernels of ``polyad.ops.products``, by family."""
