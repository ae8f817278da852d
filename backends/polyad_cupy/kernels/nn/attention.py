"""Attention: by cuDNN where that is proved and takes it, else by kernels of our own, else by the op's body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.base.dtypes import bool_

from . import cudnn_attention, fused_attention


def attention(*operands: Any) -> Any:
    found = cudnn_attention.attention(*operands) if operands[1].dtype in cudnn_attention.HALF else NotImplemented
    return fused_attention.attention(*operands) if found is NotImplemented else found


def attention_backward(*operands: Any) -> Any:
    half = operands[1].dtype in cudnn_attention.HALF
    found = cudnn_attention.attention_backward(*operands) if half else NotImplemented
    return fused_attention.attention_backward(*operands) if found is NotImplemented else found


def _kernel(function: Callable[..., Any]) -> Kernel:
    def specialize(types: Signature) -> Callable[..., Any] | None:
        return function if types[1].dtype in fused_attention.COMPUTED else None

    return Kernel(function, dtypes=frozenset({*fused_attention.COMPUTED, bool_}), specialize=specialize, partial=True)


KERNELS = {"attention": _kernel(attention), "attention_backward": _kernel(attention_backward)}
