"""From one layout to another, to other dtypes and devices, and the parts that a sparse tensor is made of."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import ArgumentError, ArgumentTypeError, AutogradError, NotSupported, ShapeError, wrong_type

from .patterns import BLOCKS, COMPRESSED, ROWS, Compressed, Coordinates, keys_of, places_of, starts_of
from .tensor import SparseTensor, answers, coordinates, made, pack, rebind, unpack, values_at
from .validation import LayoutError


def only(op: str, tensor: Any, *layouts: Any) -> SparseTensor:
    """*tensor*, if it is sparse in one of *layouts*; else RuntimeError."""
    if not isinstance(tensor, SparseTensor) or tensor.layout not in layouts:
        names = " or ".join(one.name for one in layouts)
        raise LayoutError(
            f"{op}: expected the layout {names}, not {str(tensor.layout).removeprefix('polyad.')}",
            operands={"self": tensor},
            fix=f"convert it: tensor.to_sparse(layout=polyad.{names.split()[0]})",
        )
    return tensor


def summed(values: Tensor, places: Tensor, count: int) -> Tensor:
    """(count, *dense dims): the sums of *values* (nnz, *dense dims) that go to each place."""
    if values.dtype is polyad.bool:
        return summed(values.to(polyad.uint8).sign(), places, count) > 0
    return polyad.zeros(count, *values.shape[1:], dtype=values.dtype, device=values.device).index_add(0, places, values)


# ------------------------------------------------------------------------------------------------------------- parts


@answers("_indices")
def _indices(self: Tensor) -> Tensor:
    return only("_indices", self, polyad.sparse_coo)._pattern.indices.detach()


@answers("_values")
def _values(self: Tensor) -> Tensor:
    return only("_values", self, polyad.sparse_coo)._held.detach()


@answers("indices")
def indices(self: Tensor) -> Tensor:
    """(sparse dims, nnz) of a coalesced tensor."""
    return _coalesced_only("indices", self)._pattern.indices.detach()


@answers("values")
def values(self: Tensor) -> Tensor:
    """(nnz, *dense dims) of a coalesced tensor, with history."""
    if isinstance(self, SparseTensor) and self.layout is not polyad.sparse_coo:
        return unpack(self)
    return unpack(_coalesced_only("values", self))


def _coalesced_only(op: str, tensor: Tensor) -> SparseTensor:
    found = only(op, tensor, polyad.sparse_coo)
    if not found._pattern.coalesced:
        raise LayoutError(
            f"{op}: the tensor is not coalesced, so that a place may be there twice",
            operands={"self": tensor},
            fix="call .coalesce() first",
        )
    return found


def _name_part(name: str, place: int, *layouts: Any) -> None:
    def part(self: Tensor) -> Tensor:
        return only(name, self, *layouts)._pattern.parts()[place].detach()

    part.__name__ = name
    answers(name)(part)


_name_part("crow_indices", 0, *ROWS)
_name_part("col_indices", 1, *ROWS)
_name_part("ccol_indices", 0, polyad.sparse_csc, polyad.sparse_bsc)
_name_part("row_indices", 1, polyad.sparse_csc, polyad.sparse_bsc)


@answers("_nnz")
def _nnz(self: SparseTensor) -> int:
    return self._pattern.nnz


@answers("sparse_dim", "_dimI")
def sparse_dim(self: SparseTensor) -> int:
    """The number of sparse dimensions."""
    return self._pattern.sparse_dim


@answers("dense_dim", "_dimV")
def dense_dim(self: SparseTensor) -> int:
    """The number of dense dimensions."""
    return len(self._pattern.dense_shape)


@answers("is_coalesced")
def is_coalesced(self: Tensor) -> bool:
    """Whether the indices are in order and none is there twice."""
    return only("is_coalesced", self, polyad.sparse_coo)._pattern.coalesced


@answers("_coalesced_")
def _coalesced_(self: SparseTensor, coalesced: bool) -> SparseTensor:
    self._pattern = Coordinates(self._pattern.indices, self._pattern.shape, bool(coalesced))
    return self


@answers("is_same_size")
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether the shapes are the same."""
    return tuple(self.shape) == tuple(other.shape)


# ------------------------------------------------------------------------------------------------------------- layouts


@answers("coalesce")
def coalesce(self: Tensor) -> SparseTensor:
    """The tensor with its indices in row-major order, and values at one place added up; itself if it is so already."""
    found = only("coalesce", self, polyad.sparse_coo)
    pattern = found._pattern
    if pattern.coalesced:
        return found
    return merged(unpack(found), pattern)


def merged(values: Tensor, pattern: Coordinates) -> SparseTensor:
    """The coalesced tensor of *values* at the places of *pattern*."""
    if pattern.nnz == 0:
        return pack(values, Coordinates(pattern.indices, pattern.shape, True))
    if pattern.sparse_dim == 0:
        total = values.sum(0, keepdim=True).to(values.dtype)
        return pack(total, Coordinates(pattern.indices[:, :1], pattern.shape, True))
    keys, places = polyad.unique(pattern.keys, return_inverse=True)
    found = Coordinates(places_of(keys, pattern.sparse_shape), pattern.shape, True)
    return pack(summed(values, places, keys.shape[0]), found)


@answers("to_dense")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The dense tensor. Its gradient comes back at the specified places; ``masked_grad=False``, for a gradient at all
    places, is refused.
    """
    if masked_grad is False and self.requires_grad:
        raise NotSupported(
            "to_dense: with masked_grad=False the gradient would be dense",
            operands={"self": self},
            fix="leave it out: the gradient has the pattern of the tensor",
        )
    pattern, held = coordinates(self)
    if dtype is not None:
        held = held.to(dtype)
    flat = summed(held, pattern.keys, _count(pattern.sparse_shape))
    return flat.reshape(pattern.shape)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@answers("to_sparse", "to_sparse_coo")
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> SparseTensor:
    """The tensor in a sparse layout; coordinates unless another is said.

    *sparse_dim* is how many dimensions of a COO tensor are sparse, *dense_dim* how many of another are dense.
    """
    if sparse_dim is not None and any(one is not None for one in (layout, blocksize, dense_dim)):
        raise ArgumentError("to_sparse: sparse_dim goes with no other argument", fix="leave the others out")
    layout = polyad.sparse_coo if layout is None else layout
    if layout in COMPRESSED:
        return to_compressed("to_sparse", self, layout, dense_dim, blocksize)
    if layout is not polyad.sparse_coo or blocksize is not None:
        raise ArgumentTypeError(f"to_sparse: layout {layout} with blocksize {blocksize}", fix="name a sparse layout")
    if isinstance(self, SparseTensor):
        if self.layout is layout:
            return self
        pattern, held = coordinates(self)
        return pack(held, pattern) if pattern.coalesced else merged(held, pattern)
    sparse = self.dim() - (dense_dim or 0) if sparse_dim is None else sparse_dim
    if not 0 <= sparse <= self.dim() or (sparse == 0 and self.dim()):
        raise ShapeError(
            f"to_sparse: sparse_dim {sparse} of a tensor of {self.dim()} dimensions",
            operands={"self": self},
            fix=f"give a number from 1 to {self.dim()}",
        )
    nonzero = self.detach() != 0
    if sparse < self.dim():
        nonzero = nonzero.flatten(sparse).any(-1)
    found = nonzero.nonzero().t().contiguous() if sparse else nonzero.reshape(1).nonzero().t()[:0]
    pattern = Coordinates(found, tuple(self.shape), True)
    if not sparse:
        return pack(self.reshape(1)[: found.shape[1]], pattern)
    return pack(values_at(self, pattern), pattern)


def to_compressed(
    op: str, tensor: Tensor, layout: Any, dense_dim: int | None = None, blocksize: Any = None
) -> SparseTensor:
    """*tensor* in a compressed *layout*."""
    dense = dense_dim or 0
    if isinstance(tensor, SparseTensor):
        dense = len(tensor._pattern.dense_shape)
        if tensor.layout is layout and (blocksize is None or tuple(blocksize) == tensor._pattern.block):
            return tensor
    if tensor.dim() - dense != 2:
        raise ShapeError(
            f"{op}: a tensor of {tensor.dim()} dimensions, {dense} of them dense, is no matrix",
            operands={"self": tensor},
            fix="compressed layouts are of matrices; batches of them are not supported, but COO tensors have any shape",
        )
    block = _block(op, tensor, layout, blocksize)
    coo = coalesce(to_sparse(tensor) if isinstance(tensor, SparseTensor) else to_sparse(tensor, 2))
    pattern, held = coordinates(coo)
    if layout in BLOCKS:
        return _in_blocks(held, pattern, layout, block)
    rows, columns = pattern.indices
    if layout is polyad.sparse_csc:
        order = (columns * max(pattern.shape[0], 1) + rows).argsort()
        rows, columns, held = columns[order], rows[order], held.index_select(0, order)
    return pack(held, Compressed(layout, starts_of(rows, pattern.shape[layout not in ROWS]), columns, pattern.shape))


def _block(op: str, tensor: Tensor, layout: Any, blocksize: Any) -> tuple[int, int]:
    if layout not in BLOCKS:
        if blocksize is not None:
            raise ArgumentError(f"{op}: {layout} has no blocks", fix="leave blocksize out")
        return 1, 1
    if not isinstance(blocksize, (tuple, list)) or len(blocksize) != 2:
        raise ArgumentError(f"{op}: {layout} needs a blocksize", fix="give blocksize=(height, width)")
    height, width = blocksize
    if height < 1 or width < 1 or tensor.shape[0] % height or tensor.shape[1] % width:
        raise ArgumentError(
            f"{op}: blocks of {tuple(blocksize)} do not tile a matrix of {tuple(tensor.shape[:2])}",
            operands={"self": tensor},
            fix="give sizes that divide those of the matrix",
        )
    return int(height), int(width)


def _in_blocks(held: Tensor, pattern: Coordinates, layout: Any, block: tuple[int, int]) -> SparseTensor:
    height, width = block
    rows, columns = pattern.indices
    grid = pattern.shape[0] // height, pattern.shape[1] // width
    along, across = rows // height, columns // width
    if layout is polyad.sparse_bsc:
        along, across, grid = across, along, grid[::-1]
    keys, places = polyad.unique(keys_of(polyad.stack([along, across]), grid), return_inverse=True)
    inside = (rows % height) * width + columns % width
    filled = summed(held, places * (height * width) + inside, keys.shape[0] * height * width)
    starts = starts_of(keys // max(grid[1], 1), grid[0])
    whole = filled.reshape(keys.shape[0], height, width, *pattern.dense_shape)
    return pack(whole, Compressed(layout, starts, keys % max(grid[1], 1), pattern.shape, block))


@answers("to_sparse_csr")
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """The matrix in compressed rows."""
    return to_compressed("to_sparse_csr", self, polyad.sparse_csr, dense_dim)


@answers("to_sparse_csc")
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """The matrix in compressed columns."""
    return to_compressed("to_sparse_csc", self, polyad.sparse_csc, dense_dim)


@answers("to_sparse_bsr")
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> SparseTensor:
    """The matrix in compressed rows of blocks."""
    return to_compressed("to_sparse_bsr", self, polyad.sparse_bsr, dense_dim, blocksize)


@answers("to_sparse_bsc")
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> SparseTensor:
    """The matrix in compressed columns of blocks."""
    return to_compressed("to_sparse_bsc", self, polyad.sparse_bsc, dense_dim, blocksize)


@answers("sparse_mask")
def sparse_mask(self: Tensor, mask: Tensor) -> SparseTensor:
    """The elements of *self*, dense or sparse, at the places of the sparse *mask*."""
    if not isinstance(mask, SparseTensor):
        raise wrong_type("sparse_mask", "mask", mask, "a sparse tensor")
    if tuple(self.shape) != tuple(mask.shape):
        raise ShapeError(
            "sparse_mask: the tensor and the mask have different shapes",
            operands={"self": self, "mask": mask},
            fix="give both one shape",
        )
    pattern = mask._pattern
    if isinstance(self, SparseTensor) and isinstance(pattern, Coordinates):
        return pack(_looked_up(coalesce(to_sparse(self)), pattern), pattern)
    return pack(values_at(self, pattern), pattern)


def _looked_up(tensor: SparseTensor, wanted: Coordinates) -> Tensor:
    """The values of a coalesced tensor at the places of *wanted*; zero where it has none."""
    have, values = tensor._pattern, unpack(tensor)
    if not have.nnz:
        return values.new_zeros((wanted.nnz, *have.dense_shape))
    places = polyad.searchsorted(have.keys, wanted.keys).clamp(max=have.nnz - 1)
    found = have.keys[places] == wanted.keys
    return polyad.where(found.reshape(-1, *[1] * len(have.dense_shape)), values.index_select(0, places), 0).to(
        values.dtype
    )


# ------------------------------------------------------------------------------------------------- dtypes and devices


@answers("to")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype, on another device."""
    kwargs.pop("memory_format", None)
    if args and isinstance(args[0], SparseTensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    if not isinstance(self, SparseTensor):
        return self.to(*args, **kwargs)
    return _with_values(self, unpack(self).to(*args, **kwargs))


def _with_values(tensor: SparseTensor, values: Tensor) -> SparseTensor:
    pattern = tensor._pattern.moved(values.device)
    same = values.dtype is tensor.dtype and pattern is tensor._pattern and values.data_ptr() == tensor._held.data_ptr()
    return tensor if same else pack(values, pattern)


def _conversion(name: str) -> None:
    def converted(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        return _with_values(self, getattr(unpack(self), name)(*args, **kwargs))

    converted.__name__ = name
    answers(name)(converted)


for _name in (
    "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "cpu", "cuda", "double", "float", "half", "int", "long",
    "short",
):  # fmt: skip
    _conversion(_name)


@answers("type")
def type(self: SparseTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor in another dtype; without one, the name of its type."""
    if dtype is None:
        return f"polyad.sparse.{self._held.type().rpartition('.')[2]}"
    return to(self, dtype if isinstance(dtype, polyad.dtype) else dtype.dtype)


@answers("new")
def new(self: SparseTensor, *parts: Any, size: Any = None, device: Any = None) -> Tensor:
    """As `polyad.sparse_coo_tensor` of indices, values and a size, or a tensor of a size without elements, in this
    tensor's dtype and on its device; PyTorch's older form.
    """
    device = self.device if device is None else device
    if parts and isinstance(parts[0], Tensor):
        return polyad.sparse_coo_tensor(*parts, device=device)
    given = size if size is not None else parts[0] if len(parts) == 1 and not isinstance(parts[0], int) else parts
    return polyad.sparse_coo_tensor(tuple(given) or (0,), dtype=self.dtype, device=device)


@answers("is_nonzero")
def is_nonzero(self: SparseTensor) -> bool:
    """Whether the only element is not zero."""
    return bool(to_dense(self).is_nonzero())


@answers("type_as")
def type_as(self: SparseTensor, other: Tensor) -> Tensor:
    """The tensor in the dtype and on the device of *other*."""
    return to(self, other.device, other.dtype)


@answers("clone")
def clone(self: Any, *, memory_format: Any = None) -> SparseTensor:
    """A copy, with history."""
    return pack(unpack(self).clone(), self._pattern)


@answers("contiguous")
def contiguous(self: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    """The tensor itself."""
    return self


@answers("zeros_like", "empty_like")
def zeros_like(
    input: SparseTensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the same shape and layout without specified elements."""
    if memory_format not in (None, polyad.preserve_format):
        raise LayoutError(
            "zeros_like: a sparse tensor has no memory format", operands={"input": input}, fix="leave memory_format out"
        )
    if layout is not None and layout is not input.layout:
        dtype, device = dtype or input.dtype, device or input.device
        return polyad.zeros(input.shape, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)
    pattern = input._pattern
    held = input._held[:0].detach().to(dtype=dtype, device=device)
    empty: Any
    if isinstance(pattern, Coordinates):
        empty = Coordinates(pattern.indices[:, :0].to(held.device), pattern.shape, True)
    else:
        starts, others = pattern.starts.to(held.device), pattern.others.to(held.device)
        empty = Compressed(pattern.layout, starts * 0, others[:0], pattern.shape, pattern.block)
    return made(held, empty).requires_grad_(requires_grad)


@answers("zero_")
def zero_(self: SparseTensor) -> SparseTensor:
    """Drop all specified elements."""
    with polyad.no_grad():
        empty: Any = zeros_like(self)
    return rebind(self, empty, "zero_")


@answers("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Take over the elements and the pattern of *src*, which is as sparse."""
    if not isinstance(self, SparseTensor) or not isinstance(src, SparseTensor) or self.layout is not src.layout:
        raise LayoutError(
            "copy_: both tensors must be of one layout", operands={"self": self, "src": src},
            fix="convert src: src.to_dense(), or src.to_sparse(layout=self.layout)",
        )  # fmt: skip
    if tuple(self.shape) != tuple(src.shape):
        raise ShapeError("copy_: the shapes differ", operands={"self": self, "src": src}, fix="give both one shape")
    return rebind(self, clone(to(src, self.device, self.dtype)), "copy_")


@answers("sparse_resize_")
def sparse_resize_(self: SparseTensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Give a COO tensor another size that its indices fit in."""
    found = only("sparse_resize_", self, polyad.sparse_coo)
    held, pattern = found._held, found._pattern
    shape = tuple(int(one) for one in size)
    if (
        sparse_dim != pattern.sparse_dim
        or shape[sparse_dim:] != pattern.dense_shape
        or len(shape) != len(pattern.shape)
    ):
        raise ShapeError(
            f"sparse_resize_: size {shape} has other dense dimensions, or another number of sparse ones",
            operands={"self": self},
            fix="change the sizes of sparse dimensions",
        )
    resized: Any = polyad.sparse_coo_tensor(pattern.indices, held, shape, is_coalesced=pattern.coalesced)
    return rebind(self, resized, "sparse_resize_")


# ----------------------------------------------------------------------------------------------------------- as objects


@answers("__deepcopy__")
def deepcopied(self: SparseTensor, memo: dict[int, Any]) -> SparseTensor:
    """A copy of a leaf, for `copy.deepcopy`."""
    if not self.is_leaf:
        raise AutogradError(
            "deepcopy: only leaf tensors can be deep-copied",
            operands={"self": self},
            fix="copy tensor.detach(), or clone() to keep the history",
        )
    out: Any = made(self._held.clone(), self._pattern).requires_grad_(self.requires_grad)
    memo[id(self)] = out
    if self.grad is not None:
        out.grad = copy.deepcopy(self.grad, memo)
    return out


@answers("__reduce_ex__")
def reduced(self: SparseTensor, protocol: Any) -> Any:
    """A sparse tensor as data, for `pickle`."""
    return rebuilt, (self.layout.name, *parts_of(self), self.requires_grad)


def rebuilt(layout: str, parts: Any, size: Any, coalesced: bool, requires_grad: bool) -> Tensor:
    """The inverse of `reduced`."""
    return of_parts(getattr(polyad, layout), parts, size, coalesced).requires_grad_(requires_grad)


def parts_of(tensor: SparseTensor) -> tuple[tuple[Tensor, ...], tuple[int, ...], bool]:
    """The tensors that a sparse one is made of, its size, and whether it is coalesced."""
    return (*tensor._pattern.parts(), tensor._held), tuple(tensor.shape), tensor._pattern.coalesced


def of_parts(layout: Any, parts: Any, size: Any, coalesced: bool) -> Tensor:
    """The inverse of `parts_of`, which checks all that `sparse_coo_tensor` does."""
    if layout is polyad.sparse_coo:
        return polyad.sparse_coo_tensor(*parts, size, is_coalesced=coalesced, check_invariants=True)
    return polyad.sparse_compressed_tensor(*parts, size, layout=layout)
