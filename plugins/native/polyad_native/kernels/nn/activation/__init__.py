"""Kernels of `polyad.ops.nn.activation`."""
