"""Kernels of ``polyad.ops.creation``, by family."""
