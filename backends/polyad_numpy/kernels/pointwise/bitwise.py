"""Operations on bits and truth values. NumPy's shifts by too many places, or by a negative number, are PyTorch's."""

from __future__ import annotations

import numpy as np

from ...ufunc import ufunc

KERNELS = {
    "bitwise_and": ufunc(np.bitwise_and, warns=False),
    "bitwise_or": ufunc(np.bitwise_or, warns=False),
    "bitwise_xor": ufunc(np.bitwise_xor, warns=False),
    "bitwise_not": ufunc(np.bitwise_not, warns=False),
    "bitwise_left_shift": ufunc(np.left_shift, warns=False),
    "bitwise_right_shift": ufunc(np.right_shift, warns=False),
    "logical_and": ufunc(np.logical_and, warns=False, to_bool=True),
    "logical_or": ufunc(np.logical_or, warns=False, to_bool=True),
    "logical_xor": ufunc(np.logical_xor, warns=False, to_bool=True),
    "logical_not": ufunc(np.logical_not, warns=False, to_bool=True),
}
