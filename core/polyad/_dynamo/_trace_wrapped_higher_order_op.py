"""What libraries import from ``torch._dynamo._trace_wrapped_higher_order_op``."""

from __future__ import annotations

from contextlib import nullcontext

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(nullcontext[None]):
    """Inside of the block, ``x[i]`` with a 0-d tensor *i* of `polyad.vmap` picks an element for each *i*.

    So it does outside of it, too: PyTorch reads such an index on the host unless told otherwise, polyad never does.

    >>> import polyad
    >>> from polyad._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    >>> with TransformGetItemToIndex():
    ...     polyad.vmap(lambda i: polyad.tensor([3, 5])[i])(polyad.tensor([1, 0]))
    tensor([5, 3])
    """
