"""Rules that hold for functions of all families."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from polyad import errors
from polyad.base.dtypes import FLOATING, INTEGER, complex128, uint8
from polyad_conformance.tolerance import eps, wide

from ..calls import Call, Given, contiguous, expanded, leaves, mapped, row_major, transposed
from ..libraries import TORCH
from ..outcomes import Mismatch, Outcome, Result, observe, targets
from .difference import Difference, floats, message, module, numbers


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
    return mismatch.kind == "accepted" and any(word in message(theirs.error) for word in words)


def _no_derivative(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = ("not differentiable", "derivative", "not support automatic differentiation")
    return mismatch.kind == "accepted" and any(word in message(theirs.error) for word in words)


def _failed_backward(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and ours.gradient_error is None and theirs.gradient_error is not None


def _more_out(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    # PyTorch tells of dtypes in many words, and calls them unsupported arguments where there is an overload.
    words = (
        "dtype|scalar.?type|type|not implemented for|non-boolean outputs|point output|unexpected keyword argument 'out'"
    )
    words += "|missing 1 required positional|invalid combination of arguments"
    words += "|only supports bool tensor for result|expects Long tensor out|not yet implemented for complex tensors"
    return mismatch.kind == "accepted" and call.form == "out" and re.search(words, message(theirs.error)) is not None


def _resized_out(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "strides" and call.form == "out" and any(given.shape == (0,) for given in call.givens())


def _mixed_dtypes(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    dtypes = {given.dtype for given in call.givens()}
    words = ("dtype", "scalar type", "same type", "scalar_type")
    return mismatch.kind == "accepted" and len(dtypes) > 1 and any(word in message(theirs.error) for word in words)


def _number_for_a_tensor(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind in ("accepted", "exception")
        and isinstance(theirs.error, (TypeError, AttributeError))
        and numbers(call)
        and re.search(
            r"must be Tensor, not |invalid combination of arguments|object has no attribute", str(theirs.error)
        )
        is not None
    )


def _dim_left_out(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    told = "invalid combination of arguments" in message(theirs.error)
    return mismatch.kind == "accepted" and told and "keepdim" in call.kwargs


def _int_for_ints(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("accepted", "exception") and "must be tuple of ints, not int" in message(theirs.error)


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
    return mismatch.kind == "refused" and "several elements of an expanded tensor" in message(ours.error)


def _is_empty(call: Call, theirs: Outcome) -> bool:
    return any(0 in given.shape for given in call.givens()) or any(
        isinstance(one, Result) and one.values.size <= 1 for one in theirs.results
    )


def _nothing_to_compute(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    checked = (errors.DTypeError, errors.IndexOutOfRange, errors.ArgumentError, errors.MissingKernel)
    if isinstance(ours.error, errors.ShapeError):
        nothing = any(0 in given.shape for given in call.givens()) and "the kernel failed" not in message(ours.error)
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
    return mismatch.kind == "accepted" and re.search(words, message(theirs.error)) is not None


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
    family = any(f".{family}" in module(call) for family in ROW_MAJOR["families"])
    power = call.name in ("pow", "__rpow__") and not all(isinstance(one, Given) for one in call.args)
    views = any(isinstance(one, Result) and one.shares is not None for one in (*ours.results, *theirs.results))
    return (
        mismatch.kind == "strides"
        and (family or power or call.name in ROW_MAJOR["functions"])
        and not (views and call.name == "__getitem__")
    )


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


def _result_does_not_fit(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = "out: its dtype cannot hold the result|the result is .*, which self .* cannot hold"
    return mismatch.kind == "refused" and re.search(words, message(ours.error)) is not None


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


def _random_history(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("requires_grad", "gradient") and call.name in ("bernoulli", "binomial", "poisson")


def _no_complex32(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("value", "dtype", "accepted", "refused", "gradient") and (
        "complex32" in str(mismatch)
        or "ComplexHalf" in str(mismatch)
        or "complex32" in str([getattr(one, "dtype", "") for one in theirs.results])
    )


DIFFERENCES = [
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
            (contiguous(floats(2) / 2), contiguous(floats(2) / 2), contiguous(floats(2))),
        ).with_gradients(),
    ),
    Difference(
        "gradients where PyTorch's backward pass fails",
        "what has a value has a gradient; finite differences check it in the conformance suite",
        _failed_backward,
        Call(
            "scatter", (contiguous(floats(2, 3)), 0, contiguous(np.zeros((1, 3), np.int64)), contiguous(floats(2, 3)))
        ).with_gradients(),
    ),
    Difference(
        "out= of more dtypes",
        "it is taken wherever there is an out=, and may be of a wider dtype, which PyTorch refuses in half of them",
        _more_out,
        Call("floor", (contiguous(floats(2)),), {"out": contiguous(np.zeros(2))}, "out"),
    ),
    Difference(
        "out= that is resized",
        "it becomes row-major, whatever order the result would have had",
        _resized_out,
        Call("add", (transposed(floats(2, 3)), 1), {"out": contiguous(np.zeros(0, np.float32))}, "out"),
    ),
    Difference(
        "operands of several dtypes",
        "they promote in every function; PyTorch refuses them in some",
        _mixed_dtypes,
        Call("matmul", (contiguous(floats(2, 2)), contiguous(np.ones((2, 2))))),
    ),
    Difference(
        "numbers for tensors",
        "an elementwise function takes a number for either operand, and for both",
        _number_for_a_tensor,
        Call("maximum", (contiguous(floats(2)), 1.0)),
    ),
    Difference(
        "keepdim without dim",
        "keeps all dimensions, with size 1",
        _dim_left_out,
        Call("sum", (contiguous(floats(2)),), {"keepdim": True}),
    ),
    Difference(
        "an int for a tuple of ints",
        "it is taken as one of length 1 wherever it can mean nothing else",
        _int_for_ints,
        Call("flip", (contiguous(floats(2)), 0)),
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
        Call("clamp", (contiguous(np.zeros(2, np.uint8)), -1)),
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
        Call("special.airy_ai", (contiguous(floats(2)),)).with_gradients(),
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
        Call("bernoulli", (contiguous(floats(2) / 2),)).with_gradients(),
    ),
    Difference(
        "the gradient of a constant",
        "zeros where the function is differentiable in name, as norm with p=0; PyTorch sometimes says none",
        _constant,
        Call("norm", (contiguous(floats(2)), 0)).with_gradients(),
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
        "gradients of operands of several dtypes",
        "are rounded once, at the end; some of PyTorch's formulas work in the coarser dtype",
        _mixed_gradient,
        Call(
            "atan2", (contiguous(np.linspace(1, 2, 7)), contiguous(np.linspace(1, 3, 7, dtype=np.float16)))
        ).with_gradients(),
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
        Call("nn.functional.pad", (contiguous(floats(2)), (1, 1, 1), "none")),
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
        Call("flip", (contiguous(floats(2, 2)), (0, True))),
    ),
    Difference(
        "no complex32",
        "float16 with a complex operand gives complex64",
        _no_complex32,
        Call("mul", (contiguous(np.ones(2, np.float16)), 1j)),
    ),
]
