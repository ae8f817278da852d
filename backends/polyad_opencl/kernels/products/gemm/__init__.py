"""Products of matrices, in the way that is fastest on the device.

The parts:

product.py  one product, and what its matrices are like
sources.py  kernels written for a tile, in registers or in local memory
clblast.py  CLBlast, where it is installed
algorithms.py  the ways to compute a product, and which a device is offered
tuning.py   which of them is taken: measured once for each class of sizes, and kept
"""

from __future__ import annotations

from polyad_kernels.array import Array

from .algorithms import offered
from .product import Product
from .tuning import chosen


def multiply(out: Array, a: Array, b: Array) -> None:
    """Write the products of (batch, m, k) and (batch, k, n), real, of equal batches, into the dense *out*."""
    product = Product.of(out, a, b)
    chosen(product, offered(product)).run(product)
