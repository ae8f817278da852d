"""What differs in ``polyad.ops.pointwise`` and ``polyad.ops.special``."""

from __future__ import annotations

import re

import numpy as np

from polyad.base.dtypes import finfo
from polyad_conformance.tolerance import wide

from ..calls import Call, Given, contiguous, leaves
from ..outcomes import Mismatch, Outcome
from .difference import Difference, floats, message


def _ldexp_gradient(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and call.name == "ldexp"


def _negative_radius(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "gradient" or call.name != "polar" or len(call.args) < 2 or not isinstance(call.args[0], Given):
        return False
    return not (wide(call.args[0].values) > 0).all()


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


def _narrower_target(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "accepted"
        and call.form == "in place"
        and re.search("requires dtype|Bad in-place call", message(theirs.error)) is not None
    )


def _sign_of_gcd(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or call.name not in ("gcd", "lcm"):
        return False
    return all(np.array_equal(abs(wide(a.values)), abs(wide(b.values))) for a, b in zip(ours.results, theirs.results))


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


def _zero_to_the_zero(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or call.name not in ("pow", "__pow__", "__rpow__") or mismatch.places is None:
        return False
    base, exponent = [one.values if isinstance(one, Given) else one for one in call.args[:2]]
    both = (np.asarray(base) == 0) & (np.asarray(exponent) == 0)
    return np.iscomplexobj(ours.results[0].values) and bool(
        np.broadcast_to(both, mismatch.places.shape)[mismatch.places].all()
    )


def _order_beside_repeated(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "strides" or len(call.givens()) < 2:
        return False
    shape = theirs.results[0].shape
    return 1 in shape and any(given.shape != shape for given in call.givens())


def _conjugate_copy(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("sharing", "strides") and call.name in ("conj", "H", "mH", "adjoint", "conj_physical")


DIFFERENCES = [
    Difference(
        "the gradient of ldexp",
        "is 2**other, where PyTorch's is 0 for negative integers",
        _ldexp_gradient,
        Call("ldexp", (contiguous(floats(2)), contiguous(np.array([-1, -2])))).with_gradients(),
    ),
    Difference(
        "the gradient of polar with a radius that is not positive",
        "is the derivative; PyTorch's has its sign turned, and is 0 for 0",
        _negative_radius,
        Call("polar", (contiguous(-floats(2)), contiguous(floats(2)))).with_gradients(),
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
        "float_power_",
        "rounds to self's floating dtype, as every other in-place op does",
        _narrower_target,
        Call("float_power", (contiguous(floats(2)), 2), form="in place"),
    ),
    Difference(
        "gcd of the smallest integer",
        "has no sign where the dtype can hold it",
        _sign_of_gcd,
        Call("gcd", (contiguous(np.array([-128], np.int8)), contiguous(np.array([96], np.int8)))),
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
        "0 to the complex power 0",
        "is 1, as of real numbers; PyTorch's vector code says nan",
        _zero_to_the_zero,
        Call("pow", (contiguous(np.zeros(8, np.complex64)), contiguous(np.zeros(8, np.complex64)))),
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
]
