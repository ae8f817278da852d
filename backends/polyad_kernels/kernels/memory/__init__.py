"""Kernels of ``polyad.ops.memory``, by family."""
