"""The backend interface: the array handle, the class to derive from, and how kernels are declared.

Tier 0 is the abstract methods of `Backend`: memory, copies, fill. With these alone every op runs, by counted fallback
to the host. Tier 1 is a kernel for each primitive (``polyad.dispatch.op.primitives()`` lists them). Tier 2 is kernels
for composites, where a fused kernel is faster.

A kernel is a plain callable ``kernel(*operands, *params) -> array`` (a tuple of arrays for an op with several outputs):
operands are array handles, Python numbers where the op takes them, None for an absent optional operand, or a list for
an op of many tensors; params follow in the order of the op's declaration. It returns new, dense arrays that alias
nothing, of the dtype that the op's rule gives. Dtypes have been promoted, devices checked and arguments normalised
before it is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..base.device import Device
from ..base.dtypes import DType
from ..base.shapes_and_strides import coordinates
from ..errors import NotSupported
from .capabilities import BackendInfo, Capabilities
from .markers import Markers
from .memory import MemoryStats
from .properties import DeviceProperties

if TYPE_CHECKING:
    from ..graph.graph import Graph
    from .addresses import KernelAddress
    from .runtime import Runtime
    from .streams import Streams


CompiledGraph = Callable[..., Sequence[Any]]
"""``compiled(*arrays)`` gets the arrays of a graph's inputs, then of its constants, in any layout, and returns new,
dense, row-major arrays that alias nothing: one for each of the graph's results.
"""


class Array(Protocol):
    """A backend's own strided handle. Strides count bytes, as NumPy's and CuPy's do."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...


class TensorType:
    """What dispatch knows of a tensor before looking at its data. Interned: compare with ``is``.

    Attributes:
        backend: the loaded backend of the device.
        nd, zd: the same type for dimensioned and for 0-d tensors.
    """

    __slots__ = ("backend", "device", "dtype", "nd", "zd", "zero_dim")

    dtype: DType
    device: Device
    zero_dim: bool
    backend: Backend
    nd: TensorType
    zd: TensorType

    def __repr__(self) -> str:
        return f"{self.dtype.name}{'[]' if self.zero_dim else '[...]'}@{self.device}"


Signature = tuple[Any, ...]
"""An entry an operand: its TensorType, a Python number's type, NoneType, or a tuple of these for a list of tensors."""

Many = Callable[[Sequence[tuple[Any, ...]], tuple[Any, ...]], bool]
"""A kernel for a group of calls, see `Kernel.many`."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A backend's implementation of an op, with what it needs of its operands.

    Attributes:
        function: the callable; see the module's docstring for its contract.
        dtypes: operand dtypes it takes; None means every dtype that the backend declares.
        out: whether it takes ``out=array`` (or a tuple of arrays) and writes there, operands overlapping or not. Has no
            effect beside *contiguous* or *store*.
        contiguous: whether it needs row-major operands; core then copies those that are not.
        specialize: called once a signature, may return a callable for that signature, or None for "not this one".
        load: ``load(operand, dtype)`` is called for each operand that is an array or a number, with the dtype that the
            op's rule computes in, and gives what *function* gets instead.
        store: ``store(result, dtype)`` is called for each result, with the dtype that the op's rule gives it, and gives
            the array. See `cast_by_rule`.
        many: for steps of optimizers: called once a signature, may return a callable for a whole group of calls.
            ``call(rows, params)`` carries out ``function(*row, *params)`` for each row of arrays and writes the results
            over the operands that the op names. It returns whether it did; if not, nothing was written.
        partial: for a composite: it may return NotImplemented for a call, whose results the op's body then computes.
        over: for a kernel that hands calls on: ``over(types, other, into)`` is called once a signature, as *specialize*
            is, with the kernel that would compute without this one, and with the same that takes ``out``.
        outranked: the kernels after this one, which core finds for *over*, best first.
        origin: who supplied it, for `polyad.explain`.
        addresses: ``addresses(types, args)`` says where the code is that computes calls of a signature, for `polyad ops
            NAME --device D`: needed where that is not *function*, because another language or another kernel does the
            work. *args* is such a call, or None. With *over* a third argument is where what it outranks is.
    """

    function: Callable[..., Any]
    dtypes: frozenset[DType] | None = None
    out: bool = False
    contiguous: bool = False
    specialize: Callable[[Signature], Callable[..., Any] | None] | None = None
    origin: str = ""
    load: Callable[[Any, DType], Any] | None = None
    store: Callable[[Any, DType], Any] | None = None
    many: Callable[[Signature], Many | None] | None = None
    partial: bool = False
    addresses: Callable[..., Sequence[KernelAddress]] | None = None
    over: Callable[[Signature, Callable[..., Any], Callable[..., Any]], Callable[..., Any] | None] | None = None
    outranked: tuple[Kernel, ...] = ()


KernelTable = Mapping[str, Kernel | Callable[..., Any]]
"""Op name to kernel; a bare callable stands for ``Kernel(callable)``."""


def cast_by_rule(
    kernels: KernelTable, *, load: Callable[[Any, DType], Any], store: Callable[[Any, DType], Any]
) -> dict[str, Kernel]:
    """The table with kernels that need not know of dtypes: each op's rule says what its function computes in and gives.

    Core calls ``load(operand, dtype)`` for each operand: an array, which has that dtype already, or a Python number,
    which has none. What it returns goes to the function; an absent operand stays None. ``store(result, dtype)`` gets
    what the function returned, in whatever dtype that came out, and gives the new array in *dtype*. So
    ``"div": operator.truediv`` is a complete kernel. Dtypes are found out once a call signature, not once a call.

    Beside float16 and bfloat16 some rules leave numbers unrounded (products, quotients): for these *dtype* is float32,
    and a function that promotes as NumPy does then computes in float32.

    >>> import numpy, polyad
    >>> from polyad.backend import cast_by_rule
    >>> from polyad.interop.numpy import numpy_dtype
    >>> def load(operand, dtype):
    ...     return numpy.asarray(operand, numpy_dtype(dtype))
    >>> def store(result, dtype):
    ...     return numpy.array(result, numpy_dtype(dtype))
    >>> table = cast_by_rule({"eq": lambda a, b: a == b}, load=load, store=store)
    >>> table["eq"].load is load, table["eq"].function(1, 2)
    (True, False)
    """
    entries = {name: one if isinstance(one, Kernel) else Kernel(one) for name, one in kernels.items()}
    return {name: replace(kernel, load=load, store=store) for name, kernel in entries.items()}


@dataclass(frozen=True, slots=True)
class KernelSupply:
    """A kernel that a plug-in brings for another package's device type; the highest priority wins, backends have 0."""

    device_type: str
    op: str
    kernel: Kernel
    priority: int = 10


class Backend(ABC):
    """Storage and kernels of a device type. Derive from it and implement the abstract methods: that is tier 0.

    Host data travels as ``numpy.ndarray`` in both directions. All shapes and strides given to a backend count elements.
    """

    info: BackendInfo

    holds_data: ClassVar[bool] = True
    """Whether arrays have elements: not on device "meta" (`polyad.dispatch.abstract`)."""

    chunk: ClassVar[int] = 0
    """How many elements fit into the host's cache a few times over, for a backend that computes on the host and whose
    calls cost little: optimizers then pack small parameters together up to that many elements, and cut large ones. 0,
    the default, gives each parameter to a kernel as it is."""

    @abstractmethod
    def device_count(self) -> int:
        """How many devices there are; 0 is a valid answer."""

    def probe(self) -> str:
        """Why `device_count` is 0, for the user to read: no driver, no permission. Empty if there are devices."""
        return ""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Any:
        """A new row-major array with unspecified contents. Raises MemoryError or OutOfMemory if there is no room."""

    def zeros(self, shape: tuple[int, ...], dtype: DType, device: Device) -> Any:
        """As `empty`, but filled with zeros; to override where memory that is zero already can be had."""
        array = self.empty(shape, dtype, device)
        self.fill(array, 0)
        return array

    @abstractmethod
    def from_host(self, data: Any, dtype: DType, device: Device) -> Any:
        """A new array holding a copy of a NumPy array whose dtype corresponds to *dtype*."""

    def adopt(self, data: Any, dtype: DType, device: Device) -> Any:
        """As `from_host`, of a NumPy array that nobody else will use: its memory may become the new array's.

        A backend that declares ``shared_host_memory`` takes over every array that is row-major and may be written to.
        """
        return self.from_host(data, dtype, device)

    @abstractmethod
    def to_host(self, array: Any) -> Any:
        """The array's values as a NumPy array; waits until they are computed.

        It is a new array, but for a backend that declares ``shared_host_memory``, which may show its own memory.
        """

    def pinned(self, count: int, dtype: DType) -> Any:
        """A NumPy array of *count* elements, not set, in host memory that this backend's devices copy from and to by
        themselves. This and the next three are asked for where "pinned_memory" is declared, and only there.
        """
        raise NotImplementedError(f"{self.info.name} declares pinned memory and brings none")

    def is_pinned(self, data: Any) -> bool:
        """Whether a NumPy array, perhaps a view, lies in memory that `pinned` gave."""
        raise NotImplementedError(f"{self.info.name} declares pinned memory and brings none")

    def from_host_later(self, data: Any, dtype: DType, device: Device) -> Any:
        """As `from_host`, of a NumPy array in pinned memory, which may be read after the call has returned.

        The copy is work of the device as a kernel is. Hold on to *data* until it is done. Whether the program changes
        it before that is the program's business.
        """
        return self.from_host(data, dtype, device)

    def to_host_later(self, array: Any) -> Any:
        """As `to_host`, into new pinned memory, whose values may arrive after the call has returned, as work of the
        device.
        """
        return self.to_host(array)

    @abstractmethod
    def copy(self, target: Any, source: Any) -> None:
        """Write *source* into *target*: any strides on both sides, broadcasting, casting dtypes. They may overlap.

        It broadcasts as NumPy's assignment does: *source* may have dimensions of 1 in front that *target* has not.
        """

    def copy_all(self, targets: Sequence[Any], sources: Sequence[Any]) -> None:
        """`copy` each source to its target, in order; to override where many copies can be had for less."""
        for target, source in zip(targets, sources, strict=True):
            self.copy(target, source)

    @abstractmethod
    def fill(self, target: Any, value: bool | int | float | complex) -> None:
        """Write a number into every element of a strided *target*."""

    def check_all(self, good: Any, value: Any, error: Callable[[tuple[int, ...], int], Exception]) -> None:
        """Raise ``error(position, value there)`` for the first element of *good* (bool or integers) that is zero.

        *value* is an int64 array of good's shape, or None, and 0 is passed. To override where work goes on after its
        call has returned: a kernel notes what it finds, and the next call that waits raises it.
        """
        host = self.to_host(good)
        if not host.all():
            position = coordinates(int((host.reshape(-1) == 0).argmax()), host.shape)
            raise error(position, 0 if value is None else int(self.to_host(value)[position]))

    @abstractmethod
    def root(self, array: Any) -> Any:
        """A handle of the whole memory of a dense array, for `as_strided`."""

    @abstractmethod
    def as_strided(self, root: Any, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        """An array over the memory of *root*; strides and offset count elements of *dtype*. Nothing is copied.

        *dtype* may be another than that of the array whose root it is: the same bytes are read as it. The layout stays
        inside of the memory.
        """

    @abstractmethod
    def data_ptr(self, array: Any) -> int:
        """The address of the array's first element, or a number that serves as one: equal for arrays that start at the
        same place in memory, different for all others that exist, and higher by the bytes that lie between two starts
        in one memory.
        """

    def dlpack_id(self, device: Device) -> int:
        """The number of *device* among DLPack's devices of its type (``BackendInfo.dlpack``); by default its index."""
        return device.index or 0

    def to_dlpack(self, array: Any, stream: Any, max_version: tuple[int, int] | None) -> Any:
        """A DLPack capsule of the array's memory. Raises BufferError for what the bridge cannot export."""
        raise BufferError(f"{self.info.name} shares no memory through DLPack")

    def from_dlpack(self, source: Any, device: Device) -> tuple[Any, DType]:
        """An array over the memory of *source*, an object with ``__dlpack__`` on this device, and its dtype.

        Where the array is not dense, `as_strided` is asked for views of it. Raises BufferError for what the bridge
        cannot take over: strides below 0, dtypes, read-only memory.
        """
        raise BufferError(f"{self.info.name} shares no memory through DLPack")

    def lent(self, address: int, count: int, dtype: DType, owner: Any) -> tuple[Any, Device]:
        """An array (count,) over memory of a device at *address*, which *owner* keeps alive, and the device.

        Raises DeviceError for an address that is in no device's memory, or at which no element may begin.
        """
        raise NotSupported(f"{self.info.name} takes no addresses", fix="copy the array to the cpu first")

    def synchronize(self, device: Device) -> None:
        """Wait until all work on *device* is done. The default suits kernels that return when they have finished."""
        return

    def properties(self, device: Device) -> DeviceProperties:
        """What is known of the hardware; by default the line of `describe_device`, and the limit "memory"."""
        memory = self.capabilities(device).limits.get("memory", 0)
        return DeviceProperties(name=self.describe_device(device), total_memory=memory)

    def memory_info(self, device: Device) -> tuple[int, int] | None:
        """The bytes that are free on *device*, for every program, and all that it has; None if nobody can tell."""
        return None

    def limit_memory(self, device: Device, nbytes: int) -> None:
        """Let the allocator of *device* hold at most *nbytes* from now on."""
        raise NotSupported(f"{device}: its backend has no limit of memory", fix="use smaller batches")

    def peers(self, device: Device, other: Device) -> bool:
        """Whether *device* reaches the memory of *other* by itself."""
        return False

    def empty_cache(self) -> None:
        """Give memory kept for later arrays back. The default suits a backend that keeps none."""
        return

    def memory_stats(self, device: Device) -> MemoryStats | None:
        """The account of the backend's allocator on *device*; None if it keeps none, and core counts live tensors."""
        return None

    def reset_peak_memory_stats(self, device: Device) -> None:
        """Let the peaks of `memory_stats` begin at what is held now. Does nothing for a backend without an account."""
        return

    def runtime(self, device: Device) -> Runtime | None:
        """What compiles and runs generated kernels on *device*: the same object each time.

        With it core makes kernels of composites from their bodies; see `polyad.lowering`. None, the default, for a
        backend that runs no generated code.
        """
        return None

    def streams(self, device: Device) -> Streams:
        """The queues of *device*: the same object each time. Asked for where "streams" is declared, and only there."""
        raise NotImplementedError(f"{self.info.name} declares streams and brings none")

    def compile_graph(self, graph: Graph) -> CompiledGraph | None:
        """A function that computes a captured graph as a whole; None for "not this one", as for all by default.

        Asked once for each graph of `polyad.jit` that only computes, where "graphs" is declared, and only there. Raises
        `polyad.errors.CompilerFailure` with the compiler's words; core then replays the calls one by one, and says so.
        """
        return None

    def library_version(self, name: str) -> int | None:
        """The version of a vendor's library that kernels call, such as "cuda" or "cudnn"; None if there is none."""
        return None

    def markers(self) -> Markers:
        """How the vendor's profiler is told what a program does."""
        raise NotSupported(f"{self.info.name} tells no profiler", fix="use polyad.autograd.profiler")

    def num_threads(self) -> int:
        """How many threads of the host a kernel may use."""
        return 1

    def set_num_threads(self, number: int) -> None:
        """Let a kernel use at most *number* threads of the host. A backend that computes elsewhere ignores it."""
        return

    def capabilities(self, device: Device) -> Capabilities:
        """What *device* can do; by default what the backend's info declares."""
        return self.info.capabilities

    def describe_device(self, device: Device) -> str:
        """One line for listings: the hardware's name, memory, driver."""
        return self.info.description

    def runs_on_host(self, device: Device) -> bool:
        """Whether *device* is the processor that the program runs on itself, by another name.

        Such a device is no accelerator: `polyad.accelerator` passes over it, unless it is the default device.
        """
        return False

    @property
    def kernels(self) -> KernelTable:
        """The kernels by op name; empty for a tier-0 backend."""
        return {}

    def as_kernel(self, name: str) -> Kernel | None:
        """The table's entry for op *name* as a `Kernel`."""
        entry = self.kernels.get(name)
        if entry is None or isinstance(entry, Kernel):
            return entry
        return Kernel(entry)
