"""Jacobians of functions: jacrev by rows, jacfwd by columns, hessian by both.

Products are computed one by one, so the time is that of one backward pass an element: of the outputs for jacrev, of the
inputs for jacfwd.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..autograd.levels import Linearized, leave, one_hot
from ..errors import ArgumentError, AutogradError, OptionError
from ..ops.creation import zeros, zeros_like
from ..ops.joining import stack
from ..tensor import Tensor
from .transforms import Argnums, Call

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of *func* by rows, one backward pass an element of the output.

    Args:
        func: returns real floating tensors in nested dicts, lists and tuples.
        argnums: which positional arguments to differentiate; a tuple gives tuples of Jacobians.
        has_aux: *func* returns (output, aux); the result is (Jacobian, aux).
        chunk_size: at least 1; makes no difference, since rows are computed one by one.

    For one tensor of each the Jacobian has the shape ``output.shape + input.shape``; otherwise it has the structure of
    the output with that of the input in place of each leaf. Raises RuntimeError for complex inputs or outputs.

    >>> import polyad
    >>> from polyad.func import jacrev
    >>> jacrev(lambda x: x * x.sum())(polyad.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentError(
            "jacrev: chunk_size must be at least 1", operands={"chunk_size": chunk_size}, fix="pass None, or 1 or more"
        )

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = Call("jacrev", func, args, kwargs, argnums, has_aux)
        call.check_outputs(differentiable=True)
        _check_real(call)
        record = call.records()
        parts = []
        for number, output in enumerate(call.outputs):
            rows = []
            cotangents: list[Tensor | None] = [None] * len(call.outputs)
            for position in range(output.numel()):
                cotangents[number] = one_hot(output, position)
                rows.append([leave(one, call.entries) for one in call.gradients(cotangents, record)])
            parts.append([_joined([row[k] for row in rows], output, entry, 0) for k, entry in enumerate(call.entries)])
        return _result(call, parts, has_aux)

    return jacobian


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that computes the Jacobian of *func* by columns, one pass an element of the input.

    Takes and gives what `jacrev` does, and integer outputs too, whose Jacobians are zeros. *func* is called once, so
    all columns belong to the same random numbers, whatever *randomness* ("error", "different", "same") says.

    >>> import polyad
    >>> from polyad.func import jacfwd
    >>> jacfwd(lambda x: x * x.sum())(polyad.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    if randomness not in ("error", "different", "same"):
        raise OptionError(f"jacfwd: randomness is {randomness!r}", fix="pass 'error', 'different' or 'same'")

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = Call("jacfwd", func, args, kwargs, argnums, has_aux)
        call.check_outputs(differentiable=False)
        _check_real(call)
        record = call.records()
        derivative = Linearized(call.outputs, call.entries)
        entries = [*call.entries, *derivative.entries()]
        parts: list[list[Tensor]] = [[] for _ in call.outputs]
        for k, entry in enumerate(call.entries):
            columns = []
            for position in range(entry.numel()):
                tangents: list[Tensor | None] = [None] * len(call.entries)
                tangents[k] = one_hot(entry, position)
                columns.append(
                    [
                        zeros_like(output.detach()) if one is None else leave(one, entries)
                        for one, output in zip(derivative(tangents, record), call.outputs, strict=True)
                    ]
                )
            for number, output in enumerate(call.outputs):
                parts[number].append(_joined([column[number] for column in columns], output, entry, -1))
        return _result(call, parts, has_aux)

    return jacobian


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of *func*: ``jacfwd(jacrev(func))``.

    For one tensor of each of the shape ``output.shape + input.shape + input.shape``.

    >>> import polyad
    >>> from polyad.func import hessian
    >>> hessian(lambda x: (x**3).sum())(polyad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _check_real(call: Call) -> None:
    for what, tensors in (("an input", call.entries), ("an output", call.outputs)):
        for tensor in tensors:
            if tensor.dtype.is_complex:
                raise AutogradError(
                    f"{call.op}: {what} is complex, and a Jacobian is of real functions",
                    operands={what.split()[1]: tensor},
                    fix="take and return real pairs, with polyad.view_as_complex(x) and polyad.view_as_real(y) inside",
                )


def _joined(parts: Sequence[Tensor], output: Tensor, entry: Tensor, dim: int) -> Tensor:
    shape = (*output.shape, *entry.shape)
    if not parts:
        like = entry if dim == 0 else output
        return zeros(shape, dtype=like.dtype, device=like.device)
    return stack(list(parts), dim).reshape(shape)


def _result(call: Call, parts: Sequence[Sequence[Tensor]], has_aux: bool) -> Any:
    found = call.out_tree.build([call.tree.build(row) for row in parts])
    return (found, call.left(call.aux)) if has_aux else found
