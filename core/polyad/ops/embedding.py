"""Vectors looked up by number, and numbers as unit vectors."""

from __future__ import annotations

from ..backend.bounds import out_of_range
from ..dispatch.op import composite, function, gradient
from ..dtypes import int64
from ..errors import IndexOutOfRange, ShapeError
from ..layout import Shape
from ..tensor import Tensor, check_tensor
from .creation import _full
from .indexing import _index_add, _index_select, _nonzero, _scatter, check_index, typed_like_input
from .shape import _reshape


def _looked_up(weight: Shape, input: Shape, padding_idx: int) -> Shape:
    return (*input, *weight[1:])


@composite(dtype=typed_like_input(index=1), shape=_looked_up, method=False)
def _embedding(weight: Tensor, input: Tensor, padding_idx: int) -> Tensor:
    """The rows of *weight* (rows, size) that *input* names; the row *padding_idx* (-1: none) gets no gradient."""
    rows = _index_select(weight, _reshape(input, (input.numel(),)), 0)
    return _reshape(rows, (*input._array.shape, *weight._array.shape[1:]))


def _embedded_rows(g: Shape, input: Shape, rows: int, padding_idx: int) -> Shape:
    return (rows, g[-1])


@composite(dtype=typed_like_input(index=1), shape=_embedded_rows, method=False)
def _embedding_backward(g: Tensor, input: Tensor, rows: int, padding_idx: int) -> Tensor:
    """The gradient of an embedding's *rows* weights."""
    index = _reshape(input, (input.numel(),))
    flat = _reshape(g, (input.numel(), g._array.shape[-1]))
    if padding_idx >= 0:
        flat = flat * (index != padding_idx).unsqueeze(1)
    return _index_add(_full((rows, flat._array.shape[1]), 0, g._type.dtype, g._type.device), index, flat, 0)


gradient(
    _embedding,
    weight=lambda g, weight_shape, input, padding_idx: _embedding_backward(g, input, weight_shape[0], padding_idx),
)
gradient(_embedding_backward, g=lambda g, input, padding_idx: _unpadded(_embedding(g, input, -1), input, padding_idx))


def _unpadded(g: Tensor, input: Tensor, padding_idx: int) -> Tensor:
    return g if padding_idx < 0 else g * (input != padding_idx).unsqueeze(-1)


@function(method=False)
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of *weight* (rows, size) that the integers *input* (*) name: (*, size). The row *padding_idx* gets no
    gradient.

    Raises IndexError for an index out of range, RuntimeError for an input that is not integer or a weight that is no
    matrix.

    >>> import polyad
    >>> polyad.nn.functional.embedding(polyad.tensor([1, 0]), polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    check_tensor(weight, "embedding", "weight")
    check_index("embedding", weight, 0, input, "input")
    if weight.ndim != 2:
        raise ShapeError(
            f"embedding: weight has {weight.ndim} dimensions, not two", operands={"weight": weight}, fix="reshape it"
        )
    rows = weight._array.shape[0]
    if padding_idx is None:
        return _embedding(weight, input, -1)
    if not -rows <= padding_idx < rows:
        raise IndexOutOfRange(
            f"embedding: padding_idx = {padding_idx} is not in [{-rows}, {rows})",
            operands={"weight": weight},
            fix="name a row",
        )
    return _embedding(weight, input, padding_idx % rows)


@function(method=False)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros of shape (*, num_classes) with a 1 where the integers *tensor* (*) say; -1 takes the largest of them
    plus one.

    Raises IndexError for a class out of range.

    >>> import polyad
    >>> polyad.nn.functional.one_hot(polyad.tensor([0, 2]), 3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    check_index("one_hot", tensor, 0, tensor, "tensor")
    if num_classes == -1:
        if not tensor.numel():
            raise ShapeError(
                "one_hot: no elements to count classes from", operands={"tensor": tensor}, fix="give num_classes"
            )
        num_classes = int(tensor.max().item()) + 1
    wrong = _nonzero((tensor < 0) | (tensor >= num_classes))
    if wrong._array.shape[0]:
        place = wrong[0].tolist()
        raise out_of_range("one_hot", "tensor", place, tensor[tuple(place)].item(), num_classes)
    zeros = _full((*tensor._array.shape, num_classes), 0, int64, tensor._type.device)
    return _scatter(zeros, tensor.unsqueeze(-1), 1, tensor.ndim)
