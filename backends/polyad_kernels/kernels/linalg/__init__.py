"""Kernels of ``polyad.ops.linalg``, by family."""
