"""PyTorch's older checkpointing: one node for the whole call, whose backward calls the function again and runs a
backward pass through the graph of that.

Gradients of what the function uses besides its arguments (its parameters) are accumulated by the inner pass, which
knows nothing of what the outer pass was asked for. Hence the limits: no ``autograd.grad``, no ``inputs=``, no second
derivatives; and without an argument that requires a gradient the node is not part of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.function import Function
from ...autograd.gradients import backward
from ...base.state import state, warn_user
from ...errors import AutogradError
from ...tensor import Tensor
from .frames import random_state, with_random_state

__all__ = ["run_reentrant"]


def run_reentrant(function: Callable[..., Any], preserve_random: bool, args: tuple[Any, ...]) -> Any:
    """``function(*args)``, checkpointed."""
    if state.grad_enabled and not any(isinstance(value, Tensor) and value.requires_grad for value in args):
        warn_user(
            "checkpoint: no argument requires a gradient, so with use_reentrant=True there will be none; "
            "pass use_reentrant=False",
            UserWarning,
        )
    return Checkpoint.apply(function, preserve_random, *args)


class Checkpoint(Function):
    """The node: ``apply(function, preserve_random, *args)``."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        function, preserve_random, *given = args
        ctx.function = function
        ctx.random = random_state() if preserve_random else None
        ctx.others = [None if isinstance(value, Tensor) else value for value in given]
        ctx.places = [place for place, value in enumerate(given) if isinstance(value, Tensor)]
        ctx.save_for_backward(*[given[place] for place in ctx.places])
        return function(*given)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        if state.backward is not None and not state.backward.to_all_leaves:
            raise AutogradError(
                "checkpoint: with use_reentrant=True gradients cannot be asked for by autograd.grad or inputs=",
                fix="pass use_reentrant=False to checkpoint, or call backward() without inputs",
            )
        if state.grad_enabled:
            raise AutogradError(
                "checkpoint: with use_reentrant=True there are no second derivatives",
                fix="pass use_reentrant=False to checkpoint",
            )
        given = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            given[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        before, state.grad_enabled = state.grad_enabled, True
        try:
            if ctx.random is None:
                results = ctx.function(*given)
            else:
                with with_random_state(ctx.random):
                    results = ctx.function(*given)
        finally:
            state.grad_enabled = before
        several = results if isinstance(results, tuple) else (results,)
        pairs = [
            (result, gradient)
            for result, gradient in zip(several, grad_outputs, strict=True)
            if isinstance(result, Tensor) and result.requires_grad
        ]
        if not pairs:
            raise AutogradError("checkpoint: no result requires a gradient", fix="call the function without checkpoint")
        backward([result for result, _ in pairs], [gradient for _, gradient in pairs])
        return None, None, *[value.grad if isinstance(value, Tensor) else None for value in given]
