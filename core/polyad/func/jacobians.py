"""Jacobians of functions: jacrev by rows, jacfwd by columns, hessian by both.

jacrev maps one backward pass over the elements of the outputs, jacfwd one forward pass over those of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..autograd.entries import leave
from ..base.trees import flatten
from ..errors import AutogradError
from ..ops.creation.factories import zeros
from ..ops.creation.sequences import eye
from ..ops.shaping.joining import stack
from ..tensor import Tensor
from .mapping import check_chunk, check_randomness, constants, vmap
from .transforms import Argnums, Call, argument_numbers, check_function, differentiated, pushed_forward

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of *func* by rows: one backward pass, mapped over the elements of the
    output.

    Args:
        func: returns real floating tensors in nested dicts, lists and tuples.
        argnums: which positional arguments to differentiate; a tuple gives tuples of Jacobians.
        has_aux: *func* returns (output, aux); the result is (Jacobian, aux).
        chunk_size: how many rows to compute at a time, to save memory; all by default. With 1 no `vmap` is needed, so
            the backward of a `Function` in *func* may read its gradient's data.

    For a single input and output the Jacobian has the shape ``output.shape + input.shape``; otherwise it has the
    structure of the output with that of the input in place of each leaf. Raises RuntimeError for complex inputs or
    outputs.

    >>> import polyad
    >>> from polyad.func import jacrev
    >>> jacrev(lambda x: x * x.sum())(polyad.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    check_chunk("jacrev", chunk_size)

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = Call("jacrev", func, args, kwargs, argnums, has_aux)
        call.check_outputs(differentiable=True)
        _check_real("jacrev", "an input", call.entries)
        _check_real("jacrev", "an output", call.outputs)
        record = call.records()
        sizes = [output.numel() for output in call.outputs]

        def row(*cotangents: Tensor) -> list[Tensor]:
            return call.gradients(cotangents, record)

        directions = _directions(call.outputs, sizes)
        if sum(sizes):  # what is random in func was drawn before; backward at most computes it again
            if chunk_size == 1:  # without vmap, so that a backward may do what cannot be mapped
                alone = [row(*[moved[number] for moved in directions]) for number in range(sum(sizes))]
                rows = [stack(parts) for parts in zip(*alone, strict=True)]
            else:
                rows = vmap(row, randomness="same", chunk_size=chunk_size)(*directions)
        else:
            rows = [zeros(0, *entry.shape, dtype=entry.dtype, device=entry.device) for entry in call.entries]
        split = [leave(block, call.entries).split(sizes) for block in rows]
        parts = [
            [part[number].reshape((*output.shape, *part[number].shape[1:])) for part in split]
            for number, output in enumerate(call.outputs)
        ]
        return _result(call, parts, has_aux)

    return jacobian


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that computes the Jacobian of *func* by columns: `jvp` mapped by `vmap` over the elements of the
    input, in one call of *func*.

    Takes and gives what `jacrev` does, and integer outputs too, whose Jacobians are zeros. *randomness* is that of
    `vmap`: whether *func* may draw random numbers, and whether they are "different" or the "same" for each column.

    >>> import polyad
    >>> from polyad.func import jacfwd
    >>> jacfwd(lambda x: x * x.sum())(polyad.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    check_function("jacfwd", func, has_aux)
    check_randomness("jacfwd", randomness)

    @wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = argument_numbers("jacfwd", argnums, len(args))
        primals = tuple([args[number] for number in numbers])
        inputs, tree = flatten(primals)
        for leaf in inputs:
            differentiated("jacfwd", leaf)
        _check_real("jacfwd", "an input", inputs)
        seen: list[Any] = []

        def called(*moved: Any) -> Any:
            given = list(args)
            for number, value in zip(numbers, moved, strict=True):
                given[number] = value
            return func(*given, **kwargs)

        def column(*tangents: Tensor) -> Any:
            output, found, aux = pushed_forward("jacfwd", called, primals, tree.build(tangents), has_aux, False)
            seen[:] = [constants(output), constants(aux)]
            return found

        sizes = [value.numel() for value in inputs if isinstance(value, Tensor)]
        directions = _directions(inputs, sizes)
        if sum(sizes):
            columns = flatten(vmap(column, randomness=randomness)(*directions))[0]
        else:  # there is nothing to map over, but the function says what it returns
            columns = [
                tangent.unsqueeze(0)[:0] for tangent in flatten(column(*[moved.sum(0) for moved in directions]))[0]
            ]
        outputs, out_tree = flatten(seen[0])
        _check_real("jacfwd", "an output", outputs)
        built = tree if not isinstance(argnums, int) else tree.children[0]
        parts = [_split(block, output, inputs, sizes) for block, output in zip(columns, outputs, strict=True)]
        found = out_tree.build([built.build(row) for row in parts])
        return (found, seen[1]) if has_aux else found

    return jacobian


def _directions(inputs: Sequence[Tensor], sizes: Sequence[int]) -> list[Tensor]:
    """For each input the tangents that move one element of all inputs at a time, (elements of all, *shape)."""
    before, total = 0, sum(sizes)
    directions = []
    for entry, size in zip(inputs, sizes, strict=True):
        block = eye(total, dtype=entry.dtype, device=entry.device)[:, before : before + size]
        directions.append(block.reshape(total, *entry.shape))
        before += size
    return directions


def _split(columns: Tensor, output: Tensor, inputs: Sequence[Tensor], sizes: Sequence[int]) -> list[Tensor]:
    """The Jacobians of one output by each input, from its tangents along all elements of them."""
    parts = columns.movedim(0, -1).split(list(sizes), -1)
    return [part.reshape((*output.shape, *entry.shape)) for part, entry in zip(parts, inputs, strict=True)]


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of *func*: ``jacfwd(jacrev(func))``.

    For a single input and output of the shape ``output.shape + input.shape + input.shape``.

    >>> import polyad
    >>> from polyad.func import hessian
    >>> hessian(lambda x: (x**3).sum())(polyad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _check_real(op: str, what: str, tensors: Sequence[Any]) -> None:
    for tensor in tensors:
        if isinstance(tensor, Tensor) and tensor.dtype.is_complex:
            raise AutogradError(
                f"{op}: {what} is complex, and a Jacobian is of real functions",
                operands={what.split()[1]: tensor},
                fix="take and return real pairs, with polyad.view_as_complex(x) and polyad.view_as_real(y) inside",
            )


def _result(call: Call, parts: Sequence[Sequence[Tensor]], has_aux: bool) -> Any:
    found = call.out_tree.build([call.tree.build(row) for row in parts])
    return (found, call.left(call.aux)) if has_aux else found
