"""Vectors looked up by number, one by one or in bags, and numbers as unit vectors.

Gradients of tables are dense, but with ``sparse=True`` that of a leaf is sparse (`polyad.sparse`).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...backend.bounds import ElementOutOfRange, out_of_range
from ...base import provided
from ...base.dtypes import INTEGER, int64
from ...base.shapes_and_strides import Shape
from ...base.state import state, warn_user
from ...dispatch.forward import linear_in, multilinear
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import first
from ...dispatch.structure import Indexing, contraction, indexing, opaque
from ...errors import ArgumentError, DTypeError, NoData, NotSupported, ShapeError, safe_repr
from ...history.grad_mode import no_grad
from ...history.node import Leaf
from ...tensor import Tensor
from ...tensor.tensor import check_room, check_tensor, has_data
from ..creation.factories import _full, arange
from ..indexing.gather_scatter import _scatter
from ..indexing.index_select import _index_add, _index_select
from ..indexing.operands import check_index, typed_like_input
from ..linalg.norms import vector_norm
from ..pointwise.where import _where
from ..reductions.any_all import check_all
from ..shaping.joining import cat
from ..shaping.reshape import _reshape


def _looked_up(weight: Shape, input: Shape, *rest: Any) -> Shape:
    return (*input, *weight[1:])


@composite(dtype=typed_like_input(index=1), structure=indexing, shape=_looked_up, method=False)
def _embedding(weight: Tensor, input: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
    """The rows of *weight* (rows, size) that *input* names; the row *padding_idx* (-1: none) gets no gradient, and with
    *by_frequency* the others theirs divided by how often they are named.
    """
    rows = _index_select(weight, _reshape(input, (input.numel(),)), 0)
    return _reshape(rows, (*input._array.shape, *weight._array.shape[1:]))


def _embedded_rows(g: Shape, input: Shape, rows: int, *rest: Any) -> Shape:
    return (rows, g[-1])


@composite(dtype=typed_like_input(index=1), structure=Indexing(writes=True), shape=_embedded_rows, method=False)
def _embedding_backward(g: Tensor, input: Tensor, rows: int, padding_idx: int, by_frequency: bool) -> Tensor:
    """The gradient of an embedding's *rows* weights."""
    index = _reshape(input, (input.numel(),))
    flat = _reshape(g, (input.numel(), g._array.shape[-1]))
    if padding_idx >= 0 or by_frequency:
        flat = _scale_row_gradients(flat, index, rows, padding_idx, by_frequency)
    return _index_add(_full((rows, flat._array.shape[1]), 0, g._type.dtype, g._type.device), index, flat, 0)


def _scale_row_gradients(g: Tensor, index: Tensor, rows: int, padding_idx: int, by_frequency: bool) -> Tensor:
    """The gradients (*, size) that arrive at the rows *index* (*), with what padding and frequency make of them."""
    if padding_idx >= 0:
        g = g * (index != padding_idx).unsqueeze(-1)
    if by_frequency:
        flat = _reshape(index, (index.numel(),))
        counts = _index_add(_full((rows,), 0, int64, g._type.device), flat, flat * 0 + 1, 0)
        g = g / _reshape(_index_select(counts, flat, 0), tuple(index._array.shape)).unsqueeze(-1).to(g._type.dtype)
    return g


gradient(
    _embedding,
    weight=lambda g, weight_shape, input, padding_idx, by_frequency: _embedding_backward(
        g, input, weight_shape[0], padding_idx, by_frequency
    ),
)
linear_in(_embedding, "weight")
gradient(
    _embedding_backward,
    g=lambda g, input, rows, padding_idx, by_frequency: _scale_row_gradients(
        _embedding(g, input, -1, False), input.to(int64), rows, padding_idx, by_frequency
    ),
)
linear_in(_embedding_backward, "g")


def _check_table(op: str, weight: Tensor, input: Tensor, padding_idx: int | None) -> int:
    """The row that gets no gradient, -1 for none. Raises unless *weight* is a matrix and *input* names rows."""
    check_tensor(weight, op, "weight")
    check_index(op, weight, 0, input, "input")
    if weight.ndim != 2:
        raise ShapeError(
            f"{op}: weight has {weight.ndim} dimensions, not two", operands={"weight": weight}, fix="reshape it"
        )
    rows: int = weight._array.shape[0]
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise ElementOutOfRange(
            f"{op}: padding_idx = {padding_idx} is not in [{-rows}, {rows})",
            operands={"weight": weight},
            fix="name a row",
        )
    return padding_idx % rows


def _renormalize(op: str, weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten, in place, the rows that *input* names and that are longer than *max_norm*."""
    if not weight.is_floating_point():
        raise DTypeError(
            f"{op}: max_norm changes weight, which is {weight._type.dtype.name}",
            operands={"weight": weight},
            fix="use a floating point weight",
        )
    with no_grad():
        index = input.reshape(-1).to(int64)
        rows = _embedding(weight, index, -1, False)
        lengths = vector_norm(rows, norm_type, 1, keepdim=True)
        # What names a row twice writes the same numbers twice.
        weight.index_copy_(0, index, _where(lengths > max_norm, rows * (max_norm / (lengths + 1e-7)), rows))


@function(namespace="nn.functional")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of *weight* (rows, size) that the integers *input* (*) name: (*, size).

    The row *padding_idx* gets no gradient. With *max_norm*, rows that are looked up and whose *norm_type*-norm is
    larger are shortened to it first, in *weight* itself. With *scale_grad_by_freq* a row's gradient is divided by how
    often it is looked up. With *sparse* the gradient of a *weight* that is a leaf is a sparse tensor, which holds the
    rows that were looked up; others get dense ones.

    Raises IndexError for an index out of range, RuntimeError for an input that is not integer or a weight that is no
    matrix.

    >>> import polyad
    >>> polyad.nn.functional.embedding(polyad.tensor([1, 0]), polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    padding = _check_table("embedding", weight, input, padding_idx)
    check_room("embedding", (*input._array.shape, weight._array.shape[1]), weight)
    if max_norm is not None:
        _renormalize("embedding", weight, input, max_norm, norm_type)
    if sparse and _takes_sparse(weight):
        rows = provided.sparse_rows(weight, _in_range("embedding", input, weight), padding, bool(scale_grad_by_freq))
        return _reshape(rows, (*input._array.shape, weight._array.shape[1]))
    return _embedding(weight, input, padding, bool(scale_grad_by_freq))


def _takes_sparse(weight: Tensor) -> bool:
    """Whether the gradient of *weight* may be sparse: it is added to that of a leaf, and nothing is recorded."""
    return weight._node.__class__ is Leaf and state.grad_enabled and not state.modes


def _in_range(op: str, input: Tensor, weight: Tensor) -> Tensor:
    """*input* as a vector; raises IndexError unless it names rows of *weight*."""
    rows = weight._array.shape[0]
    check_all((input >= 0) & (input < rows), partial(_wrong_index, op, rows), input, input=input, weight=weight)
    return _reshape(input, (input.numel(),))


# ------------------------------------------------------------------------------------------------ bags


def _bags(offsets: Tensor, count: int) -> Tensor:
    """The bag (count,) that each index is in, from where bags start."""
    marks = _full((count + 1,), 0, int64, offsets._type.device)
    return _index_add(marks, offsets, offsets * 0 + 1, 0).cumsum(0).narrow(0, 0, count) - 1


def _check_offsets(op: str, offsets: Any, input: Tensor, include_last: bool) -> Tensor:
    """Where bags start, with *include_last* also where the last ends; raises unless they begin at 0 and go up within
    *input*.
    """
    if not isinstance(offsets, Tensor) or offsets.ndim != 1:
        raise ArgumentError(
            f"{op}: offsets must be a vector beside an input of 1 dimension",
            operands={"input": input, "offsets": offsets},
            fix="say where each bag starts, or give input as (bags, size)",
        )
    if offsets._type.dtype.category != INTEGER:
        raise DTypeError(
            f"{op}: offsets are {offsets._type.dtype.name}, not integers",
            operands={"offsets": offsets},
            fix="convert them: offsets.long()",
        )
    places, count = offsets._array.shape[0], input.numel()
    operands = {"input": input, "offsets": offsets}
    if include_last and not places:
        raise ShapeError(f"{op}: offsets without the last", operands=operands, fix="end them with input's length")
    starts: Tensor = offsets.to(int64)
    if not places:
        return starts

    def unlike_0(position: tuple[int, ...], value: int) -> ShapeError:
        return ShapeError(f"{op}: offsets[0] = {value} is not 0", fix="the first bag starts at 0")

    def out_of_order(position: tuple[int, ...], value: int) -> ElementOutOfRange:
        (place,) = position
        return ElementOutOfRange(
            f"{op}: offsets[{place + 1}] = {value} is not in [offsets[{place}], {count}]",
            fix="offsets go up, to at most input's length",
        )

    first, before, after = starts.narrow(0, 0, 1), starts.narrow(0, 0, places - 1), starts.narrow(0, 1, places - 1)
    check_all(first == 0, unlike_0, first, **operands)
    check_all((after >= before) & (after <= count), out_of_order, after, **operands)
    return starts


def _bag_shape(weight: Shape, index: Shape, bag: Shape, factors: Shape | None, bags: int, *rest: Any) -> Shape:
    return (bags, weight[1])


@composite(dtype=first, structure=contraction, shape=_bag_shape, method=False, grad_name="EmbeddingBagBackward0")
def _bag_sum(
    weight: Tensor, index: Tensor, bag: Tensor, factors: Tensor | None, bags: int, by_frequency: bool, spare: int
) -> Tensor:
    """The sums of the rows ``weight[index]``, times *factors*, that are in each of *bags*: *bag* says in which, in
    order, but for what is in a *spare* bag behind them, if there is one: it counts for nothing.
    """
    rows = _embedding(weight, index, -1, False)
    if factors is not None:
        rows = rows * factors.unsqueeze(1)
    zeros = _full((bags + spare, weight._array.shape[1]), 0, rows._type.dtype, rows._type.device)
    sums = _index_add(zeros, bag, rows, 0)
    return sums.narrow(0, 0, bags).clone() if spare else sums


def _of_bags(g: Tensor, bag: Tensor, spare: int) -> Tensor:
    """What comes back to each index from its bag; nothing from the spare one."""
    return _index_select(cat([g, g.new_zeros((spare, g._array.shape[1]))]) if spare else g, bag, 0)


def _bag_sum_weight(
    g: Tensor, weight_shape: Shape, index: Tensor, bag: Tensor, factors: Tensor | None, by_frequency: bool, spare: int
) -> Tensor:
    rows = _of_bags(g, bag, spare)
    if factors is not None:
        rows = rows * factors.unsqueeze(1)
    return _embedding_backward(rows, index, weight_shape[0], -1, by_frequency)


gradient(
    _bag_sum,
    weight=_bag_sum_weight,
    factors=lambda g, weight, index, bag, spare: (_of_bags(g, bag, spare) * _index_select(weight, index, 0)).sum(1),
)
multilinear(_bag_sum, "weight", "factors")


def _bag_max_shape(weight: Shape, index: Shape, bag: Shape, bags: int) -> Shape:
    return (bags, weight[1])


def _bag_starts(bag: Tensor, bags: int) -> tuple[Tensor, Tensor]:
    """How many indices each bag has, and where they begin."""
    counts = _index_add(_full((bags,), 0, int64, bag._type.device), bag, bag * 0 + 1, 0)
    return counts, counts.cumsum(0) - counts


@composite(dtype=first, structure=opaque, shape=_bag_max_shape, method=False, grad_name="EmbeddingBagBackward0")
def _bag_max(weight: Tensor, index: Tensor, bag: Tensor, bags: int) -> Tensor:
    """The largest of the rows ``weight[index]`` in each of *bags*, element by element; 0 for an empty bag."""
    counts, starts = _bag_starts(bag, bags)
    widest = (int(counts.max().item()) if has_data(counts) else 1) if bags else 0
    if not widest:
        return weight.new_zeros((bags, weight._array.shape[1]))
    steps = arange(widest, device=index.device)
    places = (starts.unsqueeze(1) + steps).clamp(max=index._array.shape[0] - 1)
    rows = _index_select(weight, _index_select(index, places.reshape(-1), 0), 0)
    padded = rows.reshape(bags, widest, weight._array.shape[1])
    largest = padded.masked_fill((steps >= counts.unsqueeze(1)).unsqueeze(2), -math.inf).amax(1)
    return largest.masked_fill((counts == 0).unsqueeze(1), 0)


def _bag_max_weight(g: Tensor, weight: Tensor, index: Tensor, bag: Tensor, bags: int, out: Tensor) -> Tensor:
    """The gradient goes to the first of the largest; nan, which equals nothing, is the largest of all."""
    rows = _index_select(weight.detach(), index, 0)
    found = (rows == _index_select(out.detach(), bag, 0)) | (rows != rows)
    so_far = found.to(int64).cumsum(0)
    before = cat([so_far.new_zeros((1, rows._array.shape[1])), so_far])
    before = _index_select(_index_select(before, _bag_starts(bag, bags)[1], 0), bag, 0)
    share = _index_select(g, bag, 0) * (found & (so_far - before == 1))
    return _embedding_backward(share, index, weight._array.shape[0], -1, False)


gradient(_bag_max, weight=_bag_max_weight)


@function(namespace="nn.functional")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The ``"sum"``, ``"mean"`` or ``"max"`` of the rows of *weight* (rows, size) in each bag of indices: (bags, size).

    Shapes: input (bags, size of a bag), or all bags in a row with *offsets* (bags,) to say where each starts (and
    with *include_last_offset* where the last ends); per_sample_weights as input, factors for a sum. Indices equal to
    *padding_idx* are left out. An empty bag gives 0. The rest as in `embedding`.

    Raises ValueError for another mode and for inputs and offsets that do not go together, RuntimeError for offsets
    and dtypes that do not fit, IndexError for an index out of range, NotImplementedError for weights of samples in
    another mode than sum.

    >>> import polyad
    >>> table = polyad.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> polyad.nn.functional.embedding_bag(polyad.tensor([0, 1, 2]), table, polyad.tensor([0, 2]))
    tensor([[2., 3.],
            [5., 6.]])
    """
    op = "embedding_bag"
    if isinstance(weight, Tensor) and weight.dtype is int64 and input.is_floating_point():
        warn_user(f"{op}: the weight is given before the input, an old order; swap them", UserWarning)
        input, weight = weight, input
    padding = _check_table(op, weight, input, padding_idx)
    _check_bag_options(input, weight, mode, "sparse" if sparse else "scale_grad_by_freq" if scale_grad_by_freq else "")
    if per_sample_weights is not None:
        _check_factors(per_sample_weights, input, weight, mode)
    starts, bags = _read_bags(input, offsets, include_last_offset)
    if max_norm is not None:
        _renormalize(op, weight, input, max_norm, norm_type)
    index = input.reshape(-1).to(int64)
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    ends = input.ndim == 1 and bool(include_last_offset)
    nowhere = not bags and not ends
    if nowhere or (ends and scale_grad_by_freq and has_data(starts)):  # what is in no bag must not be counted
        end = 0 if nowhere else int(starts[-1].item())
        index = index.narrow(0, 0, end)
        factors = None if factors is None else factors.narrow(0, 0, end)
    bag = _bags(starts, index._array.shape[0])
    spare = int(padding >= 0 or ends)
    if mode == "max":
        if spare and has_data(index):  # how large bags are is waited for in any case, which saves much work
            rows = weight._array.shape[0]
            inside = (index >= 0) & (index < rows)
            check_all(inside, partial(_wrong_index, op, rows), index, input=input, weight=weight)
            counted = ((bag < bags) & (index != padding)).nonzero().reshape(-1)
            index, bag = index.index_select(0, counted), bag.index_select(0, counted)
        return _bag_max(weight, index, bag, bags)
    # What counts for nothing goes to a bag behind the others: so how much that is need not be known.
    if spare:
        bag = _where(index == padding, bags, bag)
        if factors is not None:
            factors = _where(bag < bags, factors, 0)
    table, by_frequency = weight, bool(scale_grad_by_freq)
    if sparse and _takes_sparse(weight):
        table = provided.sparse_rows(weight, _in_range(op, index, weight), padding, by_frequency)
        index, by_frequency = arange(index._array.shape[0], device=index.device), False
    total = _bag_sum(table, index, bag, factors, bags, by_frequency, spare)
    if mode == "sum":
        return total
    if input.ndim == 2 and not spare:
        return total.div(max(input._array.shape[1], 1))
    counts = _bag_starts(bag, bags + spare)[0].narrow(0, 0, bags)
    return total / counts.clamp(min=1).unsqueeze(1).to(total._type.dtype)


def _check_bag_options(input: Tensor, weight: Tensor, mode: str, counting: str) -> None:
    """*counting* is the name of an option that does not go with the largest, if it is set."""
    op, operands = "embedding_bag", {"input": input, "weight": weight}
    if not weight.is_floating_point():
        raise DTypeError(
            f"{op}: weight is {weight._type.dtype.name}, not floating point", operands=operands, fix="weight.float()"
        )
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f"{op}: mode {safe_repr(mode)} is unknown", fix='use "sum", "mean" or "max"')
    if mode == "max" and counting:
        raise ArgumentError(f"{op}: {counting} does not go with the largest", fix="leave it out")


def _check_factors(factors: Any, input: Tensor, weight: Tensor, mode: str) -> None:
    op, operands = "embedding_bag", {"input": input, "weight": weight, "per_sample_weights": factors}
    if check_tensor(factors, op, "per_sample_weights")._array.shape != input._array.shape:
        raise ArgumentError(
            f"{op}: per_sample_weights {tuple(factors.shape)} are not of input's shape",
            operands=operands,
            fix="give a weight for each index",
        )
    if mode != "sum":
        raise NotSupported(f'{op}: per_sample_weights go with mode="sum", not {safe_repr(mode)}', fix='use mode="sum"')
    if factors._type.dtype is not weight._type.dtype:
        raise DTypeError(
            f"{op}: per_sample_weights is {factors._type.dtype.name}, weight {weight._type.dtype.name}",
            operands=operands,
            fix="convert it: per_sample_weights.to(weight.dtype)",
        )


def _read_bags(input: Tensor, offsets: Any, include_last: bool) -> tuple[Tensor, int]:
    """Where bags start among the indices in a row, and how many bags there are."""
    if input.ndim == 1:
        starts = _check_offsets("embedding_bag", offsets, input, include_last)
        return starts, starts._array.shape[0] - bool(include_last)
    if input.ndim != 2:
        raise ArgumentError(
            f"embedding_bag: input has {input.ndim} dimensions", operands={"input": input}, fix="give 1 or 2"
        )
    if offsets is not None:
        raise ArgumentError(
            "embedding_bag: an input of two dimensions has a bag a row, and no offsets",
            operands={"input": input, "offsets": offsets},
            fix="flatten() input, or leave out offsets",
        )
    bags, size = input._array.shape
    return arange(bags, device=input.device) * size, bags


def _wrong_index(op: str, rows: int, position: tuple[int, ...], value: int) -> ElementOutOfRange:
    return out_of_range(op, "input", position, value, rows)


@function(namespace="nn.functional", also={"input": "tensor"})
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros of shape (*, num_classes) with a 1 where the integers *tensor* (*) say; -1 takes the largest of them
    plus 1.

    Raises IndexError, which is a RuntimeError too, for a class out of range; RuntimeError if there is nothing to count
    classes from.

    >>> import polyad
    >>> polyad.nn.functional.one_hot(polyad.tensor([0, 2]), 3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    check_index("one_hot", tensor, 0, tensor, "tensor")
    if not tensor.numel() and num_classes <= 0:
        raise ShapeError(
            "one_hot: no elements to count classes from", operands={"tensor": tensor}, fix="give num_classes"
        )
    if num_classes == -1:
        if not has_data(tensor):
            raise NoData("how many classes there are depends on elements", fix="give num_classes")
        num_classes = max(int(tensor.max().item()), 0) + 1

    def outside(position: tuple[int, ...], value: int) -> ElementOutOfRange:
        where = f"[{', '.join(map(str, position))}]" if position else ""
        return ElementOutOfRange(
            f"one_hot: tensor{where} = {value} is not in [0, {num_classes})",
            fix="class numbers start at 0 and are below num_classes",
        )

    index = tensor if tensor._type.dtype is int64 else tensor.to(int64)
    check_all((tensor >= 0) & (tensor < num_classes), outside, index, tensor=tensor)
    zeros = _full((*tensor._array.shape, num_classes), 0, int64, tensor._type.device)
    return _scatter(zeros, tensor.unsqueeze(-1), 1, tensor.ndim)
