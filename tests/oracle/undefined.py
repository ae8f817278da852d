"""What PyTorch leaves undefined: where its own answer depends on the build, the thread count or chance.

`undefined` names the reason why a mismatch says nothing. Each rule looks at the mismatch at hand, not at the function
alone: a sort that returns wrong values is not excused because the order of equal elements is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.dispatch.op import PUBLIC
from polyad_conformance.tolerance import wide

from .calls import Call, Given, leaves
from .outcomes import Mismatch, Outcome, Result

POSITIONS = frozenset(
    [
        "sort",
        "argsort",
        "topk",
        "kthvalue",
        "median",
        "nanmedian",
        "mode",
        "msort",
        "argmax",
        "argmin",
        "max",
        "min",
        "cummax",
        "cummin",
        "aminmax",
    ]
)
"""Functions that return positions: of equal elements, any may be named."""

OVERWRITING = frozenset(
    [
        "index_copy",
        "index_put",
        "index_put_",
        "scatter",
        "put",
        "scatter_reduce",
        "index_reduce",
        "index_fill",
        "__setitem__",
    ]
)
"""Functions that write to places given by indices: of several writes to one place, any may win."""


def undefined(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> str:
    """Why nothing can be said about *mismatch*, "" if something can."""
    if (
        call.name in POSITIONS
        and mismatch.kind in ("value", "gradient", "written")
        and _same_elements(call, ours, theirs)
    ):
        return "equal elements: any of their positions may be named"
    if mismatch.kind in ("value", "gradient", "written") and call.name in OVERWRITING and _repeats(call):
        return "several writes to one place: any may win"
    if call.name in FACTORS and mismatch.kind in ("value", "gradient") and _same_product(call, ours, theirs):
        return "singular and eigenvectors: any phase will do"
    if (call.name.startswith("as_strided") or call.name == "stft") and mismatch.kind == "gradient" and _overlaps(call):
        return "the gradient of several elements in one place"
    if mismatch.kind == "gradient" and _has_no_value(mismatch, theirs):
        return "the gradient where the value is nan"
    if _is_factorization(call) and not _is_finite(call) and mismatch.kind != "structure":
        return "matrices with nan or infinity"
    if mismatch.kind in ("value", "gradient") and _pads(call) and not _is_finite(call):
        return "where nan and infinity meet the zeros of padding, or what a transform makes of infinity"
    if call.name in ("bucketize", "searchsorted") and mismatch.kind in ("value", "written") and not _is_sorted(call):
        return "a search in what is not sorted"
    if call.name in ("histogram", "histogramdd") and mismatch.kind in ("value", "written") and not _edges_rise(call):
        return "bins between edges that do not rise"
    if call.name == "matrix_exp" and any(np.abs(wide(given.values)).max(initial=0) > 1e3 for given in call.givens()):
        return "the exponential of a matrix with numbers in the thousands"
    if call.name in ("pdist", "cdist") and mismatch.kind == "gradient" and not _is_finite(call):
        return "the gradient of distances to nan and infinity"
    if call.name == "multilabel_soft_margin_loss" and mismatch.kind == "value" and not _is_finite(call):
        return "infinite targets"
    if call.name == "rrelu" and mismatch.kind in ("value", "gradient") and _is_drawn(call):
        return "random slopes"
    if call.name == "cholesky_inverse" and mismatch.kind in ("value", "gradient") and _is_complex(call):
        return "imaginary parts on the diagonal of a Cholesky factor"
    if call.name in ("lu_factor_ex", "inv_ex", "solve_ex") and mismatch.kind == "value" and "result 2" in mismatch.text:
        return "whether rounding leaves a pivot of exactly zero"
    if mismatch.kind in ("value", "written") and _casts_what_does_not_fit(call, ours, theirs):
        return "a float outside the range of the integers it is converted to"
    if mismatch.kind == "written" and _overlaps(call):
        return "a write to elements that lie in one place"
    return ""


def _has_no_value(mismatch: Mismatch, theirs: Outcome) -> bool:
    """Whether the gradients that differ are of an elementwise function where it has no value."""
    results = [one for one in theirs.results if isinstance(one, Result)]
    if mismatch.places is None or len(results) != 1 or results[0].values.shape != mismatch.places.shape:
        return False
    return bool(np.isnan(wide(results[0].values))[mismatch.places].all())


def _pads(call: Call) -> bool:
    family = PUBLIC[call.path].module.rpartition(".ops.")[2] if call.path in PUBLIC else ""
    return family == "nn.convolution" or family.startswith("fft.")


def _is_sorted(call: Call) -> bool:
    """Whether the boundaries of ``bucketize`` or the sequence of ``searchsorted`` ascend."""
    values = wide(call.givens()[-1 if call.name == "bucketize" else 0].values)
    return bool((np.diff(values, axis=-1) >= 0).all())


def _edges_rise(call: Call) -> bool:
    """Whether the edges that the bins are given as, if they are tensors, rise."""
    edges = [leaf for leaf in leaves((call.args[1:2], call.kwargs.get("bins"))) if isinstance(leaf, Given)]
    return all(bool((np.diff(wide(given.values)) >= 0).all()) for given in edges)


def _is_drawn(call: Call) -> bool:
    """Whether the slopes of ``rrelu(input, lower, upper, training)`` are random."""
    given = dict(zip(("input", "lower", "upper", "training"), call.args)) | dict(call.kwargs)
    return bool(given.get("training")) and given.get("lower", 1 / 8) != given.get("upper", 1 / 3)


def _is_factorization(call: Call) -> bool:
    return call.path in PUBLIC and ".linalg" in PUBLIC[call.path].module


def _is_finite(call: Call) -> bool:
    return all(np.isfinite(wide(given.values)).all() for given in call.givens())


def _is_complex(call: Call) -> bool:
    return any(given.dtype.is_complex for given in call.givens())


FACTORS: dict[str, Callable[..., Any]] = {
    "svd": lambda u, s, v: (u[..., : s.shape[-1]] * s[..., None, :]) @ v[..., : s.shape[-1], :],
    "eigh": lambda values, vectors: (vectors * values[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2)),
    "eig": lambda values, vectors: (vectors * values[..., None, :]) @ np.linalg.inv(vectors),
}
"""What the factors of a matrix make, by function."""


def _same_product(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    made = []
    for outcome in (ours, theirs):
        factors = [wide(one.values) for one in outcome.results if isinstance(one, Result)]
        if call.path == "svd":
            factors[2] = np.conj(np.swapaxes(factors[2], -1, -2))
        try:
            made.append(FACTORS[call.name](*factors))
        except Exception:
            return False
    coarse = any(given.memory.dtype.itemsize <= (8 if given.memory.dtype.kind == "c" else 4) for given in call.givens())
    return bool(np.allclose(*made, rtol=0, atol=(1e-4 if coarse else 1e-10) * (1 + np.abs(made[1]).max(initial=0))))


def _same_elements(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    """Whether the positions that both name hold equal elements."""
    given = call.givens()[0]
    values = wide(given.values)
    positions = [
        (one.values, other.values)
        for one, other in zip(ours.results, theirs.results)
        if isinstance(one, Result) and one.values.dtype == np.int64 and one.values.shape == other.values.shape
    ]
    if not positions:
        # The largest of equal elements as a whole: any of them may get the gradient.
        return len(np.unique(values)) < values.size
    left, right = positions[-1]
    if left.ndim == 0 or values.ndim == 0:
        return bool(
            _equal(values.reshape(-1)[left % max(values.size, 1)], values.reshape(-1)[right % max(values.size, 1)])
        )
    for dim in range(values.ndim):
        if left.ndim == values.ndim:
            pair = (left, right)
        else:
            pair = (np.expand_dims(left, dim), np.expand_dims(right, dim))
        try:
            one, other = (np.take_along_axis(values, index, dim) for index in pair)
        except (ValueError, IndexError):
            continue
        if _equal(one, other).all():
            return True
    return False


def _equal(one: Any, other: Any) -> Any:
    return (one == other) | (np.isnan(one) & np.isnan(other))


def _repeats(call: Call) -> bool:
    """Whether an index names a place twice."""
    given = call.givens()
    indices = [one.values for one in given[1:] if one.memory.dtype.kind in "iu"]
    return any(index.size > len(np.unique(index)) for index in indices) or len(indices) != 1


def _casts_what_does_not_fit(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    targets = [one.dtype for one in theirs.results if isinstance(one, Result)]
    if call.form in ("in place", "out"):
        targets += [given.dtype for given in call.givens()]
    integers = [dtype for dtype in targets if getattr(dtype, "category", 9) <= 1 and dtype.name != "bool"]
    if not integers:
        return False
    numbers = [wide(given.values) for given in call.givens() if given.memory.dtype.kind not in "iub"]
    numbers += [np.asarray(leaf) for leaf in leaves((call.args, dict(call.kwargs))) if isinstance(leaf, float)]
    for values in numbers:
        real = np.real(values)
        for dtype in integers:
            limits = np.iinfo(dtype.name)
            with np.errstate(all="ignore"):
                if not np.all((real > limits.min - 1.0) & (real < limits.max + 1.0)):
                    return True
    return False


def _overlaps(call: Call) -> bool:
    return any(isinstance(leaf, Given) and 0 in leaf.strides and leaf.values.size > 1 for leaf in call.givens())
