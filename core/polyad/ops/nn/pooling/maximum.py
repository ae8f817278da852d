"""The largest element of each window.

`max_pool_with_indices` says where each maximum was; its gradient puts gradients there. `max_pool` needs no indices, and
its backward op finds the places again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ....base.dtypes import int64
from ....base.shapes_and_strides import Shape
from ....dispatch.forward import forward, linear_in
from ....dispatch.op import alias, composite, function, gradient, primitive
from ....dispatch.promotion import Typing, first
from ....dispatch.structure import opaque
from ....tensor import Tensor
from ...creation.factories import zeros
from ...declaring.named import named
from ...declaring.windows import Sizes
from .geometry import check_real, pool, pooled_shape, window_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....backend.interface import Signature

    PerAxis = int | Sequence[int]


def _pooled_twice(input: Shape, *params: Any) -> tuple[Shape, Shape]:
    shape = pooled_shape(input, *params)
    return shape, shape


def _ordered(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    check_real("max_pool", dtype)
    return Typing((None,) * len(types), (dtype,))


def _ordered_with_indices(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (*_ordered(types, params).outputs, int64))


@primitive(
    dtype=_ordered_with_indices,
    structure=opaque,
    shape=_pooled_twice,
    outputs=("out", "indices"),
    method=False,
    grad_name="MaxPoolWithIndicesBackward0",
)
def _max_pool_with_indices(
    input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Tensor, Tensor]:
    """The largest element of each window of (N, C, *spatial), the first of equal ones, nan if any is, and its place in
    the flattened image; padding is never chosen.
    """


def place_maxima(g: Tensor, indices: Tensor, shape: Shape) -> Tensor:
    """Each element of *g* at its index in a flattened image of *shape*, added up."""
    images, channels, *size = shape
    flat = zeros(images, channels, math.prod(size), dtype=g.dtype, device=g.device)
    return flat.scatter_add(2, indices.flatten(2), g.flatten(2)).reshape(shape)


def take_maxima(input: Tensor, indices: Tensor) -> Tensor:
    """The elements at *indices* of the flattened images."""
    return input.flatten(2).gather(2, indices.flatten(2)).reshape(indices.shape)


gradient(_max_pool_with_indices, input=lambda grads, indices, input_shape: place_maxima(grads[0], indices, input_shape))
forward(_max_pool_with_indices, lambda input_t, indices: (take_maxima(input_t, indices), None))


@composite(dtype=_ordered, structure=opaque, shape=pooled_shape, method=False, grad_name="MaxPoolBackward0")
def _max_pool(input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Tensor:
    """The largest element of each window."""
    return _max_pool_with_indices(input, kernel, stride, padding, dilation, ceil_mode)[0]


def _second_shape(grad: Shape, input: Shape, *rest: Any) -> Shape:
    return input


@composite(dtype=first, structure=opaque, shape=_second_shape, method=False)
def _max_pool_backward(
    grad: Tensor, input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Tensor:
    """Each element of grad at the place in input of its window's maximum."""
    indices = _max_pool_with_indices(input, kernel, stride, padding, dilation, ceil_mode)[1]
    return place_maxima(grad, indices, tuple(input.shape))


def _take_tangents_of_maxima(
    g: Tensor, input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Tensor:
    return take_maxima(g, _max_pool_with_indices(input.detach(), kernel, stride, padding, dilation, ceil_mode)[1])


gradient(_max_pool_backward, grad=_take_tangents_of_maxima)
linear_in(_max_pool_backward, "grad")


# Nothing of the result is saved: what follows a pooling often writes over it.
gradient(
    _max_pool,
    input=lambda g, input, kernel, stride, padding, dilation, ceil_mode: _max_pool_backward(
        g, input.detach(), kernel, stride, padding, dilation, ceil_mode
    ),
)
forward(
    _max_pool,
    lambda input_t, input, kernel, stride, padding, dilation, ceil_mode: _take_tangents_of_maxima(
        input_t, input, kernel, stride, padding, dilation, ceil_mode
    ),
)


def _pool_largest(
    op: str,
    count: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: Any,
    return_indices: Any,
) -> Any:
    settings = (*window_arguments(op, count, input, kernel_size, stride, padding, dilation), bool(ceil_mode))
    check_real(op, input._type.dtype)
    call = _max_pool_with_indices if return_indices else _max_pool
    return pool(
        op, count, input, lambda batch: call(batch, *settings), lambda shape: pooled_shape(shape, *settings), True
    )


@function(method=False, namespace="nn.functional")
def max_pool1d(
    input: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of a sequence: `max_pool2d` with one spatial dimension.

    Shapes: input (N, C, L) or (C, L) -> the same with OL.

    >>> import polyad
    >>> polyad.nn.functional.max_pool1d(polyad.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return _pool_largest("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@function(method=False, namespace="nn.functional")
def max_pool2d(
    input: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window.

    Shapes: input (N, C, H, W) or (C, H, W) of a real dtype -> the same with
    OH = (H + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1, rounded down, or up with *ceil_mode* as long
    as the window starts inside; OW likewise. *stride* is *kernel_size* unless given. With *return_indices* the result
    is (maxima, int64 places in the flattened image). NaN wins over every number.

    Raises RuntimeError for sizes that do not fit, TypeError for settings that are no ints.

    >>> import polyad
    >>> polyad.nn.functional.max_pool2d(polyad.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    return _pool_largest("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@function(method=False, namespace="nn.functional")
def max_pool3d(
    input: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of a volume: `max_pool2d` with three spatial dimensions.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with OD, OH and OW.

    >>> import polyad
    >>> polyad.nn.functional.max_pool3d(polyad.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return _pool_largest("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _declare_with_indices(dims: int) -> Callable[..., Any]:
    def definition(
        input: Tensor,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        ceil_mode: bool = False,
        return_indices: bool = True,
    ) -> Any:
        return _pool_largest(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    name, ones = f"max_pool{dims}d", (1,) * (dims - 1)
    opened, closed = "[" * (dims + 1), "]" * (dims + 1)
    doc = f"""`{name}` that gives the places of the maxima, too, whatever *return_indices* says.

    >>> import polyad
    >>> polyad.nn.functional.{name}_with_indices(polyad.arange(2.0).reshape{(1, *ones, 2)}, {(*ones, 2)})
    (tensor({opened}1.{closed}), tensor({opened}1{closed}))
    """
    return function(method=False, namespace="nn.functional")(named(definition, f"{name}_with_indices", doc))


max_pool1d_with_indices = _declare_with_indices(1)
max_pool2d_with_indices = _declare_with_indices(2)
max_pool3d_with_indices = _declare_with_indices(3)


# PyTorch shows these in its main namespace, too.
alias("max_pool1d", max_pool1d, namespace="")
alias("max_pool2d", max_pool2d, namespace="")
alias("max_pool3d", max_pool3d, namespace="")
