"""`permute_copy`, `view_copy`, ...: what a view shows, as a tensor with memory of its own.

Each takes its view's arguments, as one sequence where the view takes sizes one by one.

To add one, add a line at the end; tests/polyad_conformance/samples/shaping/view_copies.py wants a sample of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.dtypes import DType
from ...base.memory_formats import contiguous_format
from ...dispatch.op import function
from ...errors import wrong_type
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..indexing.slicing import narrow, select, unfold
from ..pointwise.complex_numbers import view_as_complex, view_as_real
from .diagonals import diagonal
from .reshape import expand, permute, reshape, squeeze, t, transpose, unsqueeze, view
from .splitting import split, split_with_sizes, unbind
from .strided import as_strided

if TYPE_CHECKING:
    from collections.abc import Sequence


def _itself(input: Tensor) -> Tensor:
    return input


def _expanded(input: Tensor, size: Sequence[int]) -> Tensor:
    return expand(input, size)


def _permuted(input: Tensor, dims: Sequence[int]) -> Tensor:
    return permute(input, dims)


def _split(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    return split(input, split_size, dim)


def _viewed(input: Tensor, size: Any = None, dtype: DType | None = None) -> Tensor:
    if isinstance(size, DType):
        size, dtype = None, size
    return view(input, dtype=dtype) if size is None else reshape(input, size)


def _sliced(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    for name, number in (("dim", dim), ("start", start), ("end", end), ("step", step)):
        if isinstance(number, bool):
            raise wrong_type("slice_copy", name, number, "an int")
    result: Tensor = input.movedim(dim, 0)[start:end:step].movedim(0, dim)
    return result


def _unfolded(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return unfold(input, dimension, size, step)


def _copied(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple([one.clone(memory_format=contiguous_format) for one in result])
    return result.clone(memory_format=contiguous_format)


def _copy(of: str, shown: Callable[..., Any], arguments: str, result: str) -> Callable[..., Any]:
    name = f"{of}_copy"
    signature = inspect.signature(shown)
    several = "tuple" in str(signature.return_annotation)

    def definition(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return _copied(shown(check_tensor(input, name, "input"), *args, **kwargs))

    definition.__name__ = definition.__qualname__ = name
    definition.__module__ = __name__
    lines = "\n".join(f"    {line}" for line in result.split("\n"))
    told = f"what `Tensor.{of}` shows" if of not in ("alias", "slice") else "the tensor's elements"
    told = "what ``input[..., start:end:step]`` shows along *dim*" if of == "slice" else told
    definition.__doc__ = (
        f"A copy of {told}, row-major, in memory of its own. Raises what the view raises.\n\n"
        f"    >>> import polyad\n    >>> polyad.{name}({arguments})\n{lines}\n"
    )
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | None")
    parameters = [*signature.parameters.values(), *([] if several else [out])]
    definition.__annotations__ = {one.name: one.annotation for one in parameters}
    definition.__annotations__["return"] = signature.return_annotation
    definition.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    declared: Callable[..., Any] = function(method=of == "narrow")(definition)
    return declared


alias_copy = _copy("alias", _itself, "polyad.tensor([1, 2])", "tensor([1, 2])")
as_strided_copy = _copy(
    "as_strided", as_strided, "polyad.arange(4), (2, 2), (1, 2)", "tensor([[0, 2],\n        [1, 3]])"
)
detach_copy = _copy("detach", _itself, "polyad.tensor([1, 2])", "tensor([1, 2])")
diagonal_copy = _copy("diagonal", diagonal, "polyad.tensor([[1, 2], [3, 4]])", "tensor([1, 4])")
expand_copy = _copy("expand", _expanded, "polyad.tensor([1]), (3,)", "tensor([1, 1, 1])")
narrow_copy = _copy("narrow", narrow, "polyad.arange(4), 0, 1, 2", "tensor([1, 2])")
permute_copy = _copy("permute", _permuted, "polyad.tensor([[1, 2]]), (1, 0)", "tensor([[1],\n        [2]])")
select_copy = _copy("select", select, "polyad.tensor([[1, 2], [3, 4]]), 0, 1", "tensor([3, 4])")
slice_copy = _copy("slice", _sliced, "polyad.arange(5), 0, 1, 3", "tensor([1, 2])")
split_copy = _copy("split", _split, "polyad.arange(3), 2", "(tensor([0, 1]), tensor([2]))")
split_with_sizes_copy = _copy(
    "split_with_sizes", split_with_sizes, "polyad.arange(3), [1, 2]", "(tensor([0]), tensor([1, 2]))"
)
squeeze_copy = _copy("squeeze", squeeze, "polyad.tensor([[1, 2]])", "tensor([1, 2])")
t_copy = _copy("t", t, "polyad.tensor([[1, 2]])", "tensor([[1],\n        [2]])")
transpose_copy = _copy("transpose", transpose, "polyad.tensor([[1, 2]]), 0, 1", "tensor([[1],\n        [2]])")
unbind_copy = _copy("unbind", unbind, "polyad.tensor([[1], [2]])", "(tensor([1]), tensor([2]))")
unfold_copy = _copy("unfold", _unfolded, "polyad.arange(5), 0, 3, 2", "tensor([[0, 1, 2],\n        [2, 3, 4]])")
unsqueeze_copy = _copy("unsqueeze", unsqueeze, "polyad.tensor([1, 2]), 0", "tensor([[1, 2]])")
view_copy = _copy("view", _viewed, "polyad.arange(4), (2, 2)", "tensor([[0, 1],\n        [2, 3]])")
view_as_complex_copy = _copy("view_as_complex", view_as_complex, "polyad.tensor([[1.0, 2.0]])", "tensor([1.+2.j])")
view_as_real_copy = _copy("view_as_real", view_as_real, "polyad.tensor([1 + 2j])", "tensor([[1., 2.]])")
