"""Where elements are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel


def nonzero(array: Any) -> Any:
    return np.argwhere(array)


KERNELS = {
    "nonzero": Kernel(nonzero),
}
