"""Linear algebra under PyTorch's path ``polyad.linalg``, one import a name. Written by ``python -m polyad.ops.stubs``; do not edit."""

from .ops.statistics import vector_norm as vector_norm
