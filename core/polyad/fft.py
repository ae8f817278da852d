"""Discrete Fourier transforms, under PyTorch's path ``polyad.fft``, one import a name. Written by ``python -m polyad.ops.stubs``; do not edit."""

