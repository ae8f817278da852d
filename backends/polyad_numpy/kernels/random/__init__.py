"""Kernels of ``polyad.ops.random``, by family."""
