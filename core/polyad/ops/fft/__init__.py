"""Fourier transforms: the ops (dft), the functions of `polyad.fft` (transforms, frequencies), windows to multiply a
signal with (window_functions) and spectrograms (stft).
"""
