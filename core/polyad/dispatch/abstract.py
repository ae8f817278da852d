"""Abstract evaluation: device "meta", on which every op runs without data, by the rules in its declaration.

An array is a layout over a memory that has a size and no bytes. So views, aliasing, in-place forms, histories, modules
and transforms are the same code as anywhere; what is different is that the kernel of a primitive is made from its
declaration: the dtype rule, the shape rule, and for strides the structure. Composites run their bodies.

What a program can only know from elements is refused: reading them (`Tensor.item`), and the size of a result that
depends on them (`nonzero`). A body that looks at elements in order to refuse some of them asks `has_data` first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..backend.api_version import API_VERSION
from ..backend.capabilities import BackendInfo, Capabilities
from ..backend.interface import Backend, Kernel
from ..base.device import Device
from ..base.dtypes import ALL, STORED, DType
from ..base.shapes_and_strides import Shape, Strides, broadcast_strides, contiguous_strides
from ..errors import NoData, PolyadError
from .catalogue import OPS
from .structure import Laid, Pointwise, Random

if TYPE_CHECKING:
    from .declared import Op


class Memory:
    """What a storage on this device is: an identity, and a size in bytes."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class AbstractArray:
    """An array without elements; strides count bytes, as those of all arrays do."""

    __slots__ = ("dtype", "memory", "shape", "strides")

    def __init__(self, shape: Shape, strides: Strides, dtype: DType, memory: Memory) -> None:
        self.shape, self.strides, self.dtype, self.memory = shape, strides, dtype, memory

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<{self.dtype.name} {self.shape} without data>"


def new_array(shape: Shape, dtype: DType, strides: Strides | None = None) -> AbstractArray:
    """An array with memory of its own, row-major unless it has *strides*, which count elements."""
    size = dtype.itemsize
    count = 1
    for length in shape:
        count *= length
    steps = contiguous_strides(shape) if strides is None else strides
    return AbstractArray(tuple(shape), tuple([step * size for step in steps]), dtype, Memory(count * size))


class AbstractBackend(Backend):
    """Device "meta": shapes, dtypes, strides and aliasing, without elements."""

    info = BackendInfo(
        name="meta",
        api_version=API_VERSION,
        capabilities=Capabilities(frozenset((*ALL, *STORED))),
        indexed=False,
        description="shapes and dtypes without data",
    )
    holds_data = False

    def __init__(self) -> None:
        self._kernels: dict[str, Kernel] = {}

    def device_count(self) -> int:
        return 1

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> AbstractArray:
        return new_array(shape, dtype)

    zeros = empty

    def from_host(self, data: Any, dtype: DType, device: Device) -> AbstractArray:
        return new_array(data.shape, dtype)

    def to_host(self, array: AbstractArray) -> Any:
        raise NoData(_NOTHING_TO_READ, fix="call it on a device that holds data")

    def copy(self, target: AbstractArray, source: AbstractArray) -> None:
        broadcast_strides(source.shape, source.strides, target.shape)

    def fill(self, target: AbstractArray, value: Any) -> None:
        return

    def root(self, array: AbstractArray) -> Memory:
        return array.memory

    def as_strided(
        self, root: Memory, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> AbstractArray:
        size = dtype.itemsize
        return AbstractArray(tuple(shape), tuple([step * size for step in strides]), dtype, root)

    def data_ptr(self, array: AbstractArray) -> int:
        return 0

    def as_kernel(self, name: str) -> Kernel | None:
        """The kernel that follows from the declaration of op *name*; None for a composite that has its body."""
        found = self._kernels.get(name)
        if found is None:
            op = OPS.get(name)
            if op is None or not _by_rules(op):
                return None
            found = self._kernels[name] = Kernel(_layouts(op), store=_stored, origin="declaration")
        return found


def _by_rules(op: Op) -> bool:
    """Whether *op* is one kernel by its declaration, as it is wherever code is generated from what is computed element
    by element. Of several results each may lie as another operand does, which the body says.
    """
    elementwise = isinstance(op.structure, (Pointwise, Random)) and bool(op.operands)
    return op.kind == "primitive" or (elementwise and not op.outputs)


def _stored(layout: tuple[Shape, Strides | None], dtype: DType) -> AbstractArray:
    return new_array(layout[0], dtype, layout[1])


def _layouts(op: Op) -> Callable[..., Any]:
    """What computes shape and strides of the results of *op* from its operands, by its rules."""
    count = len(op.operands)

    def kernel(*args: Any) -> Any:
        operands, params = args[:count], args[count:]
        try:
            shape = op.shape(*[_shape_of(operand) for operand in operands], *params)  # type: ignore[misc]
        except PolyadError as error:
            # Told as a kernel tells it: dispatch asks the rule again for the words.
            raise ValueError(error.message) from error
        arrays = list(_arrays(operands))
        shapes = [_with_assumed(one) if -1 in one else one for one in (shape if op.outputs else (shape,))]
        results = [(one, op.strides(one, arrays, *params)) for one in shapes]
        for note in _asked.notes:
            shapes = [_shape_of(operand) for operand in operands]
            note(op.structure.operations([one for one, _ in results], shapes, params))
        return tuple(results) if op.outputs else results[0]

    return kernel


def _with_assumed(shape: Shape) -> Shape:
    """A shape with an assumed size where it follows from elements."""
    if _asked.size is None:
        raise NoData(_SIZE_UNKNOWN, fix=_KEEP_SIZES)
    return tuple([_asked.size() if size == -1 else size for size in shape])


class _Asked(threading.local):
    notes: tuple[Callable[[int], None], ...] = ()
    size: Callable[[], int] | None = None


_asked = _Asked()


@contextmanager
def assuming(size: Callable[[], int]) -> Iterator[None]:
    """Within it, where a size follows from elements, which there are none of here, it is what *size* gives."""
    before, _asked.size = _asked.size, size
    try:
        yield
    finally:
        _asked.size = before


@contextmanager
def counting(note: Callable[[int], None]) -> Iterator[None]:
    """Call *note* with the number of arithmetic operations of each kernel that this thread runs without data."""
    before = _asked.notes
    _asked.notes = (*before, note)
    try:
        yield
    finally:
        _asked.notes = before


def _shape_of(operand: Any) -> Any:
    if isinstance(operand, (list, tuple)):
        return [_shape_of(one) for one in operand]
    return operand.shape if isinstance(operand, AbstractArray) else None


def _arrays(operands: Iterable[Any]) -> Iterator[Laid]:
    for one in operands:
        if isinstance(one, AbstractArray):
            yield Laid(one.shape, one.strides, one.dtype)
        elif isinstance(one, (list, tuple)):
            yield from _arrays(one)


_NOTHING_TO_READ = "it reads the elements of a tensor on device 'meta', which has none"
_SIZE_UNKNOWN = "how large its result is depends on elements, and a tensor on device 'meta' has none"
_KEEP_SIZES = "call it on a device that holds data, or keep the size: where, masked_fill, nonzero_static"
