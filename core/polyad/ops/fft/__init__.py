"""Fourier transforms: the ops (dft), the functions of `polyad.fft` (transforms, frequencies), windows to multiply a
signal with (window_functions) and spectrograms (spectrograms).
"""

from __future__ import annotations

from . import dft, frequencies, spectrograms, transforms, window_functions

__all__ = ["dft", "frequencies", "spectrograms", "transforms", "window_functions"]
