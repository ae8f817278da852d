"""Ops with a hand-written backward: derive from `Function`, write ``forward`` and ``backward``, call ``apply``."""

from __future__ import annotations

from typing import Any

from ..dispatch.effects import Effect
from ..dtypes import FLOATING
from ..errors import AutogradError, NotSupported
from ..state import state
from ..tensor import Tensor
from .node import Node, Output, make_node
from .saved import Packed


class Context:
    """What ``forward`` leaves for ``backward``: `save_for_backward`, flags, and any attribute the author sets."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.to_save: tuple[Tensor | Packed | None, ...] = ()
        self.saved_at = 0
        self.non_differentiable: set[int] = set()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``backward``; in-place changes to them are noticed there."""
        from ..storage import next_event

        hooks = state.saved_hooks
        self.to_save = (
            tuple(None if tensor is None else Packed(tensor, hooks[-1]) for tensor in tensors) if hooks else tensors
        )
        self.saved_at = next_event()

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`. Raises RuntimeError if one was changed in place since."""
        tensors = tuple(saved.open() if isinstance(saved, Packed) else saved for saved in self.to_save)
        for saved, tensor in zip(self.to_save, tensors, strict=True):
            if (
                tensor is not None
                and saved is tensor
                and tensor._storage is not None
                and tensor._storage.written > self.saved_at
            ):
                op, line = tensor._storage.writer
                raise AutogradError(
                    "saved_tensors: a saved tensor was changed in place",
                    operands={"saved": tensor},
                    notes={"changed": f"by {op} ({line})"},
                    fix="clone() it before saving or changing it",
                )
        return tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these results have no gradient."""
        self.non_differentiable |= {id(tensor) for tensor in tensors}


class Function:
    """Base of ops with their own backward.

    ``forward(ctx, *args)`` computes with recording off; ``backward(ctx, *grad_outputs)`` returns one gradient an
    argument of ``forward``, None for those that have none.

    >>> import polyad
    >>> class Double(polyad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = polyad.tensor(1.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Compute the results; override it."""
        raise NotSupported("Function: forward is not defined", fix="define a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients; override it."""
        raise NotSupported(
            "Function: backward is not defined", fix="define a static method backward(ctx, *grad_outputs)"
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the op: run ``forward``, and record ``backward`` if an argument needs a gradient."""
        if state.modes:
            return Effect(cls.__name__, cls.apply, cls._apply, function=cls).through_modes(*args)
        return cls._apply(*args)

    @classmethod
    def _apply(cls, *args: Any) -> Any:
        targets = [getattr(arg, "_node", None) if isinstance(arg, Tensor) else None for arg in args]
        recording = state.grad_enabled and any(node is not None for node in targets)
        ctx = Context(tuple(node is not None for node in targets))
        before = state.grad_enabled
        state.grad_enabled = False
        try:
            result = cls.forward(ctx, *args)
        finally:
            state.grad_enabled = before
        if not recording:
            return result
        results = list(result) if isinstance(result, tuple) else [result]
        for position, tensor in enumerate(results):
            if isinstance(tensor, Tensor) and any(tensor is arg for arg in args):
                results[position] = tensor._alias()
        cls._record(ctx, args, targets, results, several=isinstance(result, tuple))
        return tuple(results) if isinstance(result, tuple) else results[0]

    @classmethod
    def _record(
        cls, ctx: Context, args: tuple[Any, ...], targets: list[Node | None], results: list[Any], several: bool
    ) -> None:
        name = cls.__name__

        def formula(gradient: Any) -> list[Tensor | None]:
            given = gradient if several else [gradient]
            filled = [_zeros(like) if part is None else part for part, like in zip(given, results_like, strict=True)]
            returned = cls.backward(ctx, *filled)
            parts = list(returned) if isinstance(returned, tuple) else [returned]
            if len(parts) < len(args) or any(part is not None for part in parts[len(args) :]):
                raise AutogradError(
                    f"{name}.backward: it returned {len(parts)} gradients for {len(args)} arguments of forward",
                    fix="return one gradient (or None) an argument",
                )
            for position, part in enumerate(parts[: len(args)]):
                if part is not None and not isinstance(part, Tensor):
                    raise AutogradError(
                        f"{name}.backward: gradient {position} is {type(part).__name__}, not a tensor",
                        fix="return tensors or None",
                    )
            return parts[: len(args)]

        results_like = [
            (tensor._array.shape, tensor._type) if isinstance(tensor, Tensor) else None for tensor in results
        ]
        tensors = [tensor for tensor in results if isinstance(tensor, Tensor)]
        first = tensors[0]
        node = make_node(
            f"{name}Backward",
            [(targets, formula, ())],
            first._array.shape,
            first._type,
            len(results) if several else None,
        )
        for number, tensor in enumerate(results):
            if (
                isinstance(tensor, Tensor)
                and tensor._type.dtype.category >= FLOATING
                and id(tensor) not in ctx.non_differentiable
            ):
                tensor._node = Output(node, number, tensor._array.shape, tensor._type) if several else node


def _zeros(like: Any) -> Tensor | None:
    if like is None:
        return None
    from ..ops.creation import zeros

    shape, kind = like
    return zeros(shape, dtype=kind.dtype, device=kind.device)
