"""The ways to compute a product, and which of them a device is offered.

- a tile: a kernel of polyad's, see `sources`.
- the host's BLAS, on mapped memory, where the device's memory is the host's: float32 and float64.
- CLBlast, where it is installed and memory is the device's own: float32 and float64.

To add a tile, add it to a list below. To add another way, write a class like `HostBlas` and offer it in `offered`.
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np

from polyad.base.dtypes import DType, float32, float64
from polyad_kernels.memo import memoize

from . import clblast, sources
from .product import Product, dense
from .sources import Local, Registers, Tile

HOST_FROM = 1 << 26
"""Multiplications from which on the host's BLAS is taken where nothing was measured."""

HOST_ONLY_FROM = 1 << 30
"""Multiplications from which on a CPU device is offered nothing but the host's BLAS, which keeps to its caches."""

CLBLAST_FROM = 1 << 28
"""Multiplications from which on CLBlast is offered: it compiles for a second or more in every process."""


class Algorithm(Protocol):
    """How a product can be computed.

    Attributes:
        name: what is kept on disk.
        version: changes with what the way does.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def run(self, product: Product) -> None:
        """Compute it, or enqueue what does."""


class Tiled:
    """The kernel that is written for *tile* and *dtype*, on a device; compiled when it is first run."""

    __slots__ = ("_device", "_dtype", "_launch", "name", "tile")

    def __init__(self, device: Any, dtype: DType, tile: Tile) -> None:
        self.tile = tile
        self.name = str(tile)
        self._device, self._dtype = device, dtype
        self._launch: Any = None

    @property
    def version(self) -> str:
        return hashlib.sha256(self.tile.source().encode()).hexdigest()

    def run(self, product: Product) -> None:
        launch = self._launch
        if launch is None:
            launch = self._launch = sources.kernel(self._device, self._dtype, self.tile)
        a, b, out = product.a, product.b, product.out
        if b.steps[-1] != 1 and product.n > 1:
            b = dense(b)
        sizes, steps = product.batches(a, b)
        if len(sizes) > sources.BATCHES:
            a, b = dense(a), dense(b)
            sizes, steps = product.batches(a, b)
        lacking = sources.BATCHES - len(sizes)
        batch_steps = [step for each in steps for step in (0,) * lacking + each]
        launch(
            self.tile.size(out.dtype, product.m, product.n, product.count),
            out.buffer, out.offset, a.buffer, a.offset, b.buffer, b.offset,
            product.m, product.n, product.k, a.steps[-2], a.steps[-1], b.steps[-2],
            *(1,) * lacking, *sizes, *batch_steps,
        )  # fmt: skip


class HostBlas:
    """NumPy's product on the mapped memory: nothing is copied."""

    name = "host"
    version = f"numpy {np.__version__}"

    def run(self, product: Product) -> None:
        device = product.device
        with (
            device.mapped(product.out, write=True) as result,
            device.mapped(product.a) as left,
            device.mapped(product.b) as right,
        ):
            np.matmul(left, right, out=result)


class CLBlast:
    """See `clblast`."""

    name = "CLBlast"
    version = ""

    def run(self, product: Product) -> None:
        clblast.run(product)


HOST, CLBLAST = HostBlas(), CLBlast()

FOR_CPU = Registers(6, 2)
"""12 accumulators, two vectors of the right operand, and an element of the left: what 16 registers hold."""

FOR_CPUS: dict[str, tuple[Tile, ...]] = {"rows": (Registers(2, 4),)}
"""By `Product.form`; `FOR_CPU` for the others. One each, since compiling more of them costs more than they bring."""

_LARGE, _MIDDLE, _SMALL = Local(16, 16, 8, 8, 8), Local(16, 16, 4, 4, 16), Local(8, 8, 4, 4, 8)

FOR_GPUS: dict[str, tuple[Tile, ...]] = {
    "square": (_MIDDLE, _LARGE, _SMALL, Local(16, 16, 2, 2, 16)),
    "batch": (_MIDDLE, _SMALL),
    "rows": (Local(4, 32, 1, 4, 16), _SMALL),
    "columns": (Local(32, 4, 4, 4, 16), _SMALL),
}
"""By `Product.form`; first the tile that is taken without measuring."""


@memoize
def tiles(device: Any, dtype: DType, form: str) -> tuple[Algorithm, ...]:
    """The tiles for *form* that the device's limits allow, at least one."""
    if device.is_cpu:
        return tuple([Tiled(device, dtype, tile) for tile in FOR_CPUS.get(form, (FOR_CPU,))])
    fitting = [tile for tile in FOR_GPUS[form] if tile.fits(device, dtype)]
    return tuple([Tiled(device, dtype, tile) for tile in fitting or [FOR_CPU]])


def offered(product: Product) -> tuple[Algorithm, ...]:
    """What *product* may be computed with; the first is taken where nothing is measured."""
    device, dtype = product.device, product.dtype
    found = tiles(device, dtype, product.form)
    if dtype is not float32 and dtype is not float64:
        return found
    if device.shares_host_memory:
        if device.is_cpu and product.work >= HOST_ONLY_FROM:
            return (HOST,)
        return (HOST, *found) if product.work >= HOST_FROM else (*found, HOST)
    if product.work >= CLBLAST_FROM and clblast.serves(dtype):
        return (*found, CLBLAST)
    return found
