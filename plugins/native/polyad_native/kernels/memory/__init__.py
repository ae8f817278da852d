"""Kernels of `polyad.ops.memory`."""
