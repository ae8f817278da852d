"""Losses whose decomposition costs more than a pass over the data."""

from . import binary, classification, regression, sequence

KERNELS = binary.KERNELS | classification.KERNELS | regression.KERNELS | sequence.KERNELS
