"""Tensors like those of an example: of other sizes, or of other numbers."""

from __future__ import annotations

from collections.abc import Mapping

from ..base.shapes_and_strides import Layout
from ..graph.sizes import dense_strides
from ..history.grad_mode import no_grad
from ..tensor import Tensor


def resized(tensor: Tensor, shape: Mapping[int, int]) -> Tensor:
    """A tensor as *tensor* with other sizes, of the same data again and again; it lies in memory in the same order."""
    if all(tensor.shape[dim] == size for dim, size in shape.items()) and _is_dense(tensor):
        return tensor
    order = sorted(range(tensor.dim()), key=lambda dim: -tensor.stride(dim))
    with no_grad():
        new = tensor.detach()
        for dim, size in shape.items():
            if tensor.is_meta:
                new = new.new_empty([*new.shape[:dim], size, *new.shape[dim + 1 :]])
                continue
            old = max(tensor.shape[dim], 1)
            index = [at % old for at in range(size)]
            new = new.index_select(dim, _indices(index, tensor))
        new = new.permute(*order).clone().permute(*[order.index(dim) for dim in range(tensor.dim())])
    return new.requires_grad_() if tensor.requires_grad else new


def varied(tensor: Tensor) -> Tensor:
    """A tensor of other numbers than *tensor* has, all different, with their signs, if they are no whole numbers."""
    data = tensor.detach().clone()
    if not data.dtype.is_floating_point or not data.numel():
        return data
    factors = data.new_tensor([0.5 + at / (2 * data.numel()) for at in range(data.numel())]).view(data.shape)
    return (data * factors).where(data != 0, factors)


def _indices(index: list[int], like: Tensor) -> Tensor:
    from ..functions import tensor

    made: Tensor = tensor(index, device=like.device)
    return made.long() if not index else made


def _is_dense(tensor: Tensor) -> bool:
    layout = Layout(tuple(tensor.shape), tensor.stride(), 0)
    return dense_strides(layout.shape, layout) is not None
