"""Derivatives of functions as tensors: jacobian, hessian, and products of them with vectors.

The functions here take a tensor or a tuple of tensors, call the user's function with them, and return results of the
same structure. Results carry no history unless *create_graph*; `polyad.func` has the same derivatives as transforms
that nest.

Complex tensors: a vector-Jacobian product is PyTorch's gradient, ``v^T`` times the conjugate Jacobian for a holomorphic
function, and a Jacobian-vector product is the Jacobian times the vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ..dispatch.arguments import explaining
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, ShapeError, safe_repr
from ..history.grad_mode import enable_grad, no_grad
from ..ops.creation.factories import ones_like, zeros, zeros_like
from ..ops.creation.sequences import eye
from ..ops.shaping.joining import stack
from ..tensor import Tensor
from ..transforms.batching import VmapLevel
from .entries import enter, entered, one_hot, pull_back
from .forward_level import ForwardLevel

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]
Strategy = Literal["reverse-mode", "forward-mode"]
TensorOrTuple = Tensor | Tensors


class _Call:
    """One call of the user's function: its inputs as entries, and its outputs.

    Attributes:
        op: the name in messages.
        inputs, outputs: as tuples; *several_in* and *several_out* say whether the user's were.
    """

    def __init__(self, op: str, func: Callable[..., Any], inputs: Any, strict: bool, create_graph: bool) -> None:
        self.op, self.strict, self.create_graph = op, strict, create_graph
        given, self.several_in = _tensors(op, "inputs", inputs)
        with enable_grad():
            # A tensor without history gets its first node here; without create_graph no history leads out of this call.
            self.inputs = tuple(enter(tensor if create_graph else tensor.detach(), op) for tensor in given)
            with entered(self.inputs):
                result = func(*self.inputs)
            self.outputs, self.several_out = _tensors(op, "the function's result", result)
        if strict:
            for number, output in enumerate(self.outputs):
                if output._node is None:
                    raise AutogradError(
                        f"{op}: output {number} of the function requires no gradient",
                        operands={f"output {number}": output},
                        fix="compute it from the inputs by differentiable ops, or pass strict=False to get zeros",
                    )

    def vector(self, v: Any, like: Tensors, several: bool, what: str) -> Tensors:
        """*v* as a tuple that fits *like*; of ones if it is None and *like* is one tensor of one element."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise AutogradError(
                    f"{self.op}: v can be left out only if {what} is one tensor with one element",
                    operands={f"{what} {number}": tensor for number, tensor in enumerate(like)},
                    fix=f"pass v, with the structure of {what}",
                )
            return (ones_like(like[0]),)
        given, _ = _tensors(self.op, "v", v)
        if len(given) != len(like):
            raise AutogradError(
                f"{self.op}: v has {len(given)} tensors, {what} has {len(like)}",
                fix=f"give v the structure of {what}",
            )
        for number, (tensor, wanted) in enumerate(zip(given, like, strict=True)):
            if tensor.shape != wanted.shape:
                raise ShapeError(
                    f"{self.op}: v[{number}] has not the shape of {what}",
                    operands={f"v[{number}]": tensor, what: wanted},
                    fix="reshape it",
                )
        return given if self.create_graph else tuple(tensor.detach() for tensor in given)

    def vector_of_inputs(self, v: Any) -> Tensors:
        """*v* as a tuple that fits the inputs."""
        return self.vector(v, self.inputs, self.several_in, "inputs")

    def filled(self, found: Sequence[Tensor | None], like: Tensors, what: Callable[[int], str]) -> Tensors:
        """*found* with zeros where nothing connects the two ends; with *strict*, an error that says *what* it is."""
        for number, part in enumerate(found):
            if self.strict and part is None:
                raise AutogradError(f"{self.op}: {what(number)}", fix="pass strict=False to get zeros for it")
            if self.strict and self.create_graph and part is not None and part._node is None:
                raise AutogradError(
                    f"{self.op}: the derivative by input {number} does not depend on the inputs, "
                    "which strict=True forbids with create_graph=True",
                    fix="pass strict=False; a linear function has no second derivative",
                )
        return tuple(zeros_like(wanted) if part is None else part for part, wanted in zip(found, like, strict=True))

    def result(self, tensors: Sequence[Tensor], several: bool) -> TensorOrTuple:
        """What the user gets: a tuple or one tensor, without history unless *create_graph*."""
        if not self.create_graph:
            tensors = [tensor if tensor._node is None else tensor.detach() for tensor in tensors]
        return tuple(tensors) if several else tensors[0]

    def results(self) -> TensorOrTuple:
        """The function's result, as `result`."""
        return self.result(self.outputs, self.several_out)


class _ForwardCall(_Call):
    """One call of the user's function with inputs that have the tangents ``tangents_of(call)``.

    Attributes:
        found: the tangents of the outputs, None where the inputs do not reach.
    """

    def __init__(
        self,
        op: str,
        func: Callable[..., Any],
        inputs: Any,
        strict: bool,
        create_graph: bool,
        tangents_of: Callable[[_Call], Sequence[Tensor]],
    ) -> None:
        self.op, self.strict, self.create_graph = op, strict, create_graph
        given, self.several_in = _tensors(op, "inputs", inputs)
        level = ForwardLevel()
        try:
            with enable_grad():
                self.inputs = tuple(enter(tensor, op) if create_graph else tensor.detach() for tensor in given)
                tangents = tangents_of(self)
                with level:
                    duals = [
                        level.dual(op, entry, tangent, (f"inputs[{i}]", f"v[{i}]"), frozen=True)
                        for i, (entry, tangent) in enumerate(zip(self.inputs, tangents, strict=True))
                    ]
                    self.outputs, self.several_out = _tensors(op, "the function's result", func(*duals))
            self.found = [level.tangent(output) for output in self.outputs]
        finally:
            level.clear()

    def tangents(self) -> Tensors:
        """The tangents of the outputs, zeros where there are none."""
        return self.filled(self.found, self.outputs, lambda number: f"output {number} does not depend on the inputs")


def _tensors(op: str, what: str, given: Any) -> tuple[Tensors, bool]:
    """*given* as a tuple of tensors, and whether it was a tuple; raises TypeError for anything else."""
    several = isinstance(given, tuple)
    tensors = given if several else (given,)
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"{op}: {what} must be a tensor or a tuple of tensors",
                operands={f"{what}[{number}]" if several else what: tensor},
                fix="pass tensors; for nested structures use polyad.func",
            )
    return tensors, several


@explaining
def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, and *v* times its Jacobian, by one backward pass.

    Args:
        func: takes tensors, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors, floating or complex.
        v: of the structure and shapes of the result; may be left out for one result of one element.
        create_graph: let the results be differentiated.
        strict: raise RuntimeError if an output or an input is not connected, instead of zeros.

    Raises TypeError for what is no tensor, RuntimeError for shapes that do not fit.

    >>> import polyad
    >>> from polyad.autograd.functional import vjp
    >>> vjp(lambda x: x * x, polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = _Call("vjp", func, inputs, strict, create_graph)
    cotangents = call.vector(v, call.outputs, call.several_out, "the result")
    found = pull_back(call.outputs, call.inputs, cotangents, create_graph)
    gradients = call.filled(found, call.inputs, lambda number: f"the result does not depend on input {number}")
    return call.results(), call.result(gradients, call.several_in)


@explaining
def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, and its Jacobian times *v*, by one call that carries tangents along.

    *v* has the structure and shapes of *inputs*; it may be left out for one input of one element. The other arguments
    are those of `vjp`.

    >>> import polyad
    >>> from polyad.autograd.functional import jvp
    >>> jvp(lambda x: x * x, polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = _ForwardCall("jvp", func, inputs, strict, create_graph, lambda call: call.vector_of_inputs(v))
    return call.results(), call.result(call.tangents(), call.several_out)


@explaining
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: Strategy = "reverse-mode",
) -> Any:
    """The Jacobian of *func* at *inputs*: of shape ``output.shape + input.shape`` for a single input and output.

    Args:
        func, inputs, create_graph, strict: as for `vjp`.
        vectorize: makes no difference.
        strategy: "reverse-mode" takes a backward pass an element of the outputs, "forward-mode" one call of *func*
            mapped over the elements of the inputs.

    Returns a tuple of Jacobians for a tuple of inputs or of outputs, and for both a tuple of tuples,
    ``jacobian[output][input]``. Raises RuntimeError for complex outputs in reverse mode.

    >>> import polyad
    >>> from polyad.autograd.functional import jacobian
    >>> jacobian(lambda x: x * x.sum(), polyad.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    _check_strategy("jacobian", "strategy", strategy)
    return _jacobian("jacobian", func, inputs, create_graph, strict, strategy)


def _jacobian(op: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, strategy: str) -> Any:
    with enable_grad() if create_graph else no_grad():
        if strategy == "forward-mode":
            call, rows = _forward(op, func, inputs, create_graph, strict)
        else:
            call = _Call(op, func, inputs, strict, create_graph)
            rows = _reverse(call)
        found = [call.result(row, call.several_in) for row in rows]
    return tuple(found) if call.several_out else found[0]


def _check_strategy(op: str, name: str, strategy: str) -> None:
    if not isinstance(strategy, str) or strategy not in ("reverse-mode", "forward-mode"):
        raise ArgumentError(
            f"{op}: {name} is {safe_repr(strategy)}",
            fix="pass 'reverse-mode', or 'forward-mode' where there are more outputs than inputs",
        )


def _reverse(call: _Call) -> list[list[Tensor]]:
    jacobians = []
    for number, output in enumerate(call.outputs):
        if output.dtype.is_complex:
            raise AutogradError(
                f"{call.op}: output {number} is complex, so a row of the Jacobian is not a single gradient",
                operands={f"output {number}": output},
                fix="return polyad.view_as_real(output), or for a holomorphic function pass strategy='forward-mode'",
            )
        rows: list[Tensors] = []
        for position in range(output.numel()):
            found = pull_back([output], call.inputs, [one_hot(output, position)], call.create_graph)
            rows.append(call.filled(found, call.inputs, lambda i, n=number: f"output {n} does not depend on input {i}"))  # type: ignore[misc]
        jacobians.append(
            [_stacked([row[place] for row in rows], output, entry, 0) for place, entry in enumerate(call.inputs)]
        )
    return jacobians


def _forward(
    op: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
) -> tuple[_Call, list[list[Tensor]]]:
    """One call of the function, mapped over the elements of the inputs; random numbers are the same for all."""
    sizes = [tensor.numel() for tensor in _tensors(op, "inputs", inputs)[0]]
    total = sum(sizes)
    level = VmapLevel(getattr(func, "__name__", type(func).__name__), total, "same")

    def along_elements(call: _Call) -> list[Tensor]:
        rows = [eye(total, dtype=entry.dtype, device=entry.device) for entry in call.inputs]
        parts = [row.split(sizes, -1)[k].reshape(total, *call.inputs[k].shape) for k, row in enumerate(rows)]
        return [level.wrap(part) for part in parts] if total else [part.sum(0) for part in parts]

    try:
        with level:
            call = _ForwardCall(op, func, inputs, strict, create_graph, along_elements)
            tangents = call.tangents()
        columns = [level.spread(level.lifted(tangent)) if total else tangent.unsqueeze(0)[:0] for tangent in tangents]
    finally:
        level.end()
    return call, [
        [
            part.reshape((*output.shape, *entry.shape))
            for part, entry in zip(column.movedim(0, -1).split(sizes, -1), call.inputs, strict=True)
        ]
        for column, output in zip(columns, call.outputs, strict=True)
    ]


def _stacked(parts: list[Tensor], output: Tensor, entry: Tensor, dim: int) -> Tensor:
    shape = (*output.shape, *entry.shape)
    like = entry if dim == 0 else output
    if not parts:
        return zeros(shape, dtype=like.dtype, device=like.device)
    return stack(parts, dim).reshape(shape)


@explaining
def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: Strategy = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of *func*, which returns one tensor with one element.

    Of shape ``input.shape + input.shape`` for one input; for a tuple of inputs a tuple of tuples, ``hessian[i][j]``.
    *outer_jacobian_strategy* says how the gradient is differentiated (see `jacobian`); the other arguments are those of
    `jacobian`. Raises RuntimeError unless the result is one tensor with one element.

    >>> import polyad
    >>> from polyad.autograd.functional import hessian
    >>> hessian(lambda x: (x**3).sum(), polyad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_strategy("hessian", "outer_jacobian_strategy", outer_jacobian_strategy)
    _, several = _tensors("hessian", "inputs", inputs)

    def gradient(*entries: Tensor) -> Tensors:
        if outer_jacobian_strategy == "forward-mode":  # they have tangents, and no history to differentiate by
            entries = tuple(enter(entry, "hessian") for entry in entries)
        found = _gradient_of_scalar("hessian", func, entries, strict)[1]
        return tuple(
            # An input that a linear function leaves out of its gradient has second derivatives, which are zero.
            zeros_like(entry) if part is None else part
            for part, entry in zip(found, entries, strict=True)
        )

    found = _jacobian("hessian", gradient, inputs, create_graph, strict, outer_jacobian_strategy)
    return found if several else found[0]


def _gradient_of_scalar(
    op: str, func: Callable[..., Any], entries: Tensors, strict: bool
) -> tuple[Tensor, list[Tensor | None]]:
    """The value and the gradient, which can be differentiated, of a function that returns one number."""
    value = func(*entries)
    _, several = _tensors(op, "the function's result", value)
    if several:
        raise AutogradError(
            f"{op}: the function must return one tensor",
            operands={"result": value},
            fix="sum what it returns to one number",
        )
    if value.numel() != 1:
        raise AutogradError(
            f"{op}: the function must return one element", operands={"result": value}, fix="reduce it, with .sum() say"
        )
    if strict and value._node is None:
        raise AutogradError(
            f"{op}: the result of the function requires no gradient",
            operands={"result": value},
            fix="compute it from the inputs by differentiable ops, or pass strict=False to get zeros",
        )
    if value.dtype.is_complex:
        raise AutogradError(
            f"{op}: the function must return a real number", operands={"result": value}, fix="take .real or .abs()"
        )
    found = pull_back([value], entries, [ones_like(value)], True)
    for number, part in enumerate(found):
        if strict and (part is None or part._node is None):
            raise AutogradError(
                f"{op}: the gradient by input {number} does not depend on the inputs",
                operands={f"input {number}": entries[number]},
                fix="pass strict=False to get zeros; a linear function has no second derivative",
            )
    return value, found


@explaining
def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, one number, and *v* times its Hessian; arguments as for `jvp`.

    >>> import polyad
    >>> from polyad.autograd.functional import vhp
    >>> vhp(lambda x: (x**3).sum(), polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


@explaining
def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, one number, and its Hessian times *v*; arguments as for `jvp`.

    The Hessian of a real function is symmetric, so this is `vhp`, and as fast.

    >>> import polyad
    >>> from polyad.autograd.functional import hvp
    >>> hvp(lambda x: (x**3).sum(), polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    op: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    values: list[Tensor] = []
    gradients: list[Tensor | None] = []

    def value(*entries: Tensor) -> Tensor:
        found, gradient = _gradient_of_scalar(op, func, entries, strict)
        values.append(found)
        gradients.extend(gradient)
        return found

    call = _Call(op, value, inputs, False, create_graph)
    call.strict = strict
    vectors = call.vector(v, call.inputs, call.several_in, "inputs")
    pairs = [(gradient, vector) for gradient, vector in zip(gradients, vectors, strict=True) if gradient is not None]
    found = pull_back([gradient for gradient, _ in pairs], call.inputs, [vector for _, vector in pairs], create_graph)
    products = call.filled(found, call.inputs, lambda i: f"the gradient of the function does not depend on input {i}")
    return call.result(values, False), call.result(products, call.several_in)
