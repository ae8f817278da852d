"""Where polyad meets other libraries' data: the only modules of core that import NumPy."""

from __future__ import annotations

from ..base import provided

# NumPy is imported when the first of them is called.
provided.to_numpy.fill_later(f"{__name__}.numpy", "to_numpy")
provided.as_array.fill_later(f"{__name__}.numpy", "as_array")
provided.from_ufunc.fill_later(f"{__name__}.reading", "wrapped")
provided.tensor_repr.fill_later(f"{__name__}.printing", "tensor_repr")
provided.reduced.fill_later(f"{__name__}.pickling", "reduced")
