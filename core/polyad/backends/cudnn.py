"""Switches of cuDNN, which device "cuda" computes convolutions and attention with where that was proved; at PyTorch's
path.

    enabled          whether it is used at all
    allow_tf32       whether its convolutions of float32 may round factors to 10 bits behind the point: True, as in
                     PyTorch; `polyad.set_float32_matmul_precision` speaks of matrix products alone
    benchmark        whether the first call of each size times several plans and takes the fastest
    benchmark_limit  how many; 0: all
    deterministic    changes nothing: no plan that adds up in an order that depends on timing is ever chosen
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..base.dtypes import bfloat16, float16, float32, float64
from ..devices import registry
from ..tensor import Tensor

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether there are a cuda device, cuDNN and NVIDIA's frontend to it.

    >>> import polyad
    >>> polyad.backends.cudnn.is_available() == (polyad.backends.cudnn.version() is not None)
    True
    """
    return version() is not None


def version() -> int | None:
    """The library's version, 92800 for 9.28; None if there is none, or no cuda device.

    >>> import polyad
    >>> number = polyad.backends.cudnn.version()
    """
    return registry.get("cuda").library_version("cudnn") if registry.is_available("cuda") else None


def is_acceptable(tensor: Tensor) -> bool:
    """Whether cuDNN computes with *tensor*: floating point, on a cuda device, with the library enabled and there.

    >>> import polyad
    >>> polyad.backends.cudnn.is_acceptable(polyad.ones(1))
    False
    """
    if not enabled or tensor.device.type != "cuda" or tensor.dtype not in (float16, bfloat16, float32, float64):
        return False
    return is_available()


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """The switches for the statements inside, then as they were.

    >>> import polyad
    >>> with polyad.backends.cudnn.flags(deterministic=True):
    ...     polyad.backends.cudnn.deterministic
    True
    >>> polyad.backends.cudnn.deterministic
    False
    """
    given = dict(locals())
    kept = {name: globals()[name] for name in given}
    globals().update(given)
    try:
        yield
    finally:
        globals().update(kept)
