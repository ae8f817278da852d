"""The class that Tensor inherits its generated methods from.

`polyad.ops` attaches here what its modules declare: every public function that is a method (``exp``), its in-place form
(``exp_``), other methods, properties, and the operators. What type checkers and editors see is tensor_methods.pyi,
which ``python -m polyad.ops.declaring.stubs`` writes from the same declarations.
"""

from __future__ import annotations


class TensorMethods:
    """Methods generated from op declarations."""

    __slots__ = ()

    __array_priority__ = 1000
    """NumPy scalars leave ``numpy.float64(2) * tensor`` to the tensor."""
