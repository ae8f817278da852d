"""Kernels of ``polyad.ops.sorting``, by family."""
