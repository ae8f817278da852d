"""What differs from PyTorch on purpose; docs/compatibility.md tells users.

Invariant: every entry is needed. Its `call` shows the difference, and a test makes that call: an entry whose call no
longer differs, or is claimed by an entry above it, fails.

To add a difference, add it to `DIFFERENCES` with the reason why PyTorch's way was not taken. A rule should claim as
little as it can: the function, the kind of mismatch and what tells the case from others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from polyad import errors
from polyad.dispatch.op import PUBLIC
from polyad.dtypes import FLOATING, INTEGER, complex128, finfo, iinfo, uint8
from polyad_conformance.tolerance import eps, wide

from .calls import Call, Given, contiguous, expanded, leaves, mapped, row_major, transposed
from .libraries import TORCH
from .outcomes import Mismatch, Outcome, Result, observe, targets

Rule = Callable[[Call, Mismatch, Outcome, Outcome], bool]


@dataclass(frozen=True)
class Difference:
    """A deliberate difference.

    Attributes:
        name: what differs, in a few words.
        reason: why.
        applies: ``applies(call, mismatch, ours, theirs)``: whether a mismatch is this one.
        call: a call that shows it.
    """

    name: str
    reason: str
    applies: Rule
    call: Call


def _floats(*shape: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _message(error: BaseException | None) -> str:
    return "" if error is None else str(error)


def _numbers(call: Call) -> bool:
    return any(isinstance(value, (bool, int, float, complex)) for value in leaves(call.args))


def _no_kernel(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = ("not implemented for", "not supported for", "not support", "Unsupported dtype", "but got Half", "BFloat16")
    words = (
        *words,
        "dtype of indices should be",
        "int32/int64 for index",
        "Expected a long tensor for index",
        "LongTensor",
        "Unsupported input type",
        "desired output type",
    )
    return mismatch.kind == "accepted" and any(word in _message(theirs.error) for word in words)


def _no_derivative(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = ("not differentiable", "derivative", "not support automatic differentiation")
    return mismatch.kind == "accepted" and any(word in _message(theirs.error) for word in words)


def _failed_backward(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and ours.gradient_error is None and theirs.gradient_error is not None


def _more_out(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    # PyTorch tells of dtypes in many words, and calls them unsupported arguments where there is an overload.
    words = (
        "dtype|scalar.?type|type|not implemented for|non-boolean outputs|point output|unexpected keyword argument 'out'"
    )
    words += "|missing 1 required positional|invalid combination of arguments"
    words += "|only supports bool tensor for result|expects Long tensor out|not yet implemented for complex tensors"
    return mismatch.kind == "accepted" and call.form == "out" and re.search(words, _message(theirs.error)) is not None


def _resized_out(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "strides" and call.form == "out" and any(given.shape == (0,) for given in call.givens())


def _mixed_dtypes(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    dtypes = {given.dtype for given in call.givens()}
    words = ("dtype", "scalar type", "same type", "scalar_type")
    return mismatch.kind == "accepted" and len(dtypes) > 1 and any(word in _message(theirs.error) for word in words)


def _number_for_a_tensor(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind in ("accepted", "exception")
        and isinstance(theirs.error, (TypeError, AttributeError))
        and _numbers(call)
        and re.search(
            r"must be Tensor, not |invalid combination of arguments|object has no attribute", str(theirs.error)
        )
        is not None
    )


def _dim_left_out(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    told = "invalid combination of arguments" in _message(theirs.error)
    return mismatch.kind == "accepted" and told and "keepdim" in call.kwargs


def _int_for_ints(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("accepted", "exception") and "must be tuple of ints, not int" in _message(theirs.error)


def _wrong_type(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "exception"
        and isinstance(ours.error, TypeError)
        and isinstance(theirs.error, (AttributeError, RuntimeError, IndexError, ValueError))
    )


def _outside_the_dtype(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "refused"
        and isinstance(ours.error, errors.DTypeError)
        and re.search(r"is not in \[.*, the range of |outside the range of", str(ours.error)) is not None
    )


def _expanded_target(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and "several elements of an expanded tensor" in _message(ours.error)


def _is_empty(call: Call, theirs: Outcome) -> bool:
    return any(0 in given.shape for given in call.givens()) or any(
        isinstance(one, Result) and one.values.size <= 1 for one in theirs.results
    )


def _nothing_to_compute(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    checked = (errors.DTypeError, errors.IndexOutOfRange, errors.ArgumentError, errors.MissingKernel)
    if isinstance(ours.error, errors.ShapeError):
        nothing = any(0 in given.shape for given in call.givens()) and "the kernel failed" not in _message(ours.error)
    else:
        nothing = isinstance(ours.error, checked) and _is_empty(call, theirs)
    return mismatch.kind == "refused" and nothing


def _more_empty(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    none = any(0 in given.shape for given in call.givens())
    return mismatch.kind == "accepted" and none and isinstance(theirs.error, (RuntimeError, IndexError))


def _dtype_refused(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "exception"
        and isinstance(ours.error, errors.DTypeError)
        and isinstance(theirs.error, (NotImplementedError, TypeError, ValueError))
    )


def _layouts_that_fail(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = "INTERNAL ASSERT|view size is not compatible|Unsupported memory format|must be contiguous"
    if call.name == "matmul" and any(given.strides != row_major(given.shape) for given in targets(call)):
        words += "|The size of tensor a .* must match the size of tensor b"  # an out with what PyTorch folded
    return mismatch.kind == "accepted" and re.search(words, _message(theirs.error)) is not None


def _no_derivative_here(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    missing = isinstance(ours.error, errors.NotSupported) or isinstance(ours.gradient_error, errors.NotSupported)
    return call.grad and missing and mismatch.kind in ("refused", "requires_grad", "gradient")


def _nan_gradient(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient that is lost"


def _constant(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind == "requires_grad":
        named = re.match(r"result (\d+)", mismatch.text)
        if named and theirs.results[int(named[1])].values.size == 0:
            return True
        return all(one is None or not np.any(one) for one in (*ours.gradients, *theirs.gradients))
    pairs = [(one, other) for one, other in zip(ours.gradients, theirs.gradients) if (one is None) != (other is None)]
    alone = ours.gradients if not theirs.gradients else theirs.gradients if not ours.gradients else []
    given = [one if other is None else other for one, other in pairs] + list(alone)
    return mismatch.kind == "gradient" and bool(given) and all(one is None or not np.any(one) for one in given)


ROW_MAJOR = {
    "families": (
        "linalg", "fft", "view_scatter", "products.mm", "products.dot", "products.outer", "products.cross",
        "products.addmm", "products.einsum", "unravel_index", "convolution", "random", "dropout", "losses",
        "recurrent", "special.polynomials",
    ),
    "functions": (
        "bilinear", "tril_indices", "triu_indices", "put", "rot90", "lp_pool1d", "__getitem__",
    ),
}  # fmt: skip
"""Whose results are row-major, whatever order the operands are in."""


def _order_in_memory(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    family = any(f".{family}" in _module(call) for family in ROW_MAJOR["families"])
    power = call.name in ("pow", "__rpow__") and not all(isinstance(one, Given) for one in call.args)
    views = any(isinstance(one, Result) and one.shares is not None for one in (*ours.results, *theirs.results))
    return (
        mismatch.kind == "strides"
        and (family or power or call.name in ROW_MAJOR["functions"])
        and not (views and call.name == "__getitem__")
    )


def _assertions(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "exception" and isinstance(theirs.error, (AssertionError, ZeroDivisionError))


def _recurrent(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and ".recurrent" in _module(call) and isinstance(ours.error, RuntimeError)


def _mixed_losses(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    dtypes = {given.dtype for given in call.givens()}
    return mismatch.kind in ("value", "gradient", "dtype") and len(dtypes) > 1 and ".losses" in _module(call)


def _mixed_gradient(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    dtypes = {given.dtype for given in call.givens() if given.dtype.category >= FLOATING}
    return (
        mismatch.kind == "gradient"
        and len(dtypes) > 1
        and all(
            one is not None and other is not None and np.allclose(wide(one), wide(other), *2 * [16 * eps(coarse)])
            for coarse in [max(dtypes, key=eps)]
            for one, other in zip(ours.gradients, theirs.gradients)
        )
    )


def _number_for_a_weight(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    asked = "Tensor" in _message(ours.error) or "tensor" in _message(ours.error)
    return mismatch.kind == "refused" and isinstance(ours.error, errors.ArgumentTypeError) and _numbers(call) and asked


def _ldexp_gradient(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and call.name == "ldexp"


def _negative_radius(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "gradient" or call.name != "polar" or len(call.args) < 2 or not isinstance(call.args[0], Given):
        return False
    return not (wide(call.args[0].values) > 0).all()


def _other_triangle(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "gradient" or call.name not in ("cholesky_solve", "cholesky_inverse"):
        return False
    factor = call.givens()[-1].values
    triangle = np.triu if call.kwargs.get("upper") or call.args[-1] is True else np.tril
    if not np.array_equal(factor, triangle(factor)):
        return True
    one, other = ours.gradients[-1], theirs.gradients[-1]
    # Where nothing stands beside the triangle, PyTorch's gradient is the same in it, and not zero outside.
    return one is not None and other is not None and np.allclose(wide(one), triangle(wide(other)), 1e-3, 1e-3)


def _imaginary_diagonal(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    complex_ = any(given.dtype.is_complex for given in call.givens())
    return mismatch.kind == "gradient" and call.name in ("cholesky", "cholesky_ex") and complex_


COARSE = {
    "digamma": 1e-8, "psi": 1e-8, "polygamma": 1e-8, "hardsigmoid": 1e-7, "log_ndtr": 1e-10, "sinc": 1e-4,
    "hypot": 1e-3,
}  # fmt: skip
"""How far PyTorch's gradients in float64 may be from the truth, relatively, by function."""


def _coarse_gradient(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "gradient"
        and call.name in COARSE
        and all(
            one is not None and other is not None and np.allclose(wide(one), wide(other), COARSE[call.name], 0, True)
            for one, other in zip(ours.gradients, theirs.gradients)
        )
    )


OVERFLOWING = frozenset({"add", "sub", "subtract", "addcmul", "soft_margin_loss", "ldexp"})
"""Functions with numbers on the way that may overflow where the result does not."""


def _overflow(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or call.name not in OVERFLOWING or mismatch.places is None:
        return False
    largest = np.max([np.abs(wide(given.values)) for given in call.givens()], 0)
    limit = min(finfo(given.dtype).max for given in call.givens())
    return bool((largest[mismatch.places] > limit / 8).all())


def _tail_of_normal(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or call.name != "ndtr" or mismatch.places is None:
        return False
    return bool((wide(call.givens()[0].values)[mismatch.places] < -5).all())


def _below_the_cut(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "gradient" or call.name not in ("acosh", "arccosh") or mismatch.places is None:
        return False
    z = wide(call.givens()[0].values)[mismatch.places]
    return bool(np.iscomplexobj(z) and ((z.imag == 0) & np.signbit(z.imag) & (abs(z.real) < 1)).all())


def _sinc_near_zero(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "gradient" or call.name != "sinc" or mismatch.places is None:
        return False
    return bool((abs(wide(call.givens()[0].values)[mismatch.places]) < 1e-8).all())


def _tied_distances(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    largest = np.inf in leaves((call.args[1:], dict(call.kwargs)))
    return mismatch.kind == "gradient" and call.name in ("pdist", "cdist") and largest


def _wrong_rank(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    told = isinstance(theirs.error, IndexError) and "Dimension out of range" in _message(theirs.error)
    return mismatch.kind == "exception" and isinstance(ours.error, errors.ShapeError) and told


def _scattered_complex(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and call.name == "as_strided_scatter"


def _losses(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and "must have one shape" in _message(ours.error) and "loss" in _module(call)


def _module(call: Call) -> str:
    return PUBLIC[call.path].module if call.path in PUBLIC else ""


def _result_does_not_fit(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = "out: its dtype cannot hold the result|the result is .*, which self .* cannot hold"
    return mismatch.kind == "refused" and re.search(words, _message(ours.error)) is not None


def _narrower_target(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "accepted"
        and call.form == "in place"
        and re.search("requires dtype|Bad in-place call", _message(theirs.error)) is not None
    )


def _singular_determinant(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and call.name in ("det", "slogdet", "logdet")


def _sign_of_gcd(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or call.name not in ("gcd", "lcm"):
        return False
    return all(np.array_equal(abs(wide(a.values)), abs(wide(b.values))) for a, b in zip(ours.results, theirs.results))


def _meaningless(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and call.path in MEANINGLESS


MEANINGLESS = {
    "fft.rfftfreq": "a negative number of samples",
    "binomial": "probabilities outside [0, 1], counts below 0",
    "index_add": "a fraction of integers",
    "linalg.eigh": "matrices with nan",
    "linalg.eigvalsh": "matrices with nan",
    "linalg.lstsq": "matrices with nan",
    "lu_unpack": "more pivots than rows",
    "nn.functional.conv2d": "kernels without elements",
    "alpha_dropout": "integers",
    "nn.functional.alpha_dropout": "integers",
    "nn.functional.dropout1d": "integers",
    "nn.functional.dropout2d": "integers, one dimension",
    "nn.functional.dropout3d": "integers",
    "nn.functional.local_response_norm": "a size below 1",
    "linalg.ldl_factor": "an operand that requires a gradient, where there is none",
    "linalg.solve_triangular": "operands of two dtypes",
    "geqrf": "an operand that requires a gradient, where there is none",
    "addbmm": "self of another shape than the result, in place",
    "nn.functional.gaussian_nll_loss": "complex numbers, which have no density",
    "nn.functional.ctc_loss": "labels that are no classes",
    "nn.functional.instance_norm": "eps of 0",
    "nn.functional.max_unpool1d": "kernels without elements",
    "nn.functional.max_unpool2d": "kernels without elements",
    "nn.functional.max_unpool3d": "kernels without elements",
    "nn.functional.rms_norm": "complex numbers, as in the other norms",
    "rms_norm": "complex numbers, as in the other norms",
    "take_along_dim": "an index past the end, where PyTorch reads what lies there",
}
"""Arguments that have no meaning, by function, which PyTorch takes without a word."""


CORNERS = {
    "fft.ifftshift": ("accepted", "a 0-d tensor has nothing to shift; PyTorch refuses it"),
    "fft.fftfreq": ("written", "PyTorch writes the second half without the gaps of out"),
    "atan2": ("gradient", "PyTorch negates numbers of uint8, which wrap around"),
    "linalg.lstsq": ("value", "without columns, residuals are the squares of B; PyTorch's are 0"),
    "addmv": ("shape", "a vector of one element is added to what has none, which gives none"),
    "scatter_add": ("strides", "self keeps its order also if nothing is added"),
    "nn.functional.lp_pool1d": ("value", "PyTorch takes means of integers in integers"),
    "nn.functional.lp_pool2d": ("value", "PyTorch takes means of integers in integers"),
    "nn.functional.lp_pool3d": ("value", "PyTorch takes means of integers in integers"),
    "nn.functional.avg_pool3d": ("accepted", "ceil_mode gives an element where the kernel fits in part, as in 2-d"),
    "Tensor.__int__": ("exception", "an infinite number is an OverflowError also if it is complex"),
    "ormqr": ("accepted", "more reflectors than columns are left out; PyTorch refuses them"),
    "nn.functional.cross_entropy": ("value", "no classes and no elements give 0; PyTorch gives nan in half types"),
    "nn.functional.adaptive_avg_pool2d": (
        "refused",
        "no pixels have no mean, also where there are no planes",
    ),
    "nn.functional.fractional_max_pool3d": ("accepted", "PyTorch's check of the sizes is off by one"),
    "nn.functional.local_response_norm": ("dtype", "integers become floats also if there are none"),
    "nn.functional.pixel_unshuffle": ("shape", "a tensor without elements has the shape that others would have"),
    "pixel_unshuffle": ("shape", "a tensor without elements has the shape that others would have"),
    "conv1d": ("shape", "there are weight's channels, also where input has none"),
    "conv2d": ("shape", "there are weight's channels, also where input has none"),
    "conv3d": ("shape", "there are weight's channels, also where input has none"),
    "nn.functional.scaled_dot_product_attention": (
        "shape",
        "batches broadcast, also where there are no keys",
    ),
}
"""By function, what differs where hardly anybody goes: the kind of mismatch, and both sides."""


def _corner(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind == "gradient" and not any(given.dtype is uint8 for given in call.givens()):
        return False
    if mismatch.kind == "value" and "lp_pool" in call.name:
        return all(given.dtype.category == INTEGER for given in call.givens())
    if mismatch.kind in ("value", "shape", "strides") and not any(0 in given.shape for given in call.givens()):
        return False
    return call.path in CORNERS and mismatch.kind == CORNERS[call.path][0]


def _several_faults(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    kinds = (IndexError, RuntimeError, ValueError)
    return mismatch.kind == "exception" and isinstance(ours.error, kinds) and isinstance(theirs.error, kinds)


def _bool_beside_another_fault(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "exception" or not isinstance(theirs.error, TypeError) or "bool" not in str(theirs.error):
        return False
    kinds = (IndexError, RuntimeError, ValueError)
    return isinstance(ours.error, kinds) and any(
        isinstance(observe(TORCH, one).error, kinds) for one in _with_ints(call)
    )


def _with_ints(call: Call) -> Iterator[Call]:
    """*call* with ints in the place of the bools in one of its arguments, for each of these."""

    def ints(value: object) -> object:
        return mapped(value, bool, int) if not isinstance(value, Given) else value

    for place, value in enumerate(call.args):
        if any(isinstance(leaf, bool) for leaf in leaves(value)):
            yield replace(call, args=(*call.args[:place], ints(value), *call.args[place + 1 :]))
    for name, value in call.kwargs.items():
        if any(isinstance(leaf, bool) for leaf in leaves(value)):
            yield replace(call, kwargs={**call.kwargs, name: ints(value)})


def _bool_among_ints(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    later = [value[1:] for value in (*call.args, *call.kwargs.values()) if isinstance(value, (tuple, list))]
    return (
        mismatch.kind == "refused"
        and isinstance(ours.error, errors.ArgumentTypeError)
        and any(isinstance(leaf, bool) for leaf in leaves(later))
    )


def _bool_for_dim(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    unbiased = call.name in ("var", "std", "var_mean", "std_mean") and isinstance(call.kwargs.get("dim"), bool)
    return mismatch.kind == "accepted" and unbiased and "dim=bool" in _message(theirs.error)


def _sizes_of_unsafe_split(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    told = "unsafe_split(): argument 'split_size'" in _message(theirs.error) and "not tuple" in _message(theirs.error)
    return mismatch.kind in ("accepted", "exception") and told


def _batches_of_lstsq(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = "must be greater or equal to other.dim|The size of tensor a .* must match the size of tensor b"
    return mismatch.kind == "accepted" and call.name == "lstsq" and re.search(words, _message(theirs.error)) is not None


def _rank_of_lstsq(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind not in ("value", "gradient") or call.path != "linalg.lstsq" or not ours.results[2].values.size:
        return False
    # The rank that singular values say is polyad's, and not PyTorch's.
    rank = np.linalg.matrix_rank(call.givens()[0].values)
    return np.array_equal(ours.results[2].values, rank) and not np.array_equal(theirs.results[2].values, rank)


def _stands_for_nothing(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and re.search(r"(reduction|_mode) is -?\d+", _message(ours.error)) is not None


def _dropout_in_place(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    given = call.givens()
    nothing = bool(given) and (given[0].values.size == 0 or given[0].dtype.category < FLOATING)
    return mismatch.kind in ("refused", "exception") and call.name.endswith("dropout_") and nothing


def _out_of_narrow_copy(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("value", "written") and call.name == "narrow_copy" and call.form == "out"


LIMITS = frozenset({"zeta", "gammainc", "gammaincc", "igamma", "igammac", "polygamma"})


def _limit_of_gamma_functions(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind not in ("value", "written") or call.name not in LIMITS or mismatch.places is None:
        return False
    operands = [value for value in leaves(call.args) if isinstance(value, (Given, int, float))]
    values = [wide(one.values) if isinstance(one, Given) else np.asarray(float(one)) for one in operands]
    with np.errstate(all="ignore"):
        nothing = np.isnan(values[0])
        for one in values[1:]:
            nothing = nothing | np.isnan(one)
        if call.name in ("zeta", "polygamma"):
            nothing = nothing | np.isneginf(values[1])
        left, right = (wide(outcome.results[0].values) for outcome in (ours, theirs))
        told = (nothing & np.isnan(left)) | (np.isnan(right) & ~np.isnan(left))
    return bool(np.all(told | ~mismatch.places))


def _pole_of_polygamma(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind not in ("value", "written") or call.name != "polygamma" or mismatch.places is None:
        return False
    x, result = wide(call.givens()[0].values), wide(ours.results[0].values)
    if x.shape != mismatch.places.shape:
        return False
    poles = (x <= 0) & (x == np.floor(x)) & np.isinf(result)
    with np.errstate(all="ignore"):
        coarse = abs(result - wide(theirs.results[0].values)) <= COARSE["polygamma"] * abs(result)
    return bool(poles.any() and (poles | coarse)[mismatch.places].all())


def _means_of_integers(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    integers = all(given.dtype.category == INTEGER for given in call.givens())
    return mismatch.kind == "value" and call.name == "local_response_norm" and integers


def _zero_to_the_zero(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or call.name not in ("pow", "__pow__", "__rpow__") or mismatch.places is None:
        return False
    base, exponent = [one.values if isinstance(one, Given) else one for one in call.args[:2]]
    both = (np.asarray(base) == 0) & (np.asarray(exponent) == 0)
    return np.iscomplexobj(ours.results[0].values) and bool(
        np.broadcast_to(both, mismatch.places.shape)[mismatch.places].all()
    )


def _index_of_no_window(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or not call.name.startswith("max_pool") or not mismatch.text.startswith("result 1"):
        return False
    given = call.givens()[0]
    if given.dtype.category != INTEGER:
        return False
    largest, index = (one.values for one in ours.results)
    return bool((largest[index != theirs.results[1].values] == iinfo(given.dtype).min).all())


def _order_beside_repeated(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "strides" or len(call.givens()) < 2:
        return False
    shape = theirs.results[0].shape
    return 1 in shape and any(given.shape != shape for given in call.givens())


def _random_history(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("requires_grad", "gradient") and call.name in ("bernoulli", "binomial", "poisson")


def _conjugate_copy(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("sharing", "strides") and call.name in ("conj", "H", "mH", "adjoint", "conj_physical")


def _no_complex32(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("value", "dtype", "accepted", "refused", "gradient") and (
        "complex32" in str(mismatch)
        or "ComplexHalf" in str(mismatch)
        or "complex32" in str([getattr(one, "dtype", "") for one in theirs.results])
    )


DIFFERENCES = [
    Difference(
        "recurrent networks of other shapes, or complex",
        "are refused, where PyTorch computes with a part of the parameters, and some cells take complex numbers",
        _recurrent,
        Call(
            "gru_cell",
            tuple(contiguous(np.ones(shape) + 0j) for shape in ((1, 2), (1, 1), (3, 2), (3, 1))),
        ),
    ),
    Difference(
        "more dtypes",
        "PyTorch's CPU has no kernel for some dtypes; polyad computes where the result is defined",
        _no_kernel,
        Call("special.modified_bessel_i1", (contiguous(np.ones(2, np.float16)),)),
    ),
    Difference(
        "more gradients",
        "PyTorch has no derivative for some arguments; polyad has, since gradients are made of ops",
        _no_derivative,
        Call(
            "nn.functional.binary_cross_entropy",
            (contiguous(_floats(2) / 2), contiguous(_floats(2) / 2), contiguous(_floats(2))),
        ).with_gradients(),
    ),
    Difference(
        "gradients where PyTorch's backward pass fails",
        "what has a value has a gradient; finite differences check it in the conformance suite",
        _failed_backward,
        Call(
            "scatter", (contiguous(_floats(2, 3)), 0, contiguous(np.zeros((1, 3), np.int64)), contiguous(_floats(2, 3)))
        ).with_gradients(),
    ),
    Difference(
        "out= of more dtypes",
        "it is taken wherever there is an out=, and may be of a wider dtype, which PyTorch refuses in half of them",
        _more_out,
        Call("floor", (contiguous(_floats(2)),), {"out": contiguous(np.zeros(2))}, "out"),
    ),
    Difference(
        "out= that is resized",
        "it becomes row-major, whatever order the result would have had",
        _resized_out,
        Call("add", (transposed(_floats(2, 3)), 1), {"out": contiguous(np.zeros(0, np.float32))}, "out"),
    ),
    Difference(
        "operands of several dtypes",
        "they promote in every function; PyTorch refuses them in some",
        _mixed_dtypes,
        Call("matmul", (contiguous(_floats(2, 2)), contiguous(np.ones((2, 2))))),
    ),
    Difference(
        "numbers for tensors",
        "an elementwise function takes a number for either operand, and for both",
        _number_for_a_tensor,
        Call("maximum", (contiguous(_floats(2)), 1.0)),
    ),
    Difference(
        "keepdim without dim",
        "keeps all dimensions, with size 1",
        _dim_left_out,
        Call("sum", (contiguous(_floats(2)),), {"keepdim": True}),
    ),
    Difference(
        "an int for a tuple of ints",
        "it is taken as one of length 1 wherever it can mean nothing else",
        _int_for_ints,
        Call("flip", (contiguous(_floats(2)), 0)),
    ),
    Difference(
        "arguments of a wrong type",
        "always a TypeError that names the argument, where PyTorch fails on its way",
        _wrong_type,
        Call("nn.functional.dropout1d", ("text",)),
    ),
    Difference(
        "dtypes an op does not take",
        "always a RuntimeError that names the dtypes, where PyTorch raises by chance of the layer that notices",
        _dtype_refused,
        Call("blackman_window", (8,), {"dtype": complex128}),
    ),
    Difference(
        "a number outside the dtype",
        "raises, where PyTorch wraps it around or saturates, by op",
        _outside_the_dtype,
        Call("full_like", (contiguous(np.zeros(2, np.uint8)), -1)),
    ),
    Difference(
        "writing to an expanded tensor",
        "raises in every function that would write several values to one place; PyTorch lets some through",
        _expanded_target,
        Call("nan_to_num", (expanded(np.zeros(3, np.int64)),), form="in place"),
    ),
    Difference(
        "wrong arguments for an empty tensor",
        "are refused as for any other; PyTorch often returns before it looks at them",
        _nothing_to_compute,
        Call("roll", (contiguous(np.zeros(0)), 1, -3)),
    ),
    Difference(
        "layouts that PyTorch's kernels fail on",
        "any layout is taken by any function",
        _layouts_that_fail,
        Call("isin", (expanded(np.ones((3, 7))), expanded(np.ones((2, 2))))),
    ),
    Difference(
        "functions without a derivative",
        "asking for one raises NotImplementedError; PyTorch takes some of them for constants",
        _no_derivative_here,
        Call("special.airy_ai", (contiguous(_floats(2)),)).with_gradients(),
    ),
    Difference(
        "gradients that PyTorch loses to nan or infinity",
        "where 0 * inf or an overflow appears in PyTorch's formula; polyad's avoid that where there is a value",
        _nan_gradient,
        Call("logsumexp", (contiguous(np.full((2, 2), -np.inf)), 1)).with_gradients(),
    ),
    Difference(
        "random numbers have no history",
        "PyTorch gives the probabilities a gradient of zeros",
        _random_history,
        Call("bernoulli", (contiguous(_floats(2) / 2),)).with_gradients(),
    ),
    Difference(
        "the gradient of a constant",
        "zeros where the function is differentiable in name, as norm with p=0; PyTorch sometimes says none",
        _constant,
        Call("norm", (contiguous(_floats(2)), 0)).with_gradients(),
    ),
    Difference(
        "order in memory of factorizations, transforms, products and convolutions",
        "row-major, where PyTorch shows the order of the buffers of the library below",
        _order_in_memory,
        Call("fft.fft", (contiguous(np.ones((2, 3, 3))),), {"dim": 0}),
    ),
    Difference(
        "tensors without elements in more functions",
        "what is defined for them is computed; PyTorch's kernels refuse many",
        _more_empty,
        Call("fft.fft", (contiguous(np.zeros((0, 3))),)),
    ),
    Difference(
        "assertions",
        "a RuntimeError that names the arguments, where PyTorch fails an assertion or divides by zero",
        _assertions,
        Call(
            "nn.functional.group_norm",
            (contiguous(np.zeros((1, 0, 4))), 0, contiguous(np.zeros(0)), contiguous(np.zeros(0))),
        ),
    ),
    Difference(
        "the gradient of ctc_loss",
        "is that of the loss; PyTorch's is of log_softmax and loss together, whatever made the input",
        lambda call, mismatch, ours, theirs: mismatch.kind == "gradient" and call.name == "ctc_loss",
        Call(
            "nn.functional.ctc_loss",
            (
                contiguous(np.log(_floats(2, 1, 3) / 3)),
                contiguous(np.array([[1]])),
                contiguous(np.array([2])),
                contiguous(np.array([1])),
            ),
        ).with_gradients(),
    ),
    Difference(
        "losses of several dtypes",
        "all operands are promoted together; PyTorch promotes them in pairs, and rounds on the way",
        _mixed_losses,
        Call(
            "nn.functional.triplet_margin_loss",
            (
                contiguous(np.array([[-1.0, 0.0]], np.float16)),
                contiguous(np.array([[10000.0, 1.5]], np.float16)),
                contiguous(np.array([[2.0, 0.5]])),
            ),
        ),
    ),
    Difference(
        "gradients of operands of several dtypes",
        "are rounded once, at the end; some of PyTorch's formulas work in the coarser dtype",
        _mixed_gradient,
        Call(
            "atan2", (contiguous(np.linspace(1, 2, 7)), contiguous(np.linspace(1, 3, 7, dtype=np.float16)))
        ).with_gradients(),
    ),
    Difference(
        "a number for a tensor of weights",
        "is refused where a tensor is asked for",
        _number_for_a_weight,
        Call("nn.functional.multilabel_soft_margin_loss", (contiguous(_floats(2, 2)), contiguous(_floats(2, 2)), 1)),
    ),
    Difference(
        "the gradient of ldexp",
        "is 2**other, where PyTorch's is 0 for negative integers",
        _ldexp_gradient,
        Call("ldexp", (contiguous(_floats(2)), contiguous(np.array([-1, -2])))).with_gradients(),
    ),
    Difference(
        "the gradient of polar with a radius that is not positive",
        "is the derivative; PyTorch's has its sign turned, and is 0 for 0",
        _negative_radius,
        Call("polar", (contiguous(-_floats(2)), contiguous(_floats(2)))).with_gradients(),
    ),
    Difference(
        "gradients in fewer digits",
        "PyTorch's use numbers of float32, few terms or differences that cancel, in " + ", ".join(COARSE),
        _coarse_gradient,
        Call("digamma", (contiguous(np.array([1.5])),)).with_gradients(),
    ),
    Difference(
        "numbers that overflow on the way",
        "a sum of products, a power or an exponential may overflow in another step than PyTorch's",
        _overflow,
        Call("add", (contiguous(np.array([-np.inf])), contiguous(np.array([1e308]))), {"alpha": 3}),
    ),
    Difference(
        "the lower tail of ndtr",
        "has all its digits; PyTorch adds 1 to what is close to -1",
        _tail_of_normal,
        Call("special.ndtr", (contiguous(np.array([-6.0])),)),
    ),
    Difference(
        "the gradient of acosh on the lower side of its cut",
        "is that of the lower side, as the value is; PyTorch's is that of the upper",
        _below_the_cut,
        Call("acosh", (contiguous(np.array([complex(0.5, -0.0)])),)).with_gradients(),
    ),
    Difference(
        "the gradient of sinc of complex numbers near 0",
        "is -z * pi**2 / 3; the terms of PyTorch's cancel",
        _sinc_near_zero,
        Call("sinc", (contiguous(np.array([1e-10 + 1e-10j])),)).with_gradients(),
    ),
    Difference(
        "the gradient of a largest difference that several coordinates have",
        "is shared among them, as in amax; PyTorch gives each of them the whole",
        _tied_distances,
        Call("nn.functional.pdist", (contiguous(np.array([[0.0, 0.0], [1.0, 1.0]])),), {"p": np.inf}).with_gradients(),
    ),
    Difference(
        "the gradient of complex cholesky on the diagonal",
        "is real, as imaginary parts are not read there",
        _imaginary_diagonal,
        Call("linalg.cholesky", (contiguous(np.eye(2) + 0j),)).with_gradients(),
    ),
    Difference(
        "the gradient of cholesky_solve and cholesky_inverse in the triangle that is not read",
        "is zero; PyTorch's formula takes that triangle for zero, and gives it a gradient",
        _other_triangle,
        Call(
            "cholesky_solve", (contiguous(np.ones((2, 2))), contiguous(np.array([[2.0, 0.5], [0.5, 2.0]])))
        ).with_gradients(),
    ),
    Difference(
        "operands of too few dimensions",
        "a RuntimeError that tells the shape, where PyTorch looks for a dimension that is not there",
        _wrong_rank,
        Call("nn.functional.unfold", (contiguous(_floats(4, 4)), (2, 2))),
    ),
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
        "losses of shapes that broadcast",
        "raise, since a column against a row is a mistake",
        _losses,
        Call("nn.functional.kl_div", (contiguous(_floats(3, 1)), contiguous(_floats(3)))),
    ),
    Difference(
        "results that do not fit into out= or self",
        "raise in every function; PyTorch lets some cut off imaginary parts",
        _result_does_not_fit,
        Call(
            "logsumexp",
            (contiguous(np.ones((2, 3), np.complex64)), 1),
            {"out": contiguous(np.zeros(2, np.float32))},
            "out",
        ),
    ),
    Difference(
        "float_power_",
        "rounds to self's floating dtype, as every other in-place op does",
        _narrower_target,
        Call("float_power", (contiguous(_floats(2)), 2), form="in place"),
    ),
    Difference(
        "the gradient of the determinant of a singular matrix",
        "is the matrix of cofactors; PyTorch's is zero, or divides by a perturbed zero",
        _singular_determinant,
        Call("linalg.det", (contiguous(np.diag([3.0, 1.0, 0.0])),)).with_gradients(),
    ),
    Difference(
        "gcd of the smallest integer",
        "has no sign where the dtype can hold it",
        _sign_of_gcd,
        Call("gcd", (contiguous(np.array([-128], np.int8)), contiguous(np.array([96], np.int8)))),
    ),
    Difference(
        "corners",
        "; ".join(f"{name}: {what}" for name, (_, what) in CORNERS.items()),
        _corner,
        Call("fft.ifftshift", (contiguous(np.ones((), np.int64)),)),
    ),
    Difference(
        "arguments without meaning",
        "are refused: " + "; ".join(f"{name}: {what}" for name, what in MEANINGLESS.items()),
        _meaningless,
        Call("fft.rfftfreq", (-1,)),
    ),
    Difference(
        "which of several faults is told",
        "arguments are looked at in another order; a single fault has PyTorch's exception, which error cases check",
        _several_faults,
        Call("nn.functional.pad", (contiguous(_floats(2)), (1, 1, 1), "none")),
    ),
    Difference(
        "a bool for an int beside another fault",
        "arguments are looked at in another order; a bool alone is a TypeError in both",
        _bool_beside_another_fault,
        Call("chunk", (contiguous(np.ones(())), True)),
    ),
    Difference(
        "a bool among ints",
        "is refused wherever it stands; PyTorch looks at the first of a tuple",
        _bool_among_ints,
        Call("flip", (contiguous(_floats(2, 2)), (0, True))),
    ),
    Difference(
        "a bool for dim in var and std",
        "means unbiased, as a keyword, too",
        _bool_for_dim,
        Call("var", (contiguous(_floats(2)),), {"dim": False}),
    ),
    Difference(
        "sizes for unsafe_split",
        "are taken as in split, whose other name it is",
        _sizes_of_unsafe_split,
        Call("unsafe_split", (contiguous(_floats(3)), (1, 2))),
    ),
    Difference(
        "batches of lstsq",
        "broadcast as in all functions of matrices; PyTorch wants as many dimensions",
        _batches_of_lstsq,
        Call("linalg.lstsq", (contiguous(_floats(4, 3)), contiguous(_floats(2, 4, 2)))),
    ),
    Difference(
        "the rank that lstsq finds",
        "is that of its singular values; PyTorch's gelsy finds fewer beside columns of zeros than its own gelsd",
        _rank_of_lstsq,
        Call(
            "linalg.lstsq",
            (
                contiguous(
                    np.array(
                        [[4, 0, 0, 0, 2], [0, 0, 0, 0, 4], [0, 0, 0, 2, 0], [0, 0, 0, 4, 0], [0, 0, 2, 0, 0]],
                        np.float32,
                    )
                ),
                contiguous(_floats(5, 1)),
            ),
        ),
    ),
    Difference(
        "numbers that stand for no reduction and no mode",
        "PyTorch takes each for some",
        _stands_for_nothing,
        Call("kl_div", (contiguous(_floats(2)), contiguous(_floats(2)), 7)),
    ),
    Difference(
        "in-place dropout of integers and of nothing",
        "is refused where other dropout is, and where other writes are",
        _dropout_in_place,
        Call("alpha_dropout_", (contiguous(np.array([1, 2])), 1.0, True)),
    ),
    Difference(
        "narrow_copy(out=)",
        "PyTorch writes as if out had no gaps",
        _out_of_narrow_copy,
        Call(
            "narrow_copy",
            (contiguous(_floats(3, 4)), 0, 0, 2),
            {"out": transposed(_floats(2, 4))},
            form="out",
        ),
    ),
    Difference(
        "zeta, gammainc and polygamma of nan and infinity",
        "nan is not known to be any number, and a limit that exists is the value: as SciPy has most of them",
        _limit_of_gamma_functions,
        Call("special.zeta", (contiguous(np.array([2.0])), contiguous(np.array([np.inf])))),
    ),
    Difference(
        "polygamma at its poles",
        "is infinite; PyTorch divides by the sine of a rounded multiple of pi",
        _pole_of_polygamma,
        Call("polygamma", (1, contiguous(np.array([-2.0])))),
    ),
    Difference(
        "local_response_norm of integers",
        "takes means in floating point; PyTorch takes them in integers",
        _means_of_integers,
        Call("nn.functional.local_response_norm", (contiguous(np.array([[[1], [2], [3]]])), 3), {"alpha": 2.0}),
    ),
    Difference(
        "0 to the complex power 0",
        "is 1, as of real numbers; PyTorch's vector code says nan",
        _zero_to_the_zero,
        Call("pow", (contiguous(np.zeros(8, np.complex64)), contiguous(np.zeros(8, np.complex64)))),
    ),
    Difference(
        "the index of a window's largest where all are the smallest number of their dtype",
        "names one of them; PyTorch's channels-last kernel names an element outside of the window",
        _index_of_no_window,
        Call(
            "max_pool3d",
            (Given(np.zeros(120, np.uint8), (1, 1, 4, 5, 6), (120, 1, 30, 6, 1)), 2),
            {"stride": 2, "dilation": (2, 1, 2), "ceil_mode": True, "return_indices": True},
        ),
    ),
    Difference(
        "order in memory beside an operand that is repeated",
        "does not depend on the strides of dimensions of size 1",
        _order_beside_repeated,
        Call(
            "ge",
            (contiguous(np.ones((2, 2, 1, 1))), Given(np.ones(8), (2, 2, 2, 1), (1, 2, 4, 8))),
        ),
    ),
    Difference(
        "conj",
        "a copy, where PyTorch makes a view that conjugates later",
        _conjugate_copy,
        Call("conj", (contiguous(np.ones(2, np.complex64)),)),
    ),
    Difference(
        "no complex32",
        "float16 with a complex operand gives complex64",
        _no_complex32,
        Call("mul", (contiguous(np.ones(2, np.float16)), 1j)),
    ),
]
"""In order: the first that applies claims a mismatch."""


def deliberate(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> Difference | None:
    """The entry that claims *mismatch*."""
    return next((entry for entry in DIFFERENCES if entry.applies(call, mismatch, ours, theirs)), None)
