"""What a good NumPy user would write for each function, by family; `numpy_ops.py` times them.

A family module has a function ``cases(arrays)`` that yields (name, polyad's call, NumPy's call, operands): both calls
get the operands, polyad's as tensors. Operands are those of `arrays.Arrays`, 2**20 elements, fewer where the result is
larger. Where NumPy has no such function, SciPy's stands in, or the formula as one would write
it down in array operations; loops over elements would flatter polyad and are no measure.

To add a function, add a row to its family. To add a family, write its module and list it in `FAMILIES`.
"""

from __future__ import annotations

from . import (
    gradients,
    indexing,
    joining,
    linear_algebra,
    networks,
    pointwise,
    reductions,
    sequences,
    special_functions,
)

FAMILIES = {
    "pointwise": pointwise.cases,
    "special": special_functions.cases,
    "reductions": reductions.cases,
    "indexing": indexing.cases,
    "joining": joining.cases,
    "sequences": sequences.cases,
    "linear_algebra": linear_algebra.cases,
    "networks": networks.cases,
    "gradients": gradients.cases,
}
"""The families in the order in which they run."""
