"""Binary cross entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.errors import ShapeError

from ....half_types import half_to_float32
from ....quiet import quiet


def _check(name: str, x: Any, fix: str) -> None:
    if x.size and not (np.minimum.reduce(x, None) >= 0 and np.maximum.reduce(x, None) <= 1):
        wrong = ~((x >= 0) & (x <= 1))
        place = np.unravel_index(wrong.argmax(), x.shape)
        where = ", ".join(map(str, place))
        raise ShapeError(f"binary_cross_entropy: {name}[{where}] = {x[place]} is not in [0, 1]", fix=fix)


@quiet
def binary_cross_entropy(x: Any, target: Any) -> Any:
    _check("input", x, "apply sigmoid, or use binary_cross_entropy_with_logits")
    _check("target", target, "targets are probabilities")
    values, wanted = half_to_float32(x), half_to_float32(target)
    # Both logarithms are at least -100; clip is several times faster than a maximum with a number.
    loss = np.asarray(np.negative(values))
    np.log1p(loss, loss)
    np.clip(loss, -100, np.inf, out=loss)
    rest = np.asarray(np.subtract(wanted, 1))
    np.multiply(loss, rest, loss)
    np.log(values, rest)
    np.clip(rest, -100, np.inf, out=rest)
    np.multiply(rest, wanted, rest)
    return np.asarray(np.subtract(loss, rest, loss), x.dtype)


KERNELS = {"binary_cross_entropy": Kernel(binary_cross_entropy)}
