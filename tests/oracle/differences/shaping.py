"""What differs in ``polyad.ops.shaping``, ``indexing`` and ``reductions``."""

from __future__ import annotations

import numpy as np

from ..calls import Call, contiguous, transposed
from ..outcomes import Mismatch, Outcome
from .difference import Difference, floats, message


def _scattered_complex(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and call.name == "as_strided_scatter"


def _bool_for_dim(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    unbiased = call.name in ("var", "std", "var_mean", "std_mean") and isinstance(call.kwargs.get("dim"), bool)
    return mismatch.kind == "accepted" and unbiased and "dim=bool" in message(theirs.error)


def _sizes_of_unsafe_split(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    told = "unsafe_split(): argument 'split_size'" in message(theirs.error) and "not tuple" in message(theirs.error)
    return mismatch.kind in ("accepted", "exception") and told


def _out_of_narrow_copy(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("value", "written") and call.name == "narrow_copy" and call.form == "out"


DIFFERENCES = [
    Difference(
        "the gradient of as_strided_scatter",
        "reaches the elements that are not overwritten; PyTorch's reaches those that are, and fails its own gradcheck",
        _scattered_complex,
        Call(
            "as_strided_scatter",
            (contiguous(np.ones((3, 4), np.complex128)), contiguous(np.ones(4, np.complex128)), (4,), (3,)),
        ).with_gradients(),
    ),
    Difference(
        "a bool for dim in var and std",
        "means unbiased, as a keyword, too",
        _bool_for_dim,
        Call("var", (contiguous(floats(2)),), {"dim": False}),
    ),
    Difference(
        "sizes for unsafe_split",
        "are taken as in split, whose other name it is",
        _sizes_of_unsafe_split,
        Call("unsafe_split", (contiguous(floats(3)), (1, 2))),
    ),
    Difference(
        "narrow_copy(out=)",
        "PyTorch writes as if out had no gaps",
        _out_of_narrow_copy,
        Call(
            "narrow_copy",
            (contiguous(floats(3, 4)), 0, 0, 2),
            {"out": transposed(floats(2, 4))},
            form="out",
        ),
    ),
]
