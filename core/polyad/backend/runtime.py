"""The runtime protocol: what a device does with generated source.

`polyad.codegen` writes kernels in a C-family language and says how they walk given arrays. A device that has a compiler
for the language derives a class from `Runtime`; the families of `polyad.codegen.kernels` do all the rest over it. A
backend gives it to core by `Backend.runtime`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from .choosing import Call, or_other

if TYPE_CHECKING:
    from ..base.device import Device
    from ..base.dtypes import DType
    from ..base.shapes_and_strides import Layout, Shape, Strides
    from ..codegen.dialects import Dialect
    from ..codegen.elementwise import KernelSource
    from ..codegen.hardware import DeviceDescription
    from .interface import Backend, Signature

Launch = Callable[[Sequence[Any], tuple[bytes, ...]], None]
"""Runs a kernel with known geometry: ``launch(arrays, numbers)``. The arrays are results, then operands, in the order
of the source's parameters; each number is as many bytes as its parameter has, and a tuple that comes again holds the
same numbers still. It may return before the kernel has run, if what follows on the device waits for it.

Kernels for GPUs read 16 bytes at once: an array is passed as an address that is a multiple of 16, from which its offset
counts.
"""


class Runtime(ABC):
    """What a device does with generated source: compile it, launch it, and hold what it computes.

    Attributes:
        backend, device: whose arrays the kernels get and give.
        dialect: the language that the device's compiler takes.
        description: what the generator is told of the hardware.
        shared: what families keep here for all that run on the device, see `once`.
    """

    dialect: Dialect
    description: DeviceDescription

    def __init__(self, backend: Backend, device: Device) -> None:
        self.backend = backend
        self.device = device
        self.shared: dict[Hashable, Any] = {}

    @abstractmethod
    def compile(self, source: KernelSource, what: str) -> Any:
        """The kernel of *source*; *what* names it in errors. Families keep it, for this process.

        What an earlier process compiled is to be kept on disk: by source, options, compiler and device. Raises
        `polyad.errors.CompilerFailure` with the compiler's words; core then does without the kernel, and says so once.
        """

    @abstractmethod
    def launcher(self, kernel: Any, instances: int, geometry: bytes) -> Launch:
        """What runs *kernel* in at least *instances* instances; *geometry*, a struct by value, is its last argument.

        Where the source has a ``group`` above 1, that many instances share local memory and meet at barriers.
        """

    def launch_over(
        self, kernel: Any, instances: int, geometry: bytes, arrays: Sequence[Any], numbers: tuple[bytes, ...]
    ) -> None:
        """Run *kernel* once, whose *geometry* has the addresses of *arrays*: it has no arguments for them.

        For dialects with ``addresses``. To override where a device must know what memory a launch uses.
        """
        self.launcher(kernel, instances, geometry)((), numbers)

    @abstractmethod
    def empty(self, dtype: DType, shape: Shape, strides: Strides) -> Any:
        """A new array with unspecified contents whose elements lie *strides* elements apart: without gaps, in some
        order of the dimensions. Raises MemoryError or OutOfMemory if there is no room.
        """

    @abstractmethod
    def layout(self, array: Any) -> Layout:
        """The array's shape, strides and offset in elements, as kernels see them.

        The offset counts from what a launch passes as the array's pointer.
        """

    @abstractmethod
    def same_memory(self, first: Any, second: Any) -> bool:
        """Whether two arrays may lie in the same memory, wholly or in part."""

    def same_place(self, first: Any, second: Any) -> bool:
        """Whether two arrays, of one dtype, are the same elements in the same order."""
        return first is second or (
            self.layout(first) == self.layout(second) and self.backend.data_ptr(first) == self.backend.data_ptr(second)
        )

    def pays_from(self, op: str, kind: str, types: Signature) -> int | None:
        """From how many elements of an operand on a generated kernel outranks what there is already; None for never.

        Asked once a signature, and only of a runtime that a plug-in offers for a device of others. *kind* is
        "primitive" for an op without a body, else by the structure of the body: "elements", "reduction", "rows", or
        "opaque" where nothing is said of it. The answer must be the same in every run.
        """
        return 1

    def choice(
        self, make: Callable[[], Callable[..., Any]], least: int, places: Sequence[int], other: Call, into: Call
    ) -> Call:
        """The kernel that *make* gives where an operand at one of *places* has *least* elements or more, else *other*.

        *into* is *other* with ``out``. To override where that can be had for less than a frame of Python.
        """
        generated = or_other(make, into)

        def call(*args: Any, **out: Any) -> Any:
            if any(math.prod(args[place].shape) >= least for place in places):
                return generated(*args, **out)
            return into(*args, **out) if out else other(*args)

        return call

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What *make* gave when *key* was first asked for; of threads that ask at once, all get the first's."""
        found = self.shared.get(key)
        return self.shared.setdefault(key, make()) if found is None else found

    def key(self, arrays: Sequence[Any]) -> Hashable:
        """What tells arrays of several layouts apart: equal keys, equal layouts. To override with something quick."""
        return tuple([tuple(self.layout(array)) for array in arrays])
