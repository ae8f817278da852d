"""Views of batches: the view that the function takes of a sample, taken of all samples at once.

Where the op's parameters name dimensions or sizes, the op itself makes the inner view, with parameters translated to
one dimension more, and so with its own gradient. For the others `_of_each` applies the op's layout arithmetic to what
lies behind the first dimension.

A new view op needs nothing here, unless its parameters can be translated so: then add a row to `_TRANSLATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import Layout
from ...dispatch.op import OPS, Op, view
from ...dispatch.views import layout_of
from ...tensor import Tensor

if TYPE_CHECKING:
    from .batched import Batched


def view_of_batch(op: Op, input: Batched, params: tuple[Any, ...], layout: Layout) -> Tensor:
    """The view *op* of every sample of *input*; *layout* is that of a single sample's view."""
    inner = input._inner
    if op.name == "expand":
        for _ in range(len(layout.shape) - input.ndim):
            inner = inner.unsqueeze(1)
        return op.call(inner, (inner._array.shape[0], *layout.shape))  # type: ignore[no-any-return]
    if op.name == "as_strided":
        own = layout_of(inner)
        moved = layout.offset - layout_of(input).offset
        shape, strides = (own.shape[0], *layout.shape), (own.strides[0], *layout.strides)
        return op.call(inner, shape, strides, own.offset + moved, own)  # type: ignore[no-any-return]
    translate = _TRANSLATIONS.get(op.name)
    if translate is None:
        return _of_each(inner, op.body, params)
    return op.call(inner, *translate(inner, *params))  # type: ignore[no-any-return]


@view(method=False)
def _of_each(input: Layout, body: Callable[..., Layout], params: tuple[Any, ...]) -> Layout:
    """The layout arithmetic *body* of another view op, behind the first dimension."""
    shape, strides, offset = body(Layout(input.shape[1:], input.strides[1:], input.offset), *params)
    return Layout((input.shape[0], *shape), (input.strides[0], *strides), offset)


def _dim_first(inner: Tensor, dim: int, *rest: Any) -> tuple[Any, ...]:
    return (dim + 1, *rest)


def _as_given(inner: Tensor, *params: Any) -> tuple[Any, ...]:
    return params


_TRANSLATIONS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "permute": lambda inner, dims: ((0, *[dim + 1 for dim in dims]),),
    "reshape_view": lambda inner, shape: ((inner._array.shape[0], *shape),),
    "squeeze": lambda inner, dims: (tuple([dim + 1 for dim in dims]),),
    "unsqueeze": _dim_first,
    "select": _dim_first,
    "slice": _dim_first,
    "sliding_windows": _dim_first,
    "diagonal": lambda inner, offset, dim1, dim2: (offset, dim1 + 1, dim2 + 1),
    "real": _as_given,
    "imag": _as_given,
    "view_as_real": _as_given,
    "view_as_complex": _as_given,
    "view_dtype": _as_given,
}

assert all(OPS[name].kind == "view" for name in _TRANSLATIONS)
