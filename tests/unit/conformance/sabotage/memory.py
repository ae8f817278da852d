"""Tier 0 gone wrong: layouts, copies, casts, host memory, declarations and accounts."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from polyad_fake.device import FakeDevice

from polyad.backend import Kernel
from polyad.base.dtypes import bfloat16, float32, float64
from polyad.interop.numpy import numpy_dtype
from polyad_numpy.backend import NumpyBackend

from .saboteur import QueueingSaboteur, Saboteur, caught_by

if TYPE_CHECKING:
    import pytest


@caught_by("test_values", "sub")
def ignores_strides(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel reads its operands as if they were row-major."""

    def dense(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or not array.size or 0 in array.strides:
            return array
        strides = [int(np.prod(array.shape[d + 1 :])) * array.itemsize for d in range(array.ndim)]
        return np.lib.stride_tricks.as_strided(array, array.shape, strides)

    backend.replace("sub", lambda honest: lambda a, b: honest(dense(a), dense(b)))


@caught_by("check_as_strided")
@caught_by("test_values", "sub")
def ignores_offsets(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Windows begin where their memory begins."""
    honest = NumpyBackend.as_strided
    patch.setattr(
        Saboteur,
        "as_strided",
        lambda self, root, dtype, shape, strides, offset: honest(self, root, dtype, shape, strides, 0),
    )


@caught_by("check_as_strided")
def reads_its_own_dtype_alone(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Memory read as another dtype is converted instead."""
    honest = NumpyBackend.as_strided

    def converting(self: Any, root: Any, dtype: Any, *layout: Any) -> Any:
        return honest(self, root.astype(numpy_dtype(dtype), copy=False), dtype, *layout)

    patch.setattr(Saboteur, "as_strided", converting)


@caught_by("check_as_strided")
def copies_windows(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A window has memory of its own: writes to it are lost."""
    honest = NumpyBackend.as_strided
    patch.setattr(Saboteur, "as_strided", lambda self, *args: honest(self, *args).copy())


@caught_by("check_data_ptr")
def names_the_allocation_for_an_address(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """All windows of a memory have the same data_ptr."""
    patch.setattr(Saboteur, "data_ptr", lambda self, array: id(array.base if array.base is not None else array))


@caught_by("check_data_ptr")
def counts_addresses_from_objects(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """data_ptr is the id of the memory's object and an offset: inside of another memory's numbers."""

    def data_ptr(self: Any, array: Any) -> int:
        root = array if array.base is None else array.base
        return id(root) + int(array.ctypes.data - root.ctypes.data)

    patch.setattr(Saboteur, "data_ptr", data_ptr)


@caught_by("check_casts")
def truncates_casts(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A cast to bfloat16 cuts bits off instead of rounding."""

    def make(honest: Any) -> Any:
        def cast(array: Any, dtype: Any) -> Any:
            if dtype is not bfloat16 or array.dtype != np.float32:
                return honest(array, dtype)
            bits = (np.ascontiguousarray(array).view(np.uint32) >> 16).astype(np.uint16)
            return bits.view(numpy_dtype(bfloat16)).reshape(array.shape)

        return cast

    backend.replace("cast", make)


@caught_by("check_casts")
def rounds_casts_to_integers(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A copy from floats to integers rounds instead of truncating."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        to_integer = target.dtype.kind in "iu" and source.dtype.kind == "f"
        honest(self, target, np.rint(source) if to_integer else source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_casts")
def casts_to_another_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A copy into another floating dtype loses the sign of zero."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        other = source.dtype != target.dtype and source.dtype.kind == "f"
        honest(self, target, source + source.dtype.type(0) if other else source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_casts")
def keeps_numbers_in_bools(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A bool made from 2 is a byte of 2."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        honest(self, target.view(np.uint8) if target.dtype == bool and source.dtype == np.uint8 else target, source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_casts")
def finds_halves_false(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Numbers become bools by way of integers, so that 0.5 is False."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        honest(self, target, np.trunc(source) if target.dtype == bool and source.dtype.kind == "f" else source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_fill")
def fills_with_one_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """fill takes -0 for 0, whose bytes it need not look at."""
    honest = NumpyBackend.fill
    patch.setattr(Saboteur, "fill", lambda self, target, value: honest(self, target, value if value else 0))


@caught_by("check_copy")
def copies_integers_as_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A copy of int64 goes through float64."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        honest(self, target, source.astype(np.float64) if source.dtype == target.dtype == np.int64 else source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_copy")
def copies_by_adding_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A copy is a kernel that adds 0, which takes the sign from -0."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        honest(self, target, source + source.dtype.type(0) if source.dtype.kind == "f" else source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_overlap")
def copies_overlapping_memory_forwards(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A copy within one memory reads what it has just written."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        if target.ndim == 1 and target.shape == source.shape and target.dtype == source.dtype:
            for i in range(target.shape[0]):
                target[i] = source[i]
        else:
            honest(self, target, source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_copy")
def copies_without_broadcasting(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A copy of fewer elements fills only the first row of its target."""
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        if target.ndim == source.ndim + 1 == 2 and target.size:
            honest(self, target[0], source)
        else:
            honest(self, target, source)

    patch.setattr(Saboteur, "copy", copy)


@caught_by("check_round_trip")
def shares_host_memory(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """from_host keeps the caller's array instead of copying it."""
    patch.setattr(
        Saboteur, "from_host", lambda self, data, dtype, device: np.ascontiguousarray(data).reshape(np.shape(data))
    )


@caught_by("check_as_strided")
def fills_the_gaps(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """fill writes between the rows of its window too."""

    def fill(self: Any, target: Any, value: Any) -> None:
        target.fill(value)
        if target.ndim == 2 and target.shape[0] > 1 and target.strides[0] > target.shape[1] * target.itemsize:
            row = np.lib.stride_tricks.as_strided(target, (target.shape[1] + 1,), (target.strides[1],))
            row.fill(value)

    patch.setattr(Saboteur, "fill", fill)


@caught_by("check_fill")
def fills_by_way_of_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """fill makes every number a float64, which loses digits of large integers."""
    honest = NumpyBackend.fill

    def fill(self: Any, target: Any, value: Any) -> None:
        honest(self, target, float(np.clip(float(value), -(2.0**63), 2.0**62)) if type(value) is int else value)

    patch.setattr(Saboteur, "fill", fill)


@caught_by("check_empty")
def allocates_one_buffer_twice(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Two new arrays of one size share their memory."""
    pool: dict[Any, Any] = {}
    honest = NumpyBackend.empty

    def empty(self: Any, shape: Any, dtype: Any, device: Any) -> Any:
        return pool.setdefault((shape, dtype), honest(self, shape, dtype, device))

    patch.setattr(Saboteur, "empty", empty)


@caught_by("check_threads")
def shares_a_scratch_buffer_between_threads(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel keeps inner results in memory that all threads share."""
    scratch = np.zeros(257, np.float32)

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            if np.shape(a) != (257,):
                return honest(a, b)
            scratch[:] = a
            time.sleep(0.0005)  # lets another thread in
            return honest(scratch, b)

        return kernel

    backend.replace("add", make)


@caught_by("check_writes_by_threads")
def writes_whole_storages_back(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A write to a window reads the memory behind it, changes the copy, and puts all of it back."""

    def slowly(write: Any) -> Any:
        def whole(self: Any, target: Any, value: Any) -> None:
            root = target
            while isinstance(root.base, np.ndarray):
                root = root.base
            if not root.flags.c_contiguous or root.size <= target.size:
                return write(self, target, value)
            changed = root.copy()
            begin = target.ctypes.data - root.ctypes.data
            write(self, np.ndarray(target.shape, target.dtype, changed, begin, target.strides), value)
            time.sleep(0.0005)  # lets another thread in
            root[...] = changed

        return whole

    patch.setattr(Saboteur, "copy", slowly(NumpyBackend.copy))
    patch.setattr(Saboteur, "fill", slowly(NumpyBackend.fill))


# ------------------------------------------------------------------------------------------------ what is declared


@caught_by("check_declaration")
def declares_complex_numbers_without_their_parts(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """complex128 is among the dtypes, float64 is not."""
    capabilities = backend.info.capabilities
    capabilities = dataclasses.replace(capabilities, dtypes=capabilities.dtypes - {float64})
    backend.info = dataclasses.replace(backend.info, capabilities=capabilities)


@caught_by("check_out_of_memory")
def exceeds_its_own_limit(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """An array of more bytes than the declared max_allocation is given out."""
    capabilities = dataclasses.replace(backend.info.capabilities, limits={"max_allocation": 1 << 20})
    backend.info = dataclasses.replace(backend.info, capabilities=capabilities)


@caught_by("check_dlpack")
def counts_all_devices_as_one(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The second device has the DLPack number of the first."""
    backend.info = dataclasses.replace(backend.info, indexed=True)
    patch.setattr(Saboteur, "device_count", lambda self: 2)
    patch.setattr(Saboteur, "dlpack_id", lambda self, device: 0)


@caught_by("check_dlpack")
def copies_what_it_exports(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """from_dlpack reads the memory once, and shares nothing."""
    patch.setattr(Saboteur, "from_dlpack", lambda self, source, device: (source.__dlpack__().copy(), float32))


@caught_by("check_declaration")
def misspells_a_kernel(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel has a name that no op has, so that nobody ever calls it."""
    backend.table["layernorm"] = Kernel(lambda *args: args[0])


@caught_by("check_out_of_memory")
def gives_less_memory_than_asked_for(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A size is kept in 32 bits, so that large ones become small ones."""
    honest = NumpyBackend.empty

    def empty(self: Any, shape: Any, dtype: Any, device: Any) -> Any:
        if math.prod(shape) < 2**40:
            return honest(self, shape, dtype, device)
        return np.lib.stride_tricks.as_strided(np.zeros(1, numpy_dtype(dtype)), shape, (0,) * len(shape))

    patch.setattr(Saboteur, "empty", empty)


# ------------------------------------------------------------------------------------------------ accounts that lie


def _lies(patch: pytest.MonkeyPatch, **lies: Any) -> None:
    honest = FakeDevice.stats

    def stats(self: Any) -> Any:
        made = honest(self)
        return dataclasses.replace(made, **{name: lie(made) for name, lie in lies.items()})

    patch.setattr(FakeDevice, "stats", stats)


@caught_by("check_memory_stats", backend=QueueingSaboteur)
def forgets_to_count_what_is_freed(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """The account of memory in use only ever grows."""
    most: list[int] = [0]

    def grown(stats: Any) -> int:
        most.append(max(most.pop(), stats.allocated))
        return most[0]

    _lies(patch, allocated=grown)


@caught_by("check_memory_stats", backend=QueueingSaboteur)
def counts_elements_for_bytes(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """The account is of elements, not of bytes."""
    _lies(patch, allocated=lambda stats: stats.allocated // 4)


@caught_by("check_memory_stats", backend=QueueingSaboteur)
def forgets_its_peak(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """The peak is what is in use now."""
    _lies(patch, peak_allocated=lambda stats: stats.allocated)


@caught_by("check_memory_stats", backend=QueueingSaboteur)
def never_resets_its_peak(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Resetting the peak does nothing."""
    patch.setattr(FakeDevice, "reset_peak", lambda self: None)


@caught_by("check_memory_stats", backend=QueueingSaboteur)
def throws_arrays_away_with_the_cache(backend: QueueingSaboteur, patch: pytest.MonkeyPatch) -> None:
    """Emptying the cache gives memory back that is still in use."""

    def empty_cache(self: Any) -> None:
        for device in self.devices:
            device.wait()
            for block in device.blocks._blocks.values():
                block.bytes.fill(0)

    patch.setattr(QueueingSaboteur, "empty_cache", empty_cache, raising=False)
