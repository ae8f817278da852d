"""Kernels of ``polyad.ops.nn``, by family."""
