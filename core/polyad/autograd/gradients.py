"""Asking for gradients: `backward` accumulates into ``.grad``, `grad` returns them.

Both check their arguments and run the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dispatch.effects import Effect
from ..dtypes import FLOATING
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, ShapeError
from ..ops.creation import ones_like, zeros_like
from ..state import state
from ..tensor import Tensor, check_tensor
from .engine import run
from .node import Node


def _roots(op: str, tensors: Sequence[Tensor], gradients: Any) -> list[tuple[Node, Tensor]]:
    given = (
        [gradients]
        if isinstance(gradients, Tensor)
        else [None] * len(tensors)
        if gradients is None
        else list(gradients)
    )
    if len(given) != len(tensors):
        raise ArgumentError(
            f"{op}: {len(tensors)} tensors and {len(given)} gradients", fix="give one gradient (or None) a tensor"
        )
    roots = []
    for tensor, gradient in zip(tensors, given, strict=True):
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"{op}: {type(tensor).__name__} is no tensor",
                operands={"tensor": tensor},
                fix="pass the tensors to differentiate",
            )
        if tensor._node is None:
            raise AutogradError(
                f"{op}: the tensor requires no gradient and has no history",
                operands={"tensor": tensor},
                fix="set requires_grad=True on a leaf that it is computed from",
            )
        if gradient is None:
            if tensor.numel() != 1:
                raise AutogradError(
                    f"{op}: a gradient can be made up only for a tensor of one element",
                    operands={"tensor": tensor},
                    fix="reduce it first (.sum(), .mean()), or pass gradient=",
                )
            if tensor.dtype.category != FLOATING:
                raise AutogradError(
                    f"{op}: a gradient can be made up only for a real tensor",
                    operands={"tensor": tensor},
                    fix="pass gradient=",
                )
            gradient = ones_like(tensor)
        elif not isinstance(gradient, Tensor):
            raise ArgumentTypeError(
                f"{op}: gradient is {type(gradient).__name__}, not a tensor",
                operands={"tensor": tensor, "gradient": gradient},
                fix="pass a tensor or None",
            )
        elif gradient._array.shape != tensor._array.shape:
            raise ShapeError(
                f"{op}: the gradient must have the tensor's shape",
                operands={"tensor": tensor, "gradient": gradient},
                fix="reshape the gradient",
            )
        elif gradient.device != tensor.device:
            raise AutogradError(
                f"{op}: the gradient is on another device",
                operands={"tensor": tensor, "gradient": gradient},
                fix="move it with .to(device)",
            )
        elif gradient.dtype is not tensor.dtype:
            gradient = gradient.to(tensor.dtype)
        roots.append((tensor._node, gradient))
    return roots


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of *tensors* to ``.grad`` of the leaves they were computed from.

    Args:
        tensors: one tensor or several; those of more than one element need a gradient.
        grad_tensors: the gradient of each, of its shape; None for tensors of one element.
        retain_graph: keep the graph for another backward; defaults to *create_graph*.
        create_graph: record the backward pass, for higher derivatives.
        inputs: accumulate into these tensors only.

    Raises RuntimeError for a tensor without history, a freed graph, or a saved tensor that was changed in place.

    >>> import polyad
    >>> x = polyad.tensor(3.0, requires_grad=True)
    >>> polyad.autograd.backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    if state.modes:
        BACKWARD.through_modes(tensors, grad_tensors, retain_graph, create_graph, inputs)
        return
    _backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


def _backward(tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    several = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    roots = _roots("backward", several, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run(roots, keep_graph=keep, create_graph=create_graph)
        return
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for tensor, found in zip(wanted, _capture("backward", roots, wanted, keep, create_graph), strict=True):
        if found is not None:
            tensor._grad = found.clone() if tensor._grad is None else tensor._grad + found


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of *outputs* with respect to *inputs*, one an input; no ``.grad`` is touched.

    Raises RuntimeError when an input was not used, unless *allow_unused* (its gradient is None) or *materialize_grads*
    (zeros).

    >>> import polyad
    >>> x = polyad.tensor(3.0, requires_grad=True)
    >>> (slope,) = polyad.autograd.grad(x**3, x, create_graph=True)
    >>> polyad.autograd.grad(slope, x)
    (tensor(18.),)
    """
    settings = (retain_graph, create_graph, allow_unused, materialize_grads)
    if state.modes:
        return GRAD.through_modes(outputs, inputs, grad_outputs, *settings)  # type: ignore[no-any-return]
    return _grad(outputs, inputs, grad_outputs, *settings)


def _grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:
    several = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    roots = _roots("grad", several, grad_outputs)
    found = _capture("grad", roots, wanted, create_graph if retain_graph is None else retain_graph, create_graph)
    for position, tensor in enumerate(wanted):
        if found[position] is None:
            if materialize_grads:
                found[position] = zeros_like(tensor)
            elif not allow_unused:
                raise AutogradError(
                    f"grad: inputs[{position}] was not used to compute outputs",
                    operands={f"inputs[{position}]": tensor},
                    fix="pass allow_unused=True to get None for it",
                )
    return tuple(found)


def _capture(
    op: str, roots: list[tuple[Node, Tensor]], wanted: Sequence[Tensor], keep: bool, create_graph: bool
) -> list[Tensor | None]:

    positions: dict[Node, int] = {}
    order = []
    for position, tensor in enumerate(wanted):
        node = check_tensor(tensor, op, f"inputs[{position}]")._node
        if node is None:
            raise AutogradError(
                f"{op}: inputs[{position}] requires no gradient",
                operands={f"inputs[{position}]": tensor},
                fix="set requires_grad=True before computing with it",
            )
        order.append(positions.setdefault(node, len(positions)))
    found = run(roots, keep_graph=keep, create_graph=create_graph, capture=positions, accumulate=False)
    return [found[position] for position in order]


BACKWARD = Effect("backward", backward, _backward)
GRAD = Effect("grad", grad, _grad)
