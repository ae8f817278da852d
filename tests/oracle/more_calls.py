"""Calls of methods and properties that the conformance suite has no samples for, because they are no public functions.

`MORE` maps ``"Tensor.<name>"`` to pairs of a drawing function, which gets a `polyad_conformance.sample.Maker` and
returns the arguments (the tensor first, keyword arguments in a dict at the end), and the dtypes it is valid in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polyad
from polyad_conformance.sample import EVERYTHING, FLOATS, NUMBERS, Maker

Draw = Callable[[Maker], tuple[Any, ...]]


def _every(*draws: Draw, dtypes: Any = EVERYTHING) -> list[tuple[Draw, Any]]:
    return [(draw, dtypes) for draw in draws]


MORE: dict[str, list[tuple[Draw, Any]]] = {
    "Tensor.new_full": _every(
        lambda make: (make((2, 3)), (2, 2), 1),
        lambda make: (make((2, 3)), (2, 2), -1),
        lambda make: (make((2,)), [3], 1.0, {"dtype": polyad.float64}),
        lambda make: (make(()), (), True),
    ),
    "Tensor.new_zeros": _every(
        lambda make: (make((2, 3)), 2, 2),
        lambda make: (make((2, 3)), (4,)),
        lambda make: (make((2, 3)), [], {"dtype": polyad.int16}),
    ),
    "Tensor.new_ones": _every(lambda make: (make((2, 3)), 2, 2), lambda make: (make((2, 3)), (0, 4))),
    "Tensor.new_tensor": _every(
        lambda make: (make((2, 3)), [1, 0]),
        lambda make: (make((2,)), [[1.5], [2.5]], {"dtype": polyad.float64}),
        lambda make: (make((2,)), True),
    ),
    "Tensor.fill_": _every(
        lambda make: (make((2, 3)), 1),
        lambda make: (make((2, 3)), True),
        lambda make: (make((2, 3)), -1),
        lambda make: (make((2, 3)), make(())),
        lambda make: (make(()), 0),
    ),
    "Tensor.zero_": _every(lambda make: (make((2, 3)),), lambda make: (make(()),)),
    "Tensor.copy_": _every(
        lambda make: (make((2, 3)), make((2, 3))),
        lambda make: (make((2, 3)), make((3,))),
        lambda make: (make((2, 3)), make((2, 1))),
        lambda make: (make((2, 3)), make(())),
    ),
    "Tensor.unfold": _every(
        lambda make: (make((3, 7)), 1, 3, 2),
        lambda make: (make((5,)), 0, 2, 1),
        lambda make: (make((4, 2)), -2, 2, 2),
    ),
    "Tensor.repeat": _every(
        lambda make: (make((2, 3)), 2, 1, 2),
        lambda make: (make((3,)), (2, 2)),
        lambda make: (make(()), 3),
        lambda make: (make((2, 3)), 0, 1),
    ),
    "Tensor.index_put": _every(
        lambda make: (make((4, 3)), (make.index((2,), 2),), make((3,))),
        lambda make: (make((4, 3)), (make.index((5,), 4), make.index((5,), 3)), make(()), {"accumulate": True}),
        dtypes=NUMBERS,
    ),
    "Tensor.type_as": _every(
        lambda make: (make((2, 3)), make.of(polyad.float64)((2,))), lambda make: (make((2, 3)), make((1,)))
    ),
    **{
        f"Tensor.{name}": _every(lambda make: (make((2, 3)),), lambda make: (make(()),))
        for name in [
            "bool",
            "byte",
            "char",
            "short",
            "int",
            "long",
            "half",
            "bfloat16",
            "float",
            "double",
            "cfloat",
            "cdouble",
            "detach",
            "cpu",
            "requires_grad_",
            "dim",
            "element_size",
            "stride",
            "size",
            "storage_offset",
            "is_contiguous",
            "tolist",
        ]
    },
    "Tensor.item": _every(lambda make: (make(()),), lambda make: (make((1, 1)),)),
    **{
        f"Tensor.{name}": _every(lambda make: (make((2, 3)),), lambda make: (make((3, 2)),))
        for name in ["T", "H", "mT", "mH", "ndim", "shape", "dtype", "is_leaf", "requires_grad", "itemsize", "nbytes"]
    },
    "Tensor.data": _every(lambda make: (make((2, 3)),), dtypes=FLOATS),
    **{
        f"Tensor.{name}": _every(lambda make: (make((2, 3)), make((3,))), lambda make: (make((2, 3)), 2))
        for name in [
            "__add__",
            "__radd__",
            "__sub__",
            "__rsub__",
            "__mul__",
            "__rmul__",
            "__truediv__",
            "__rtruediv__",
            "__floordiv__",
            "__rfloordiv__",
            "__mod__",
            "__rmod__",
            "__pow__",
            "__rpow__",
            "__eq__",
            "__ne__",
            "__lt__",
            "__le__",
            "__gt__",
            "__ge__",
            "__and__",
            "__or__",
            "__xor__",
            "__rand__",
            "__ror__",
            "__rxor__",
            "__lshift__",
            "__rshift__",
            "__iadd__",
            "__isub__",
            "__imul__",
            "__itruediv__",
            "__ifloordiv__",
            "__imod__",
            "__ipow__",
            "__iand__",
            "__ior__",
            "__ixor__",
        ]
    },
    **{
        f"Tensor.{name}": _every(lambda make: (make((2, 3)),))
        for name in ["__neg__", "__pos__", "__abs__", "__invert__"]
    },
    "Tensor.__matmul__": _every(lambda make: (make((2, 3)), make((3, 2))), dtypes=NUMBERS),
    "Tensor.__getitem__": _every(
        lambda make: (make((4, 3, 2)), 1),
        lambda make: (make((4, 3, 2)), (slice(None), 1)),
        lambda make: (make((4, 3, 2)), (slice(1, 4, 2), None, -1)),
        lambda make: (make((4, 3, 2)), (Ellipsis, 0)),
        lambda make: (make((4, 3, 2)), (make.index((2, 2), 4), slice(None), make.index((2,), 2))),
        lambda make: (make((4, 3)), make.mask((4, 3))),
        lambda make: (make((4, 3)), [0, 2]),
        lambda make: (make((4, 3)), True),
    ),
    "Tensor.__setitem__": _every(
        lambda make: (make((4, 3, 2)), 1, 1),
        lambda make: (make((4, 3)), -1, -1),
        lambda make: (make((4, 3)), make.mask((4, 3)), -1),
        lambda make: (make((4, 3)), make.index((2,), 2), -1),
        lambda make: (make((4, 3, 2)), (slice(None), 1), make((2,))),
        lambda make: (make((4, 3)), make.mask((4, 3)), 0),
        lambda make: (make((4, 3)), (make.index((2,), 2), slice(None)), make((3,))),
    ),
    "broadcast_shapes": _every(
        lambda make: ((2, 1), (3,)),
        lambda make: ((2, 3), (2, 1), ()),
        lambda make: ((2,), (3,)),
        dtypes=(polyad.float32,),
    ),
    "result_type": _every(
        lambda make: (make((2,)), make.of(polyad.int16)((2,))),
        lambda make: (make(()), make.of(polyad.float16)((2,))),
        lambda make: (make((2,)), 1.5),
        lambda make: (1, make(())),
    ),
    "equal": _every(
        lambda make: (make((2, 3)), make((2, 3))),
        lambda make: (make((0,)), make((0,))),
        lambda make: (make((2, 3)), make((3,))),
    ),
    "allclose": _every(
        lambda make: (make((2, 3)), make((2, 3))), lambda make: (make((0,)), make((0,))), dtypes=NUMBERS
    ),
    "is_same_size": _every(lambda make: (make((2, 3)), make((2, 3))), lambda make: (make((2, 3)), make((3,)))),
    "is_nonzero": _every(lambda make: (make((1,)),), lambda make: (make(()),), lambda make: (make((2,)),)),
    **{
        name: _every(lambda make: (make((2, 3)),), lambda make: (make(()),))
        for name in [
            "is_floating_point",
            "is_inference",
            "is_complex",
            "is_signed",
            "is_tensor",
            "numel",
            "is_conj",
            "is_neg",
            "get_device",
        ]
    },
    "Tensor.__len__": _every(lambda make: (make((2, 3)),)),
    "Tensor.__contains__": _every(lambda make: (make((2, 3)), 1)),
    "Tensor.__bool__": _every(lambda make: (make((1,)),)),
    "Tensor.__int__": _every(lambda make: (make((1,)),)),
    "Tensor.__float__": _every(lambda make: (make((1,)),)),
    "Tensor.__complex__": _every(lambda make: (make((1,)),)),
    "Tensor.__index__": _every(lambda make: (make((1,)),)),
}
"""By path, see the module's docstring."""

PROPERTIES = frozenset(
    ["T", "H", "mT", "mH", "ndim", "shape", "dtype", "is_leaf", "requires_grad", "itemsize", "nbytes", "data"]
)
"""Names in `MORE` that are read, not called."""
