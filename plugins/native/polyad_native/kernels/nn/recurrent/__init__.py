"""Kernels of `polyad.ops.nn.recurrent`."""
