"""Switches of cuDNN, at PyTorch's path.

Programs set them before they train: ``cudnn.benchmark = True``. They can be set, and nothing reads them: no backend of
polyad chooses among algorithms by them. Whether results must repeat is said by `polyad.use_deterministic_algorithms`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..tensor import Tensor

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: no backend of polyad calls cuDNN.

    >>> import polyad
    >>> polyad.backends.cudnn.is_available()
    False
    """
    return False


def version() -> None:
    """None, as where there is no cuDNN.

    >>> import polyad
    >>> polyad.backends.cudnn.version()
    """


def is_acceptable(tensor: Tensor) -> bool:
    """False: cuDNN computes with no tensor.

    >>> import polyad
    >>> polyad.backends.cudnn.is_acceptable(polyad.ones(1))
    False
    """
    return False


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
