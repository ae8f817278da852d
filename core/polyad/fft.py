"""Discrete Fourier transforms under PyTorch's path ``polyad.fft``; the functions are declared in ``polyad.ops.fft``."""

from .dispatch.catalogue import functions_of

__getattr__, __dir__ = functions_of("fft", globals())
