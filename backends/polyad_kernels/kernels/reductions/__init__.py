"""Kernels of ``polyad.ops.reductions``, by family."""
