"""Which of the ways a product is computed: measured once for each device, dtype and class of sizes.

The first product of a class that is worth it is computed in each of the ways on offer, many times, and the fastest is
kept, in memory and on disk (`runtime.tuning_cache`): all products of the class are computed in that way, in this
process and in later ones. It is not measured again, so results stay the same from call to call and from run to run.
Ways differ in the last bits, so where nothing can be kept on disk nothing is measured: the first way is taken. Small
products are never measured.

The shortest time of each way counts: others are long because the machine was busy, and the choice stays.

A class is the form of the matrices and a range of four times as many multiplications.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import pyopencl as cl

from polyad.base.locks import Lock
from polyad.errors import KernelFailure, OutOfMemory

from ....runtime import tuning_cache
from ....runtime.folder import BINARIES
from .algorithms import Algorithm
from .product import Product

FROM_ON_CPUS, FROM_ON_GPUS = 1 << 22, 1 << 24
"""Multiplications from which on a product is worth measuring."""

_LARGEST = 1 << 32
"""Multiplications from which on all products of a form count as equal."""

PASSES, STRETCH = 2, 0.04
"""Each way is measured so often, for so many seconds on end: the host's BLAS keeps its threads spinning for some tens
of milliseconds, at the cost of what is measured next.
"""

LEAST, LONG = 3, 0.1
"""At least so many times a pass, unless a run takes so many seconds: threads wait for each other on a busy machine."""

_GAIN = 0.8
"""The fraction of the first way's time that another way has to reach to be preferred."""


def chosen(product: Product, offered: Sequence[Algorithm]) -> Algorithm:
    """The way for *product*. If it had to be measured, the result has been written in some of the ways on return."""
    first = offered[0]
    device = product.device
    if len(offered) == 1 or product.work < (FROM_ON_CPUS if device.is_cpu else FROM_ON_GPUS):
        return first
    if not tuning_cache.tuning() or BINARIES.path() is None:
        return first
    size = (min(product.work, _LARGEST).bit_length() - 1) // 2
    own = (product.dtype, product.form, size, tuple([way.name for way in offered]))
    known = _known.setdefault(device, {})
    found: Algorithm | None = known.get(own)
    if found is None:
        with _measuring:
            found = known.get(own)
            if found is None:
                found = known[own] = _found(product, offered, f"{product.form} of 4**{size}")
    return found


_measuring = Lock()
"""One product at a time. Not the device's lock: compiling, inside, may wait for a thread that wants this lock."""


_known: dict[object, dict[object, Algorithm]] = {}
"""By device and class."""


def _found(product: Product, offered: Sequence[Algorithm], sizes: str) -> Algorithm:
    """What earlier processes have kept, or else what is measured."""
    device = product.device
    by_name = {way.name: way for way in offered}
    versions = hashlib.sha256("\0".join([way.version for way in offered]).encode()).hexdigest()
    key = ("gemm", device.programs.identity, str(device.compute_units), product.dtype.name, sizes, *by_name, versions)
    kept = tuning_cache.recall(key, [*by_name])
    if kept is not None:
        return by_name[kept]
    first = offered[0]
    seconds = measured(product, offered)
    if not seconds:
        return first  # which says what is wrong
    best = min(seconds, key=lambda name: seconds[name])
    if first.name in seconds and seconds[best] > _GAIN * seconds[first.name]:
        best = first.name
    return by_name[tuning_cache.keep(key, [*by_name], best, seconds) or first.name]


def measured(product: Product, offered: Sequence[Algorithm]) -> dict[str, float]:
    """Seconds that *product* takes in each way, the least; those that fail on this device are left out."""
    working = []
    for way in offered:  # the first time compiles
        try:
            _once(product, way)
            working.append(way)
        except (KernelFailure, OutOfMemory):
            pass
    taken: dict[str, list[float]] = {way.name: [] for way in working}
    for _ in range(PASSES):
        for way in working:
            taken[way.name] += _stretch(product, way)
    return {name: min(each) for name, each in taken.items()}


def _stretch(product: Product, way: Algorithm) -> list[float]:
    end = time.perf_counter() + STRETCH
    found = [_once(product, way)]
    while time.perf_counter() < end or (len(found) < LEAST and found[-1] < LONG):
        found.append(_once(product, way))
    return found


def _once(product: Product, way: Algorithm) -> float:
    begin = time.perf_counter()
    way.run(product)
    try:
        with product.device.calls:
            product.device.queue.finish()
    except cl.Error as error:
        raise product.device.explained(error, f"gemm {product.dtype.name} ({way.name})") from error
    return time.perf_counter() - begin
