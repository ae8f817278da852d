"""Asking for gradients: `backward` accumulates into ``.grad``, `grad` returns them.

Both check their arguments and run the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..arguments import explained_call, explaining
from ..base.dtypes import FLOATING
from ..base.state import state
from ..dispatch.effects import Effect, Record, Result, declare
from ..dispatch.overriding import DISPATCHED
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, OptionError, ShapeError, wrong_type
from ..history.node import GradientEdge, Leaf, Node
from ..ops.creation.factories import ones, ones_like, zeros, zeros_like
from ..tensor import Tensor
from ..tensor.tensor import check_tensor
from .engine import Pass


def _several(op: str, name: str, value: Any) -> list[Any]:
    if isinstance(value, (Tensor, GradientEdge)):
        return [value]
    if not isinstance(value, Iterable):
        raise wrong_type(op, name, value, "a tensor, an edge or a sequence of these")
    return list(value)


def _node_of(op: str, name: str, value: Any) -> Node:
    """The node at which the gradient of a tensor or edge arrives; raises if there is none."""
    if isinstance(value, GradientEdge):
        if isinstance(value.ownership_token, Node):
            return value.ownership_token
        if value.node.count is not None:
            raise AutogradError(
                f"{op}: {name} is an edge built by hand, to one of several results of {value.node.name()}",
                fix="use polyad.autograd.graph.get_gradient_edge(tensor)",
            )
        return value.node
    node = check_tensor(value, op, name)._node
    if node is None:
        raise AutogradError(
            f"{op}: {name} requires no gradient",
            operands={name: value},
            fix="set requires_grad=True before computing with it",
        )
    return node


def _ones_at(op: str, edge: GradientEdge, node: Node) -> Tensor:
    if 0 in node.shape or node.shape.count(1) != len(node.shape):
        raise AutogradError(
            f"{op}: a gradient can be made up only for an edge of one element",
            notes={"edge": f"{edge.node.name()} {tuple(node.shape)}"},
            fix="pass its gradient",
        )
    return ones(node.shape, dtype=node.type.dtype, device=node.type.device)


def _one(tensor: Tensor) -> Tensor:
    """As `ones_like`, for a tensor of one element: every backward of a loss begins with it."""
    type_, shape = tensor._type, tensor._array.shape
    array = type_.backend.empty(shape, type_.dtype, type_.device)
    type_.backend.fill(array, 1)
    return Tensor._of(array, type_)


def _roots(op: str, tensors: Sequence[Any], gradients: Any) -> list[tuple[Node, Tensor]]:
    """The nodes at which a pass from *tensors* begins, with the gradients that arrive there."""
    if gradients is None:
        return [_root(op, tensor, None) for tensor in tensors]
    if not isinstance(gradients, (Tensor, Sequence)):
        raise wrong_type(op, "gradients", gradients, "a tensor or a sequence of tensors")
    given = [gradients] if isinstance(gradients, Tensor) else list(gradients)
    if len(given) != len(tensors):
        raise ArgumentError(
            f"{op}: {len(tensors)} tensors and {len(given)} gradients", fix="give a gradient (or None) for each tensor"
        )
    return [_root(op, tensor, gradient) for tensor, gradient in zip(tensors, given, strict=True)]


def _root(op: str, tensor: Any, gradient: Any) -> tuple[Node, Tensor]:
    if isinstance(tensor, GradientEdge):
        node = _node_of(op, "tensors", tensor)
        return node, _ones_at(op, tensor, node) if gradient is None else gradient
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
    return tensor._node, _made_up(op, tensor) if gradient is None else _fitting(op, tensor, gradient)


def _made_up(op: str, tensor: Tensor) -> Tensor:
    """The gradient of *tensor* where none is given: 1, of a real tensor of one element."""
    if tensor.numel() != 1:
        raise AutogradError(
            f"{op}: a gradient can be made up only for a tensor of one element",
            operands={"tensor": tensor},
            fix="reduce it first (.sum(), .mean()), or pass gradient=",
        )
    if tensor._type.dtype.category != FLOATING:
        raise AutogradError(
            f"{op}: a gradient can be made up only for a real tensor",
            operands={"tensor": tensor},
            fix="pass gradient=",
        )
    return ones_like(tensor) if state.modes or type(tensor) in DISPATCHED else _one(tensor)


def _fitting(op: str, tensor: Tensor, gradient: Any) -> Tensor:
    """The *gradient* given for *tensor*, in its dtype; raises if it cannot be its gradient."""
    if not isinstance(gradient, Tensor):
        raise wrong_type(op, "gradient", gradient, "a tensor")
    if gradient._array.shape != tensor._array.shape:
        raise ShapeError(
            f"{op}: the gradient must have the tensor's shape",
            operands={"tensor": tensor, "gradient": gradient},
            fix="reshape the gradient",
        )
    if gradient.device != tensor.device:
        raise AutogradError(
            f"{op}: the gradient is on another device",
            operands={"tensor": tensor, "gradient": gradient},
            fix="move it with .to(device)",
        )
    return gradient if gradient.dtype is tensor.dtype else gradient.to(tensor.dtype)


def backward(
    tensors: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = None,
) -> None:
    """Add the gradients of *tensors* to ``.grad`` of the leaves they were computed from.

    Args:
        tensors: one tensor or several; those of more than one element need a gradient.
        grad_tensors: the gradient of each, of its shape; None for tensors of one element.
        retain_graph: keep the graph for another backward; defaults to *create_graph*.
        create_graph: record the backward pass, for higher derivatives.
        grad_variables: an old name of *grad_tensors*.
        inputs: accumulate into these tensors only; others than leaves retain their gradient.

    Raises RuntimeError for a tensor without history, a freed graph, empty *inputs*, or a saved tensor that was changed
    in place.

    >>> import polyad
    >>> x = polyad.tensor(3.0, requires_grad=True)
    >>> polyad.autograd.backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise ArgumentError(
                "backward: grad_tensors and grad_variables are two names of the same argument",
                fix="pass grad_tensors alone",
            )
        grad_tensors = grad_variables
    try:
        if state.modes:
            BACKWARD.through_modes(tensors, grad_tensors, retain_graph, create_graph, inputs)
        else:
            _backward(tensors, grad_tensors, retain_graph, create_graph, inputs)
    except Exception as error:  # as `explaining` does it, without a wrapper: every step of a training comes here
        settings = (retain_graph, create_graph, grad_variables, inputs)
        problem = explained_call("backward", backward, (tensors, grad_tensors, *settings), {}, error)
        if problem is error:
            raise
        raise problem from error


def _run_backward(tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    backward(tensors, grad_tensors, retain_graph, create_graph, None, inputs)


def _backward(tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    several = _several("backward", "tensors", tensors)
    roots = _roots("backward", several, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        Pass(roots, keep_graph=keep, create_graph=create_graph).run()
        return
    wanted = _several("backward", "inputs", inputs)
    if not wanted:
        raise OptionError("backward: inputs is empty", fix="name the tensors to accumulate into, or leave inputs out")
    only = [_node_of("backward", f"inputs[{position}]", tensor) for position, tensor in enumerate(wanted)]
    for tensor, node in zip(wanted, only, strict=True):
        if isinstance(tensor, Tensor) and not isinstance(node, Leaf):
            tensor.retain_grad()
    Pass(roots, keep_graph=keep, create_graph=create_graph, only=only).run()


@explaining
def grad(
    outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of *outputs* with respect to *inputs*, one for each input; no ``.grad`` is touched.

    Args:
        outputs, grad_outputs, retain_graph, create_graph: as of `backward`.
        inputs: the tensors to differentiate with respect to.
        only_inputs: has no effect.
        allow_unused: give None for an input that *outputs* do not depend on.
        is_grads_batched: *grad_outputs* have a leading dimension more, and so have the results: one backward pass is
            mapped over it, as by `polyad.func.vmap`.
        materialize_grads: give zeros for such an input.

    Raises RuntimeError when an input was not used, unless *allow_unused* or *materialize_grads*, and ValueError for
    both ``allow_unused=False`` and *materialize_grads*.

    >>> import polyad
    >>> x = polyad.tensor(3.0, requires_grad=True)
    >>> (slope,) = polyad.autograd.grad(x**3, x, create_graph=True)
    >>> polyad.autograd.grad(slope, x)
    (tensor(18.),)
    >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
    >>> polyad.autograd.grad(x * x, x, polyad.eye(2), is_grads_batched=True)
    (tensor([[2., 0.],
            [0., 4.]]),)
    """
    settings = (retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads)
    if state.modes:
        return GRAD.through_modes(outputs, inputs, grad_outputs, *settings)  # type: ignore[no-any-return]
    return _grad(outputs, inputs, grad_outputs, *settings)


def _grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    retain_graph: bool | None,
    create_graph: bool,
    only_inputs: bool,
    allow_unused: bool | None,
    is_grads_batched: bool,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:
    if materialize_grads and allow_unused is False:
        raise ArgumentError(
            "grad: materialize_grads=True and allow_unused=False say opposite things of inputs that are not used",
            fix="leave one of them out",
        )
    several, wanted = _several("grad", "outputs", outputs), _several("grad", "inputs", inputs)
    if not wanted:
        raise OptionError("grad: inputs is empty", fix="name the tensors to differentiate with respect to")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(several, wanted, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    roots = _roots("grad", several, grad_outputs)
    found = _capture("grad", roots, wanted, keep, create_graph)
    for position, tensor in enumerate(wanted):
        if found[position] is None:
            if materialize_grads:
                node = _node_of("grad", "inputs", tensor)
                found[position] = (
                    zeros_like(tensor)
                    if isinstance(tensor, Tensor)
                    else zeros(node.shape, dtype=node.type.dtype, device=node.type.device)
                )
            elif not allow_unused:
                raise AutogradError(
                    f"grad: inputs[{position}] was not used to compute outputs",
                    operands={f"inputs[{position}]": tensor},
                    fix="pass allow_unused=True to get None for it",
                )
    return tuple(found)


def _batched(
    outputs: list[Any],
    inputs: list[Any],
    gradients: Any,
    keep: bool,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:
    """One pass for all indices of the gradients' leading dimension, mapped over it."""
    given = [gradients] if isinstance(gradients, Tensor) else list(gradients or [None] * len(outputs))
    counts = {
        len(gradient) if isinstance(gradient, Tensor) and gradient.ndim else None
        for gradient in given
        if gradient is not None
    }
    if len(counts) != 1 or None in counts or len(given) != len(outputs):
        raise ShapeError(
            "grad: with is_grads_batched every grad_output needs the same leading dimension",
            operands={f"grad_outputs[{position}]": gradient for position, gradient in enumerate(given)},
            fix="stack the gradients of each output along a new first dimension",
        )
    (count,) = counts
    assert count is not None

    def gradients_of(*batch: Tensor | None) -> tuple[Tensor | None, ...]:
        return _grad(outputs, inputs, batch, keep, create_graph, True, allow_unused, False, materialize_grads)

    from ..transforms.batching import map_first  # the rules of all ops, which no other backward needs

    return tuple(map_first("grad", gradients_of, given, count))


def _capture(
    op: str, roots: list[tuple[Node, Tensor]], wanted: Sequence[Any], keep: bool, create_graph: bool
) -> list[Tensor | None]:
    positions: dict[Node, int] = {}
    order = []
    for position, tensor in enumerate(wanted):
        order.append(positions.setdefault(_node_of(op, f"inputs[{position}]", tensor), len(positions)))
    one = Pass(roots, keep_graph=keep, create_graph=create_graph, only=positions, capture=positions, accumulate=False)
    found = one.run()
    return [found[position] for position in order]


BACKWARD = declare(
    Effect("backward", _run_backward, _backward, reads=(1,), record=Record.FOLLOWED, result=Result.NOTHING)
)
GRAD = declare(Effect("grad", grad, _grad, reads=(2,), record=Record.FOLLOWED, result=Result.ANY))
