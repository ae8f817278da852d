"""First derivatives of functions: grad, grad_and_value, vjp, jvp, linearize.

Each calls the function once, with entries (`polyad.autograd.entries`) for the inputs it differentiates, and asks
for the gradient with respect to those. What a result's history leads to decides whether the derivative is recorded: if
only to this call's own entries, it is not, and the results leave without history.

To add a transform: `Call` holds what all of them need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..autograd.entries import Linearized, enter, entered, leads_outside, leave, pull_back
from ..autograd.forward_level import ForwardLevel
from ..base.dtypes import FLOATING
from ..base.state import state
from ..base.trees import Tree, flatten, map_leaves, same_order
from ..dispatch.arguments import explaining
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, DTypeError, OptionError, ShapeError, wrong_type
from ..history.grad_mode import enable_grad
from ..ops.creation.factories import ones_like, zeros_like
from ..tensor import Tensor

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]

Argnums = int | tuple[int, ...]


class Call:
    """One call of the user's function with entries in the place of some of its positional arguments.

    Attributes:
        entries: the inputs that are differentiated, flat; *tree* is their structure.
        outputs: the function's results, flat; *out_tree* is their structure.  aux: what came with them.
    """

    def __init__(
        self,
        op: str,
        func: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Argnums,
        has_aux: bool,
    ) -> None:
        check_function(op, func, has_aux)
        self.op = op
        numbers = argument_numbers(op, argnums, len(args))
        chosen: Any = args[argnums] if isinstance(argnums, int) else tuple([args[number] for number in numbers])
        leaves, self.tree = flatten(chosen)
        self.entries = [enter(differentiated(op, leaf), op) for leaf in leaves]
        chosen = self.tree.build(self.entries)
        called = list(args)
        for number, value in zip(numbers, (chosen,) if isinstance(argnums, int) else chosen, strict=True):
            called[number] = value
        with enable_grad(), entered(self.entries):
            result = func(*called, **kwargs)
        result, self.aux = _without_aux(op, result, has_aux)
        self.result = result
        self.outputs, self.out_tree = flatten(result)

    def check_outputs(self, *, differentiable: bool) -> None:
        """Raise RuntimeError unless the function returned tensors; floating or complex tensors if *differentiable*."""
        _check_tensors(self.op, self.outputs)
        for output in self.outputs:
            if differentiable and output.dtype.category < FLOATING:
                raise DTypeError(
                    f"{self.op}: the function returned a tensor that is neither floating nor complex",
                    operands={"result": output},
                    fix="convert it, or return it as aux (has_aux=True)",
                )

    def records(self, *tensors: Tensor | None) -> bool:
        """Whether derivatives must be recorded: something outside will want to differentiate them."""
        return state.grad_enabled and leads_outside((*self.outputs, *tensors), self.entries)

    def left(self, value: Any, *more: Tensor) -> Any:
        """*value* with its tensors as those outside see them; *more* are further entries of this call."""
        entries = [*self.entries, *more]
        return map_leaves(lambda leaf: leave(leaf, entries) if isinstance(leaf, Tensor) else leaf, value)

    def gradients(self, cotangents: Sequence[Tensor | None], create_graph: bool) -> list[Tensor]:
        """The gradient of each entry, zeros where the outputs do not depend on it."""
        with enable_grad():
            found = pull_back(self.outputs, self.entries, cotangents, create_graph)
        return [
            zeros_like(entry.detach()) if gradient is None else gradient for gradient, entry in zip(found, self.entries)
        ]


def _without_aux(op: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """What the function returned without aux, and aux; None without *has_aux*."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise AutogradError(
            f"{op}: with has_aux=True the function must return (output, aux)",
            operands={"result": result},
            fix="return a tuple of two",
        )
    return result


def _check_tensors(op: str, outputs: Sequence[Any]) -> None:
    """Raise RuntimeError unless the function returned tensors."""
    if not outputs:
        raise AutogradError(f"{op}: the function returned no tensor", fix="return a tensor")
    for output in outputs:
        if not isinstance(output, Tensor):
            raise AutogradError(
                f"{op}: the function returned {type(output).__name__}, not only tensors",
                operands={"result": output},
                fix="return nested dicts, lists and tuples of tensors; other things are aux (has_aux=True)",
            )


def check_function(op: str, func: Any, has_aux: Any) -> None:
    """Raise TypeError unless *func* can be called and *has_aux* is a flag."""
    if not callable(func):
        raise ArgumentTypeError(f"{op}: {type(func).__name__} cannot be called", fix="pass a function or a module")
    if not isinstance(has_aux, int):
        raise wrong_type(op, "has_aux", has_aux, "a bool")


def argument_numbers(op: str, argnums: Any, count: int) -> tuple[int, ...]:
    """The positions that *argnums* names of *count* arguments, none negative; raises RuntimeError if it cannot be."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not all(isinstance(number, int) for number in numbers):
        raise OptionError(
            f"{op}: argnums is no int or tuple of ints", operands={"argnums": argnums}, fix="pass 0, or (0, 1)"
        )
    if not numbers:
        raise OptionError(f"{op}: argnums is empty", fix="say which arguments to differentiate")
    for number in numbers:
        if not -count <= number < count:
            raise OptionError(
                f"{op}: argnums names argument {number}, the function was called with {count} positional arguments",
                fix="count from 0; arguments given by keyword are not differentiated",
            )
    found = tuple([number % count for number in numbers])
    if len(set(found)) != len(found):
        raise OptionError(
            f"{op}: argnums names an argument twice", operands={"argnums": argnums}, fix="name each argument once"
        )
    return found


def differentiated(op: str, leaf: Any) -> Tensor:
    """*leaf*, which is among what is to be differentiated; raises ValueError unless it is a tensor."""
    if not isinstance(leaf, Tensor):
        raise ArgumentError(
            f"{op}: {type(leaf).__name__} is no tensor, and only tensors can be differentiated",
            operands={"input": leaf},
            fix="wrap it in polyad.tensor(...), or leave its argument out of argnums",
        )
    return leaf


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of *func*, which returns one real number as a 0-d tensor.

    Args:
        func: any function of tensors in nested dicts, lists and tuples.
        argnums: which positional arguments to differentiate; a tuple gives a tuple of gradients.
        has_aux: *func* returns (value, aux); the result is (gradient, aux).

    The function returned raises RuntimeError if *func* returns no 0-d real tensor, ValueError for an argument that is
    to be differentiated and has leaves that are no tensors.

    >>> import polyad
    >>> from polyad.func import grad
    >>> grad(polyad.sin)(polyad.tensor(0.0))
    tensor(1.)
    >>> grad(grad(lambda x: x**3))(polyad.tensor(2.0))
    tensor(12.)
    >>> grad(lambda w: (w["a"] * w["b"]).sum())({"a": polyad.ones(2), "b": polyad.zeros(2)})
    {'a': tensor([0., 0.]), 'b': tensor([1., 1.])}
    """

    @wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = _grad_and_value("grad", func, argnums, has_aux, args, kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, for the function that returns (gradient, value), and (gradient, (value, aux)) with *has_aux*.

    >>> import polyad
    >>> from polyad.func import grad_and_value
    >>> grad_and_value(lambda x: x**2)(polyad.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return _grad_and_value("grad_and_value", func, argnums, has_aux, args, kwargs)

    return gradient_and_value


def _grad_and_value(
    op: str, func: Callable[..., Any], argnums: Argnums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    call = Call(op, func, args, kwargs, argnums, has_aux)
    value = call.result
    if not isinstance(value, Tensor):
        raise AutogradError(
            f"{op}: the function returned {type(value).__name__}, not a tensor",
            operands={"result": value},
            fix="return a 0-d tensor; (value, aux) needs has_aux=True",
        )
    if value.ndim:
        raise AutogradError(
            f"{op}: the function must return one number, a 0-d tensor",
            operands={"result": value},
            fix="reduce it (.sum(), .mean()), or use vjp or jacrev",
        )
    if value.dtype.is_complex:
        raise AutogradError(
            f"{op}: the function must return a real number",
            operands={"result": value},
            fix="take .real or .abs(), or use vjp",
        )
    found = call.gradients([ones_like(value.detach())], call.records())
    gradient = call.tree.build([leave(part, call.entries) for part in found])
    left = leave(value, call.entries)
    return gradient, (left, call.left(call.aux)) if has_aux else left


@explaining
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The result of *func* and the function that multiplies cotangents by its Jacobian.

    Args:
        func: takes *primals*, returns floating or complex tensors in nested dicts, lists and tuples.
        has_aux: *func* returns (output, aux), and vjp (output, vjp_fn, aux).

    ``vjp_fn(cotangents)`` takes the structure and shapes of the output and returns a tuple with a gradient for each
    primal. It can be called any number of times. Raises RuntimeError for outputs that are no floating tensors and for
    cotangents that do not fit.

    >>> import polyad
    >>> from polyad.func import vjp
    >>> output, vjp_fn = vjp(lambda x, y: x * y, polyad.tensor([1.0, 2.0]), polyad.tensor([3.0, 4.0]))
    >>> vjp_fn(polyad.tensor([1.0, 10.0]))
    (tensor([ 3., 40.]), tensor([ 1., 20.]))
    """
    call = Call("vjp", func, primals, {}, tuple(range(len(primals))), has_aux) if primals else _without_inputs(func)
    call.check_outputs(differentiable=True)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = _fitting("vjp", "cotangents", cotangents, call.out_tree, call.outputs)
        record = call.records(*given) if create_graph is None else create_graph
        found = call.gradients(given, record)
        return call.tree.build([leave(part, call.entries) for part in found])

    output = call.left(call.result)
    return (output, vjp_fn, call.left(call.aux)) if has_aux else (output, vjp_fn)


def _without_inputs(func: Callable[..., Any]) -> Call:
    return Call("vjp", lambda nothing: func(), ((),), {}, 0, False)


def _fitting(op: str, what: str, given: Any, tree: Tree, like: Sequence[Tensor]) -> list[Tensor]:
    """The leaves of *given*; raises RuntimeError unless it has the structure *tree* and the shapes of *like*."""
    structure = flatten(given)[1]
    if structure != tree:
        raise AutogradError(
            f"{op}: {what} have not the structure of what they belong to",
            notes={"given": str(structure), "wanted": str(tree)},
            fix="nest them in the same dicts, lists and tuples",
        )
    leaves = same_order(given, tree)
    for number, (leaf, wanted) in enumerate(zip(leaves, like, strict=True)):
        if not isinstance(leaf, Tensor):
            raise ArgumentTypeError(
                f"{op}: {what}[{number}] is {type(leaf).__name__}, not a tensor",
                operands={what: leaf},
                fix="wrap it in polyad.tensor(...)",
            )
        if leaf.shape != wanted.shape:
            raise ShapeError(
                f"{op}: {what}[{number}] has another shape than what it belongs to",
                operands={what: leaf, "wanted": wanted},
                fix="reshape it",
            )
    return leaves


@explaining
def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The result of *func* at *primals*, and its Jacobian times *tangents*.

    Args:
        func: returns tensors in nested dicts, lists and tuples; those of integers have tangents of zeros.
        primals, tangents: tuples with a value for each argument, of the same structure and shapes.
        strict: raise RuntimeError if an output does not depend on the primals.
        has_aux: *func* returns (output, aux), and jvp (output, tangent, aux).

    *func* is called once, and tangents are carried along (`polyad.autograd.forward_ad`), whether gradients are recorded
    or not. Raises RuntimeError for tangents whose structure, shape or device is not that of the primals.

    >>> import polyad
    >>> from polyad.func import jvp
    >>> jvp(polyad.sin, (polyad.tensor(0.0),), (polyad.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(tangents, tuple):
        raise AutogradError(
            "jvp: tangents must be a tuple, one for each argument",
            operands={"tangents": tangents},
            fix="pass (tangent,)",
        )
    output, found, aux = pushed_forward("jvp", func, primals, tangents, has_aux, strict)
    return (output, found, aux) if has_aux else (output, found)


def pushed_forward(
    op: str, func: Callable[..., Any], primals: Any, tangents: tuple[Any, ...], has_aux: bool, strict: bool
) -> tuple[Any, Any, Any]:
    """(output, its tangents, aux) of *func* called with *primals* that have *tangents*."""
    _check_primals(op, primals)
    leaves, tree = flatten(primals)
    inputs = [differentiated(op, leaf) for leaf in leaves]
    given = _fitting(op, "tangents", tangents, tree, inputs)
    level = ForwardLevel()
    try:
        with level:
            duals = [
                level.dual(op, _smooth(op, primal), tangent, (f"primals[{i}]", f"tangents[{i}]"), frozen=True)
                for i, (primal, tangent) in enumerate(zip(inputs, given, strict=True))
            ]
            result = func(*tree.build(duals))
        result, aux = _without_aux(op, result, has_aux)
        outputs, out_tree = flatten(result)
        _check_tensors(op, outputs)
        found = [level.tangent(output) for output in outputs]
    finally:
        level.clear()
    if strict:
        _check_connected(op, outputs, found)
    returned = []
    for output, tangent in zip(outputs, found, strict=True):
        if tangent is None:
            returned.append(zeros_like(output.detach()))
        else:  # what is returned is never the argument itself
            returned.append(tangent.clone() if any(tangent is argument for argument in given) else tangent)
    return result, out_tree.build(returned), aux


def _smooth(op: str, tensor: Tensor) -> Tensor:
    if tensor.dtype.category < FLOATING:
        raise DTypeError(
            f"{op}: only floating point and complex tensors can be differentiated",
            operands={"input": tensor},
            fix="convert it with .to(polyad.float32), or bind it by a lambda if no derivative by it is wanted",
        )
    return tensor


def _check_connected(op: str, outputs: Sequence[Tensor], found: Sequence[Tensor | None]) -> None:
    for number, tangent in enumerate(found):
        if tangent is None:
            raise AutogradError(
                f"{op}: output {number} does not depend on the inputs, which strict=True forbids",
                operands={f"output {number}": outputs[number]},
                fix="pass strict=False to get zeros",
            )


def _check_primals(op: str, primals: Any) -> None:
    if not isinstance(primals, tuple):
        raise AutogradError(
            f"{op}: primals must be a tuple, one for each argument", operands={"primals": primals}, fix="pass (primal,)"
        )
    if not flatten(primals)[0]:
        raise AutogradError(f"{op}: primals have no tensor", fix="pass at least one tensor")


def _pushed(call: Call, derivative: Linearized, tangents: Sequence[Tensor | None]) -> Any:
    """The tangents of the outputs, in their structure."""
    record = call.records(*tangents)
    found = derivative(tangents, record)
    entries = [*call.entries, *derivative.entries()]
    return call.out_tree.build(
        [
            zeros_like(output.detach()) if tangent is None else leave(tangent, entries)
            for tangent, output in zip(found, call.outputs, strict=True)
        ]
    )


@explaining
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The result of *func* at *primals*, and the linear function that approximates it there.

    ``jvp_fn(*tangents)`` is `jvp` at these primals without computing *func* again: worth it for more than one tangent.
    Raises RuntimeError for tangents whose structure, shape or dtype is not that of the primals.

    >>> import polyad
    >>> from polyad.func import linearize
    >>> output, jvp_fn = linearize(lambda x: x**2, polyad.tensor([1.0, 2.0]))
    >>> jvp_fn(polyad.tensor([1.0, 0.0])), jvp_fn(polyad.tensor([0.0, 1.0]))
    (tensor([2., 0.]), tensor([0., 4.]))
    """
    _check_primals("linearize", primals)
    call = Call("linearize", func, primals, {}, tuple(range(len(primals))), False)
    call.check_outputs(differentiable=False)
    derivative = Linearized(call.outputs, call.entries)

    def jvp_fn(*tangents: Any) -> Any:
        given = _fitting("linearize", "tangents", tangents, call.tree, call.entries)
        for number, (tangent, entry) in enumerate(zip(given, call.entries, strict=True)):
            if tangent.dtype is not entry.dtype:
                raise DTypeError(
                    f"linearize: tangents[{number}] has another dtype than its primal",
                    operands={"tangent": tangent, "primal": entry},
                    fix=f"convert it with .to({entry.dtype})",
                )
        return _pushed(call, derivative, given)

    return call.left(call.result), jvp_fn
