"""Tier 1 of the fake device: every primitive, computed by the host's kernels on the device's own memory.

A launch must say what shape the result has before anybody has computed it. It asks the op's shape and dtype rules, and
the queue compares what comes out with them: so the whole conformance suite checks these rules too. An op whose shape
depends on its data (nonzero) waits, as it would on any device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.devices import registry
from polyad.devices.preparation import prepare
from polyad.dispatch.op import Op, primitives
from polyad.errors import DTypeError, IndexOutOfRange, KernelFailure, LinAlgError, PolyadError
from polyad.interop.numpy import numpy_dtype

from .memory import Blocks, FakeArray, Window

if TYPE_CHECKING:
    from .backend import FakeBackend
    from .device import FakeDevice

HOST = Device("cpu")

KINDS: dict[type[Exception], type[PolyadError]] = {
    IndexError: IndexOutOfRange,
    np.linalg.LinAlgError: LinAlgError,
    OverflowError: DTypeError,
    Exception: KernelFailure,
}
"""What a kernel raises, and what somebody hears of it who waits for the device."""


def make_kernels(backend: FakeBackend) -> dict[str, Kernel]:
    """A kernel for each primitive, for as many dtypes as the host has one for."""

    def kernel(op: Op) -> Kernel:
        return Kernel(op.call, specialize=partial(_specialize, backend, op), origin="polyad_fake")

    def copy(array: FakeArray) -> FakeArray:
        made = backend.make(array.shape, array.dtype, array.device)
        backend.copy(made, array)  # what nobody has written may be copied, and stays so
        return made

    return {**{name: kernel(op) for name, op in primitives().items()}, "copy": Kernel(copy, origin="polyad_fake")}


def _specialize(backend: FakeBackend, op: Op, types: Signature) -> Callable[..., Any] | None:
    theirs = registry.get(HOST.type).as_kernel(op.name)
    compute = None if theirs is None else prepare(theirs, tuple(map(_on_host, types)))
    return None if compute is None else Launcher(backend, op, types, compute)


def _on_host(entry: Any) -> Any:
    if isinstance(entry, tuple):
        return tuple(map(_on_host, entry))
    return registry.tensor_type(entry.dtype, HOST, entry.zero_dim) if isinstance(entry, TensorType) else entry


class Launcher:
    """The kernel of an op for one signature of operands: checks shapes, makes room for the results, queues the work."""

    def __init__(self, backend: FakeBackend, op: Op, types: Signature, compute: Callable[..., Any]) -> None:
        self.backend, self.op, self.types, self.compute = backend, op, types, compute

    def __call__(self, *args: Any) -> Any:
        op, count = self.op, len(self.types)
        operands, params = args[:count], list(args[count:])
        if "device" in op.params:
            at = op.params.index("device")
            device = self.backend.devices[params[at].index or 0]
            params[at] = HOST
        else:
            device = next(_arrays(operands)).device
        shapes = self._shapes(operands, args[count:])
        dtypes = op.dtype(self.types, {name: args[op.names.index(name)] for name in op.keyed}).outputs
        windows = [_to_windows(operand) for operand in operands]
        described = {name: _describe(one) for name, one in zip(op.operands, operands) if isinstance(one, FakeArray)}
        compute, blocks, name = self.compute, device.blocks, op.name

        def run() -> list[np.ndarray]:
            try:
                made = compute(*[_to_values(blocks, window) for window in windows], *params)
            except Exception as error:
                raise _told(error, name, device, described) from None
            return list(made) if isinstance(made, tuple) else [made]

        if any(-1 in shape for shape in shapes):
            computed: list[np.ndarray] = []
            device.submit(lambda: computed.extend(run()), list(_windows(windows)))
            device.wait()
            shapes = [tuple(part.shape) for part in computed]
        results = [self.backend.make(shape, dtype, device) for shape, dtype in zip(shapes, dtypes, strict=True)]
        into = [result.window() for result in results]

        def work() -> None:
            try:
                for window, part in zip(into, run(), strict=True):
                    _check_rules(name, device, window, part)
                    blocks.write(window, part)
            except Exception:
                for window in into:
                    blocks.give_up(window)
                raise

        device.submit(work, list(_windows(windows)), into)
        return tuple(results) if op.outputs else results[0]

    def _shapes(self, operands: tuple[Any, ...], params: tuple[Any, ...]) -> list[tuple[int, ...]]:
        try:
            found = self.op.shape(*map(_shape_of, operands), *params)  # type: ignore[misc]
        except PolyadError as error:
            raise ValueError(error.message) from None  # dispatch finds the same and says it with the operands
        return [tuple(shape) for shape in found] if self.op.outputs else [tuple(found)]


def _arrays(value: Any) -> Any:
    if isinstance(value, FakeArray):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item)


def _shape_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_shape_of(item) for item in value]
    return value.shape if isinstance(value, FakeArray) else None


def _to_windows(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and not isinstance(value, Window):
        return [_to_windows(item) for item in value]
    return value.window() if isinstance(value, FakeArray) else value


def _windows(value: Any) -> Any:
    """The windows in nested lists."""
    if isinstance(value, Window):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _windows(item)


def _to_values(blocks: Blocks, value: Any) -> Any:
    if isinstance(value, Window):
        return blocks.read(value)
    return [_to_values(blocks, item) for item in value] if isinstance(value, list) else value


def _describe(array: FakeArray) -> str:
    return f"{array.dtype.name} {tuple(array.shape)} on {array.device.name}"


def _told(error: Exception, op: str, device: FakeDevice, operands: dict[str, str]) -> PolyadError:
    """What somebody who waits for the device gets to hear of a kernel's failure."""
    notes = {**operands, "noticed": f"when {device.name} was waited for, after the call that caused it"}
    if isinstance(error, PolyadError):
        error.lines.update({"op": op, **notes})
        return error.with_traceback(None)
    kind = next(ours for theirs, ours in KINDS.items() if isinstance(error, theirs))
    return kind(
        f"{op}: the kernel failed: {type(error).__name__}: {error}",
        notes=notes,
        fix="check the operands' values; if they are right, report the backend",
    )


def _check_rules(op: str, device: FakeDevice, window: Window, part: Any) -> None:
    dtype: DType = window.dtype
    if tuple(part.shape) != window.shape or part.dtype != numpy_dtype(dtype):
        raise KernelFailure(
            f"{op}: the kernel made {part.dtype} {tuple(part.shape)} where the op's rules say "
            f"{dtype.name} {window.shape}",
            notes={"noticed": f"when {device.name} was waited for"},
            fix="mend the shape or dtype rule in the op's declaration, or the kernel",
        )
