"""PyTorch's choice between ways to compute attention, at its path ``polyad.nn.attention``.

polyad defines `polyad.nn.functional.scaled_dot_product_attention` once; which kernel computes it is the backend's
decision, and all give the same results, with gradients of all orders. So a program may choose, and read what it chose,
and nothing else follows from it: where PyTorch has no kernel of the chosen sort for the operands, and raises, polyad
computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from ...compatibility.absent import lacking
from ...errors import ConditionError, safe_repr
from ...settings import allowed_attention

__all__ = ["SDPBackend", "sdpa_kernel"]

__getattr__ = lacking(__name__)


class SDPBackend(IntEnum):
    """Ways to compute attention, as PyTorch has them."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_NAMES = {
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.MATH: "math",
    SDPBackend.OVERRIDEABLE: "overrideable",
}


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[str, object]]:
    """Inside of the block, allow these ways to compute attention alone; ``backends.cuda.flash_sdp_enabled()`` and its
    like tell.

    Raises AssertionError for what is neither an `SDPBackend` nor a list of them. *set_priority* has no effect.

    >>> import polyad as torch
    >>> from polyad.nn.attention import SDPBackend, sdpa_kernel
    >>> q = torch.ones(1, 2, 3)
    >>> with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
    ...     torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
    polyad.Size([1, 2, 3])
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, list) or not all(isinstance(one, SDPBackend) for one in chosen):
        raise ConditionError(
            f"sdpa_kernel: backends is {safe_repr(backends)}", fix="pass SDPBackend.MATH or a list of such values"
        )
    allowed = allowed_attention()
    before = dict(allowed)
    allowed.update({name: backend in chosen for backend, name in _NAMES.items()})
    try:
        yield {}
    finally:
        allowed.update(before)
