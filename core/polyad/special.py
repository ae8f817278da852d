"""Special functions under PyTorch's path ``polyad.special``, one import a name. Written by ``python -m polyad.ops.stubs``; do not edit."""

