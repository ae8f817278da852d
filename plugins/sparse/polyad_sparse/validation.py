"""What the parts of a sparse tensor must be: checked when one is made of parts, unless ``check_invariants=False``."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NoReturn

import polyad
from polyad import Tensor
from polyad.errors import ArgumentTypeError, DeviceError, DTypeError, IndexOutOfRange, PolyadError, ShapeError

from .patterns import BLOCKS, COMPRESSED, ROWS

INDEX_DTYPES = (polyad.int64, polyad.int32)


class IndicesOutOfRange(IndexOutOfRange, RuntimeError):
    """An index that is outside of the size of the tensor; PyTorch says RuntimeError."""


class LayoutError(PolyadError, RuntimeError):
    """A tensor in another layout than the function is for."""


class check_sparse_tensor_invariants:
    """Whether the invariants that cost most are checked, too, of every sparse tensor that is made: that the indices of
    a compressed tensor are in order within each row, and that ``is_coalesced=True`` is true. Off at first.

    Indices out of range, and parts whose shapes do not go together, are found in any case. A context manager, a
    decorator, or switches: ``enable()``, ``disable()``, ``is_enabled()``.

    >>> import polyad
    >>> with polyad.sparse.check_sparse_tensor_invariants():
    ...     polyad.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (3,), is_coalesced=True)
    Traceback (most recent call last):
        ...
    polyad.errors.ArgumentError: sparse_coo_tensor: the indices are not in order, or one is repeated
        fix  leave is_coalesced out, and call coalesce()
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted = enable
        self._before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether all invariants are checked."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Check all invariants from now on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Check no more than at first from now on."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self._before.append(self.is_enabled())
        check_sparse_tensor_invariants._enabled = self._wanted

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        check_sparse_tensor_invariants._enabled = self._before.pop()

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._wanted):
                return function(*args, **kwargs)

        return checked


def check_indices(op: str, name: str, indices: Tensor, ndim: int) -> None:
    """Raise unless *indices* has *ndim* dimensions and holds integers."""
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is polyad.bool:
        raise DTypeError(
            f"{op}: {name} are {str(indices.dtype).removeprefix('polyad.')}, not integers",
            operands={name: indices},
            fix="convert them: .long()",
        )
    if indices.dim() != ndim:
        rule = "(sparse dims, nnz)" if ndim == 2 else "a vector"
        raise ShapeError(
            f"{op}: {name} has {indices.dim()} dimensions, not {ndim}",
            operands={name: indices},
            fix=f"{name} must be {rule}",
        )


def check_range(op: str, name: str, indices: Tensor, size: int, row: int | None = None) -> None:
    """Raise unless all of a vector are in [0, size)."""
    if not indices.shape[0] or indices.is_meta:
        return
    wrong = ((indices < 0) | (indices >= size)).nonzero()
    if wrong.shape[0]:
        place = int(wrong[0, 0].item())
        where = place if row is None else f"{row}, {place}"
        value = int(indices[place].item())
        raise IndicesOutOfRange(
            f"{op}: {name}[{where}] = {value} is not in [0, {size})",
            notes={"of": f"{wrong.shape[0]} indices that are out of range"},
            fix="indices begin at 0 and are below the size of their dimension",
        )


def check_coo(op: str, indices: Tensor, values: Tensor, size: tuple[int, ...] | None) -> None:
    """Raise unless *indices* (sparse dims, nnz), *values* (nnz, *dense dims) and *size* go together."""
    check_indices(op, "indices", indices, 2)
    operands = {"indices": indices, "values": values}
    if indices.device != values.device:
        raise DeviceError(f"{op}: indices and values are on different devices", operands=operands, fix="move one .to()")
    if not values.dim() or indices.shape[1] != values.shape[0]:
        raise ShapeError(
            f"{op}: there are indices for {indices.shape[1]} elements, and values {tuple(values.shape)}",
            operands=operands,
            fix="give a column of indices for each value",
        )
    if size is None:
        return
    if any(one < 0 for one in size):
        raise ShapeError(f"{op}: size {tuple(size)} has a negative dimension", fix="sizes are 0 or more")
    dense = values.dim() - 1
    if len(size) != indices.shape[0] + dense:
        raise ShapeError(
            f"{op}: size {tuple(size)} has {len(size)} dimensions; indices have {indices.shape[0]} rows and values "
            f"{dense} dimensions behind the first",
            operands=operands,
            fix="give a size for each row of indices and each dense dimension",
        )
    if tuple(size[indices.shape[0] :]) != tuple(values.shape[1:]):
        raise ShapeError(
            f"{op}: the dense dimensions of size are {tuple(size[indices.shape[0] :])}, those of values "
            f"{tuple(values.shape[1:])}",
            operands=operands,
            fix="give a size whose last dimensions are those of the values",
        )


def check_compressed(op: str, layout: Any, names: tuple[str, str], parts: Any, size: tuple[int, ...] | None) -> None:
    """Raise unless the shapes and dtypes of *parts* (starts, others, values) and *size* go together."""
    if layout not in COMPRESSED:
        raise ArgumentTypeError(
            f"{op}: layout {layout} is not compressed",
            fix="use polyad.sparse_csr, polyad.sparse_csc, polyad.sparse_bsr or polyad.sparse_bsc",
        )
    starts, others, values = parts
    operands = {names[0]: starts, names[1]: others, "values": values}
    check_indices(op, names[0], starts, 1)
    check_indices(op, names[1], others, 1)
    if starts.dtype is not others.dtype or starts.dtype not in INDEX_DTYPES:
        raise DTypeError(
            f"{op}: {names[0]} and {names[1]} must both be int32 or both int64", operands=operands, fix="convert one"
        )
    if len({part.device for part in parts}) > 1:
        raise DeviceError(f"{op}: the parts are on different devices", operands=operands, fix="move them .to() one")
    blocks = 2 if layout in BLOCKS else 0
    if values.dim() < 1 + blocks or others.shape[0] != values.shape[0]:
        raise ShapeError(
            f"{op}: {names[1]} has {others.shape[0]} elements, and values is {tuple(values.shape)}",
            operands=operands,
            fix="give an index for each value" + (", which is a block of two dimensions" if blocks else ""),
        )
    if not starts.shape[0]:
        raise ShapeError(f"{op}: {names[0]} is empty", operands=operands, fix="it has one element more than rows")
    if size is None:
        return
    height, width = values.shape[1:3] if blocks else (1, 1)
    dense = tuple(values.shape[1 + blocks :])
    along = 0 if layout in ROWS else 1
    if len(size) != 2 + len(dense) or tuple(size[2:]) != dense or any(one < 0 for one in size):
        raise ShapeError(
            f"{op}: size {tuple(size)} does not go with values {tuple(values.shape)}", operands=operands,
            fix="give rows, columns and the dense dimensions of the values",
        )  # fmt: skip
    step = (height, width)[along]
    if size[along] != (starts.shape[0] - 1) * step or size[0] % height or size[1] % width:
        raise ShapeError(
            f"{op}: size {tuple(size)} does not go with {names[0]} of {starts.shape[0]} elements"
            + (f" and blocks {(height, width)}" if blocks else ""),
            operands=operands,
            fix=f"{names[0]} has one element more than there are " + ("rows" if along == 0 else "columns"),
        )


def check_compressed_values(
    op: str, names: tuple[str, str], starts: Tensor, others: Tensor, across: int, ordered: bool
) -> None:
    """Raise unless *starts* goes from 0 up to the number of *others*, and these are in [0, across); with *ordered* also
    unless they rise within each row.
    """
    if starts.is_meta:
        return
    count = others.shape[0]
    steps = starts.diff()
    if int(starts[0].item()) != 0 or int(starts[-1].item()) != count or bool((steps < 0).any().item()):
        _refuse_starts(op, names[0], starts, count)
    check_range(op, names[1], others, across)
    if ordered and count > 1:
        rises = others.diff() > 0
        begins = polyad.zeros(count + 1, dtype=polyad.bool, device=others.device)
        begins[starts.long()] = True
        if not bool((rises | begins[1:count]).all().item()):
            raise ShapeError(
                f"{op}: {names[1]} do not rise within each row", fix="sort them, and add up what is there twice"
            )


def _refuse_starts(op: str, name: str, starts: Tensor, count: int) -> NoReturn:
    listed = starts.tolist()
    what = f"begins with {listed[0]}, not 0" if listed[0] else f"ends with {listed[-1]}, not {count}"
    if not listed[0] and listed[-1] == count:
        place = next(place for place in range(len(listed) - 1) if listed[place + 1] < listed[place])
        what = f"falls from {listed[place]} to {listed[place + 1]} at {place + 1}"
    raise IndicesOutOfRange(
        f"{op}: {name} {what}", operands={name: starts}, fix=f"{name} goes from 0 up to the number of values"
    )
