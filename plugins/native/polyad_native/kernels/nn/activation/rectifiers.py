"""relu and its gradient of few elements; those of many are generated."""

from polyad.base.dtypes import float32, float64

from ....engine import HALVES, Library

RECTIFIERS = Library("kernels/nn/activation/rectifiers", (float32, float64, *HALVES))
