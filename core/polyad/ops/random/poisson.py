"""Counts of random events: `poisson` and `binomial`.

Small means are inverted: a uniform number for each element, and as many terms of the distribution as it takes to reach
it. Large ones are drawn by transformed rejection (W. Hörmann, "The transformed rejection method for generating Poisson
random variables", Insurance: Mathematics and Economics 12, 1993, algorithm PTRS; "The generation of binomial random
variates", J. Stat. Comput. Simul. 46, 1993, algorithm BTRS): every round draws two uniform numbers for each element,
and an element takes the first round that accepts. So what an element gets follows from the generator's state and its
place alone.
"""

from __future__ import annotations

from collections.abc import Callable

from ...base.dtypes import float64
from ...base.shapes_and_strides import Shape
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import first
from ...dispatch.structure import random, row_major
from ...errors import ShapeError
from ...random.generator import Generator, generator_or_default
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..reductions.any_all import anywhere, check_all
from ..shaping.reshape import broadcast_tensors
from .sampling import _floating, _uniform

SMALL = 10.0
"""Means below it are inverted."""


def _draw(shape: Shape, generator: Generator, like: Tensor) -> Tensor:
    return _uniform(shape, 0.0, 1.0, generator, float64, like.device)


def _inverted(u: Tensor, term: Tensor, ratio: Callable[[int], Tensor], most: Tensor) -> Tensor:
    """The smallest k at which the distribution function passes *u*: *term* is P(0), ``ratio(k)`` P(k) / P(k - 1)."""
    count, total, k = u * 0, term, 0
    below = (u >= total) & (count < most)
    while anywhere(below):
        k += 1
        count = count + below
        term = term * ratio(k)
        total = total + term
        # Where rounding keeps the total below u for ever, the terms vanish before.
        below = below & (u >= total) & (count < most) & (term > 0)
    return count


def _accepted(attempt: Callable[[], tuple[Tensor, Tensor]], wanted: Tensor) -> Tensor:
    """The first accepted proposal of each wanted element, 0 elsewhere."""
    result = wanted.to(float64) * 0
    while anywhere(wanted):
        proposal, accept = attempt()
        taken = wanted & accept
        result = result.where(~taken, proposal)
        wanted = wanted & ~taken
    return result


@composite(structure=random, strides=row_major, method=False)
def _poisson(input: Tensor, generator: Generator) -> Tensor:
    """The numbers of events whose means *input* holds."""
    shape = tuple(input.shape)
    rate = input.to(float64)
    small = rate < SMALL
    low = rate.where(small, 0.0)
    result = _inverted(_draw(shape, generator, input), (-low).exp(), lambda k: low / k, low * 0 + float("inf"))
    if anywhere(~small):
        high = rate.where(~small, SMALL)
        b = high.sqrt() * 2.53 + 0.931
        a = b * 0.02483 - 0.059
        inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
        quick = 0.9277 - 3.6224 / (b - 2)
        log_rate = high.log()

        def attempt() -> tuple[Tensor, Tensor]:
            u, v = _draw(shape, generator, input) - 0.5, _draw(shape, generator, input)
            us = 0.5 - u.abs()
            k = ((2 * a / us + b) * u + high + 0.43).floor()
            surely = (us >= 0.07) & (v <= quick)
            never = (k < 0) | ((us < 0.013) & (v > us))
            fits = v.log() + inverse_alpha.log() - (a / (us * us) + b).log() <= k * log_rate - high - (k + 1).lgamma()
            return k, surely | (~never & fits)

        large = _accepted(attempt, ~small)
        result = result.where(small, large)
    return result.to(input.dtype)


gradient(_poisson, input=lambda g: g * 0)


@function(method=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of events with the means that *input* (0 or more) holds; shape and dtype are input's, the gradient is 0.

    Raises RuntimeError for dtypes that are not floating point and for negative or infinite means.

    >>> import polyad
    >>> polyad.poisson(polyad.tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
    type_ = check_tensor(input, "poisson", "input")._type
    _floating("poisson", type_.dtype)
    rate = input.detach()
    check_all(
        (rate >= 0) & (rate < float("inf")),
        lambda position, value: ShapeError("poisson: means must be 0 or more", fix="pass finite means"),
        input=input,
    )
    return _poisson(input, generator_or_default("poisson", generator))


@composite(dtype=first, structure=random, strides=row_major, method=False)
def _binomial(count: Tensor, prob: Tensor, generator: Generator) -> Tensor:
    """The numbers of successes in *count* trials of probability *prob*."""
    shape = tuple(count.shape)
    n, given = count.to(float64), prob.to(float64)
    p = given.minimum(1 - given)
    small = n * p < SMALL
    few, rare = n.where(small, 0.0), p.where(small, 0.0)
    odds = rare / (1 - rare)
    u = _draw(shape, generator, count)
    result = _inverted(u, (few * (-rare).log1p()).exp(), lambda k: odds * (few - k + 1) / k, few)
    if anywhere(~small):
        # Where the mean is small, 40 and 0.5 replace the operands, so that no logarithm of 0 is taken.
        m, q = n.where(~small, 40.0), p.where(~small, 0.5)
        spread = (m * q * (1 - q)).sqrt()
        b = spread * 2.53 + 1.15
        a = b * 0.0248 - 0.0873 + q * 0.01
        c = m * q + 0.5
        quick = 0.92 - 4.2 / b
        alpha = (2.83 + 5.1 / b) * spread
        mode = ((m + 1) * q).floor()
        log_odds = (q / (1 - q)).log()
        at_mode = (mode + 1).lgamma() + (m - mode + 1).lgamma()

        def attempt() -> tuple[Tensor, Tensor]:
            u, v = _draw(shape, generator, count) - 0.5, _draw(shape, generator, count)
            us = 0.5 - u.abs()
            k = ((2 * a / us + b) * u + c).floor()
            inside = (k >= 0) & (k <= m)
            place = k.where(inside, 0.0)
            surely = (us >= 0.07) & (v <= quick)
            height = (v * alpha / (a / (us * us) + b)).log()
            fits = height <= at_mode - (place + 1).lgamma() - (m - place + 1).lgamma() + (place - mode) * log_odds
            return place, inside & (surely | fits)

        large = _accepted(attempt, ~small)
        result = result.where(small, large)
    return result.where(given <= 0.5, n - result).to(count.dtype)


gradient(_binomial, count=lambda g: g * 0, prob=lambda g: g * 0)


@function(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of successes in *count* trials with probabilities *prob*; the two broadcast, the dtype is count's.

    Raises RuntimeError for dtypes that are not floating point, negative counts and probabilities outside [0, 1].

    >>> import polyad
    >>> polyad.binomial(polyad.tensor([3.0, 5.0]), polyad.tensor([0.0, 1.0]))
    tensor([0., 5.])
    """
    for name, value in (("count", count), ("prob", prob)):
        _floating("binomial", check_tensor(value, "binomial", name)._type.dtype)
    if count.dtype is not prob.dtype:
        raise ShapeError(
            f"binomial: count and prob differ in dtype: {count.dtype} and {prob.dtype}",
            operands={"count": count, "prob": prob},
            fix="convert prob to the dtype of count",
        )
    n, p = count.detach(), prob.detach()
    check_all(
        (n >= 0) & (n < float("inf")),
        lambda position, value: ShapeError("binomial: counts must be 0 or more", fix="pass finite counts"),
        count=count,
    )
    check_all(
        (p >= 0) & (p <= 1),
        lambda position, value: ShapeError("binomial: probabilities must be in [0, 1]", fix="clamp them"),
        prob=prob,
    )
    count, prob = broadcast_tensors(count, prob)
    return _binomial(count, prob, generator_or_default("binomial", generator))
