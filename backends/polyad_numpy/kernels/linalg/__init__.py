"""Kernels of `polyad.linalg`, by family."""
