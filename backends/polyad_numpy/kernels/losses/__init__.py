"""Losses whose decomposition costs more than a pass over the data."""

from . import binary, classification, sequence

KERNELS = binary.KERNELS | classification.KERNELS | sequence.KERNELS
