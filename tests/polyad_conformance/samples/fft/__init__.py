"""Fourier transforms, windows, spectrograms: references are sums over the definition."""
