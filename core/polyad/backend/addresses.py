"""Where the code of a kernel is: a file and a line of who wrote it, or the text that is generated for a call.

`polyad ops NAME --device D` prints it. Of a kernel that says nothing, the address is that of its Python function. A
kernel that knows better, because its work is done in another language or by another kernel for some sizes, says so by
`Kernel.addresses`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .preparation import prepare
from .runtime import Launch, Runtime

if TYPE_CHECKING:
    from ..base.dtypes import DType
    from ..base.shapes_and_strides import Layout, Shape, Strides
    from ..codegen.frame import KernelSource
    from .interface import Kernel, Signature


@dataclass(frozen=True, slots=True)
class KernelAddress:
    """Where the code that computes a call is.

    Attributes:
        form: "handwritten", "generated", or "library" for a function that comes compiled.
        language: "Python", "C", or what the device's compiler takes.
        name: of the function; of a generated kernel what it computes.
        file, line: of a handwritten one.
        text: of a generated one, without the prologue that all of its language have.
        when: for which calls it serves, in words; empty if for all that the kernel takes.
        serves: whether it serves the call that was asked about.
    """

    form: str
    language: str
    name: str
    file: str = ""
    line: int = 0
    text: str = ""
    when: str = ""
    serves: bool = True


def addresses_of(kernel: Kernel, types: Signature, args: Sequence[Any] | None = None) -> tuple[KernelAddress, ...]:
    """Where the code of *kernel* for calls of the signature *types* is. *args*: the arrays, numbers and parameters of
    such a call, if there is one; what depends on sizes needs them.
    """
    if kernel.over is not None and kernel.addresses is not None:
        taking = (other for other in kernel.outranked if not types or prepare(other, types) is not None)
        other = next(taking, None)
        return tuple(kernel.addresses(types, args, () if other is None else addresses_of(other, types, args)))
    if kernel.addresses is not None:
        return tuple(kernel.addresses(types, args))
    function = kernel.function if kernel.specialize is None else prepare(replace(kernel, contiguous=False), types)
    return (address_of_function(kernel.function if function is None else function),)


def address_of_function(function: Callable[..., Any]) -> KernelAddress:
    """Where a function is written.

    >>> from polyad.backend.addresses import address_of_function
    >>> found = address_of_function(address_of_function)
    >>> found.form, found.name, found.file.endswith("addresses.py")
    ('handwritten', 'address_of_function', True)
    """
    while isinstance(function, partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, partial) else function.__wrapped__
    if not hasattr(function, "__code__") and inspect.isfunction(type(function).__call__):
        function = type(function).__call__  # an object that is called
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        name = getattr(function, "__qualname__", getattr(function, "__name__", type(function).__name__))
        owner = getattr(function, "__module__", None) or type(function).__module__
        return KernelAddress("library", "compiled", f"{owner}.{name}")
    name = getattr(function, "__qualname__", code.co_name)
    inside = [_cell(cell) for cell in getattr(function, "__closure__", None) or ()]
    calls = sorted({each for each in inside if each})
    return KernelAddress(
        "handwritten",
        "Python",
        f"{name.replace('.<locals>', '')}{' with ' + ', '.join(calls) if calls else ''}",
        code.co_filename,
        code.co_firstlineno,
    )


def _cell(cell: Any) -> str:
    """The name of a library's function in a closure: what a kernel that was made from it calls."""
    try:
        held = cell.cell_contents
    except ValueError:  # not set yet
        return ""
    if not callable(held) or isinstance(held, type) or hasattr(held, "__code__"):
        return ""
    name = getattr(held, "__qualname__", "") or getattr(held, "__name__", "")
    return f"{type(held).__module__ if not hasattr(held, '__module__') else held.__module__}.{name}" if name else ""


def generated_addresses(runtime: Runtime, call: Callable[[Runtime], Any]) -> tuple[KernelAddress, ...]:
    """The kernels that *call*, given a runtime, has compiled on *runtime*: none is compiled, none runs.

    What *call* raises, it raises.
    """
    recording = RecordingRuntime(runtime)
    call(recording)
    return tuple(recording.addresses)


class RecordingRuntime(Runtime):
    """A runtime that writes down what it is asked to compile, and does nothing with it."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime.backend, runtime.device)
        self.dialect, self.description = runtime.dialect, runtime.description
        self.addresses: list[KernelAddress] = []
        self._runtime = runtime

    def compile(self, source: KernelSource, what: str) -> Any:
        """Nothing, noted."""
        text = source.text.replace(self.dialect.prologue, "", 1).strip()
        self.addresses.append(KernelAddress("generated", self.dialect.name, what, text=text))
        return source

    def launcher(self, kernel: Any, instances: int, geometry: bytes) -> Launch:
        """What runs nothing."""
        return lambda arrays, numbers: None

    def launch_over(
        self, kernel: Any, instances: int, geometry: bytes, arrays: Sequence[Any], numbers: tuple[bytes, ...]
    ) -> None:
        """Nothing."""

    def empty(self, dtype: DType, shape: Shape, strides: Strides) -> Any:
        """As the runtime recorded."""
        return self._runtime.empty(dtype, shape, strides)

    def layout(self, array: Any) -> Layout:
        """As the runtime recorded."""
        return self._runtime.layout(array)

    def same_memory(self, first: Any, second: Any) -> bool:
        """As the runtime recorded."""
        return self._runtime.same_memory(first, second)

    def same_place(self, first: Any, second: Any) -> bool:
        """As the runtime recorded."""
        return self._runtime.same_place(first, second)

    def key(self, arrays: Sequence[Any]) -> Any:
        """As the runtime recorded."""
        return self._runtime.key(arrays)
