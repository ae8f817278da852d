"""What a backend says of itself and of its memory: declarations, the allocator's account, memory that is not there."""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad
from polyad.backend import API_VERSION
from polyad.backend.families import listed_unknown, unknown_kernels
from polyad.base.device import Device
from polyad.base.dtypes import bool_, complex64, complex128, float32, float64
from polyad.devices import registry
from polyad.dispatch.op import OPS
from polyad.errors import OutOfMemory

from ..calls import Target, UnsupportedByDeclaration
from ..layouts import to_host

BYTES = 1 << 20


def check_declaration(target: Target) -> None:
    """The declaration is complete and does not contradict itself, and every kernel is for an op that there is."""
    backend, device = target.backend, target.full_device
    info, here = backend.info, backend.capabilities(device)
    assert info.name == device.type, f"the backend of {device.type!r} calls itself {info.name!r}"
    said = registry.info_of(device.type)
    assert said is None or said.api_version == info.api_version, (
        f"polyad_backend_info says api_version {said and said.api_version}, the backend {info.api_version}"
    )
    for name in ("dtypes", "features"):
        more = getattr(here, name) - getattr(info.capabilities, name)
        words = sorted(getattr(one, "name", one) for one in more)
        assert not more, f"capabilities({device}).{name} has {words}, which the backend's info does not declare"
    assert {bool_, float32} <= here.dtypes, f"{device} declares no bool or no float32: no training is possible"
    for complex_, real in ((complex64, float32), (complex128, float64)):
        assert complex_ not in here.dtypes or real in here.dtypes, (
            f"{device} declares {complex_.name} without {real.name}, which its parts are"
        )
    unknown = here.unknown_features() if info.api_version <= API_VERSION else []
    assert not unknown, f"{device} declares features that polyad does not know: {unknown}"
    for name, limit in here.limits.items():
        assert limit == int(limit) > 0, f"{device}: the limit {name} is {limit!r}"
    for quirk in here.quirks:
        assert quirk.reason, f"{device}: the quirk {quirk.name} has no reason"
        assert quirk.link.startswith(("http://", "https://")), f"{device}: the quirk {quirk.name} has no link"
    strangers = unknown_kernels(backend.kernels)
    assert not strangers or info.api_version > API_VERSION, (
        f"{device} has kernels for ops that polyad does not have: {listed_unknown(strangers)}"
    )
    views = sorted(name for name in backend.kernels if name in OPS and OPS[name].kind == "view")
    assert not views, f"{device} has kernels for views, which no kernel ever computes: {views}"


def check_dlpack(target: Target) -> None:
    """Devices have DLPack numbers of their own; what is exported is memory, which comes back on the same device."""
    backend, device = target.backend, target.full_device
    if not backend.info.dlpack:
        raise UnsupportedByDeclaration(f"{device} declares no DLPack device type")
    count = backend.device_count()
    ids = [backend.dlpack_id(Device(device.type, at if backend.info.indexed else None)) for at in range(count)]
    assert len(set(ids)) == count, f"{count} devices have the DLPack ids {ids}"
    x = polyad.ones(3, dtype=float32, device=target.device)
    said = x.__dlpack_device__()
    asked = (backend.info.dlpack[0], backend.dlpack_id(device))
    assert said == asked, f"__dlpack_device__() of {device} is {said}, the backend says {asked}"
    try:
        y = polyad.from_dlpack(x, device=target.device, copy=False)
    except BufferError:
        raise UnsupportedByDeclaration(f"{device} shares no memory through DLPack") from None
    assert y.device == x.device, f"from_dlpack of a tensor on {x.device} is on {y.device}"
    x.fill_(5)
    assert to_host(y).tolist() == [5.0, 5.0, 5.0], "from_dlpack of a tensor does not see what is written to it later"


def check_memory_stats(target: Target) -> None:
    """The account follows what arrays are made and given up; peaks stay until reset; a cache can be emptied."""
    backend, device = target.backend, target.full_device
    if backend.memory_stats(device) is None:
        raise UnsupportedByDeclaration(f"{device} keeps no account of its memory")
    backend.synchronize(device)
    before = backend.memory_stats(device)
    array: Any = backend.empty((BYTES // 4,), float32, device)
    during = backend.memory_stats(device)
    grown = during.allocated - before.allocated
    assert BYTES <= grown <= 2 * BYTES, f"an array of {BYTES} bytes raised allocated by {grown}"
    assert during.blocks == before.blocks + 1, f"one array raised blocks by {during.blocks - before.blocks}"
    assert during.requests > before.requests, f"one array raised requests by {during.requests - before.requests}"
    kept = backend.from_host(np.arange(5, dtype=np.float32), float32, device)
    root: Any = backend.root(array)
    del array
    backend.synchronize(device)
    viewed = backend.memory_stats(device).allocated
    assert viewed >= before.allocated + BYTES, "memory that is still in use (its root is held) is not in allocated"
    del root
    backend.synchronize(device)
    after = backend.memory_stats(device)
    assert after.allocated <= during.allocated - BYTES + 4096, (
        f"{during.allocated - after.allocated} of {BYTES} bytes left allocated when the array was given up"
    )
    assert after.peak_allocated >= during.allocated, "the peak of allocated fell without being reset"
    for name, stats in (("before", before), ("during", during), ("after", after)):
        assert 0 <= stats.allocated <= stats.peak_allocated, f"{name}: allocated and its peak are {stats}"
        assert stats.allocated <= stats.reserved <= stats.peak_reserved, f"{name}: reserved and its peak are {stats}"
    backend.reset_peak_memory_stats(device)
    reset = backend.memory_stats(device)
    assert reset.peak_allocated == reset.allocated, f"after the peaks were reset: {reset}"
    backend.empty_cache()
    emptied = backend.memory_stats(device)
    assert emptied.reserved <= reset.reserved, f"emptying the cache raised reserved: {reset}, then {emptied}"
    assert emptied.allocated == reset.allocated, f"emptying the cache changed allocated: {reset}, then {emptied}"
    assert backend.to_host(kept).tolist() == [0, 1, 2, 3, 4], "emptying the cache changed an array"
    assert polyad.accelerator.memory_allocated(target.device) == emptied.allocated, (
        "polyad.accelerator.memory_allocated says something else than the backend"
    )


def check_out_of_memory(target: Target) -> None:
    """Memory that is not there is refused in the house style, and the device goes on working."""
    kept = polyad.full((3,), 7, dtype=float32, device=target.device)
    limit = target.backend.capabilities(target.full_device).limits.get("max_allocation")
    for size in (*([limit // 4 + 1] if limit else []), 2**58, 2**61):
        refusal: BaseException | None = None
        try:
            polyad.empty(size, dtype=float32, device=target.device)
        except Exception as error:
            refusal = error
        what = f"an array of {size} float32"
        assert refusal is not None, f"{what} was given"
        kind = type(refusal).__name__
        assert isinstance(refusal, OutOfMemory), f"{what} ended in {kind}, not in OutOfMemory:\n{refusal}"
        assert refusal.fix, f"{what}: the error says no way to mend it:\n{refusal}"
    with target.watching():
        assert to_host(kept + 1).tolist() == [8.0, 8.0, 8.0], "the device computes wrongly after memory was refused"


DEVICE_CHECKS = (check_declaration, check_dlpack, check_memory_stats, check_out_of_memory)
"""Called as ``check(target)``."""
