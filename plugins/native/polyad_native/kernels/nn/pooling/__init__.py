"""Kernels of `polyad.ops.nn.pooling`."""
