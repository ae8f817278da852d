"""Kernels of `polyad.ops.nn.losses`."""
