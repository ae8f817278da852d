"""Kernels of ``polyad.ops.pointwise``, by family."""
