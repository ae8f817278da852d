"""Kernels of ``polyad.ops.shaping``, by family."""
