"""What spans ops, gone wrong: gradients, versions, fused kernels, promotion, random bits, training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import polyad
from polyad.dispatch.declared import Formula, ForwardRule
from polyad.dispatch.op import OPS
from polyad.dispatch.promotion import Typing
from polyad.tensor.storage import Storage
from polyad.transforms.batching import rules

from .saboteur import Saboteur, caught_by

if TYPE_CHECKING:
    import pytest


@caught_by("test_inplace_history", "mul")
@caught_by("test_inplace", "mul")
def in_place_forgets_the_version(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """An in-place write does not count, so that backward uses what was overwritten."""
    patch.setattr(Storage, "bump", lambda self, op, line: None)


def _spoil_formulas(patch: pytest.MonkeyPatch, op: str, spoil: Callable[[Any], Any]) -> None:
    def spoiled(formula: Formula) -> Formula:
        function = formula.function
        return formula._replace(function=lambda *args: spoil(function(*args)))

    patch.setattr(OPS[op], "formulas", tuple(map(spoiled, OPS[op].formulas)))


@caught_by("test_gradient", "mul")
def doubles_a_gradient(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A gradient is scaled by 2."""
    _spoil_formulas(patch, "mul", lambda gradient: gradient * 2)


@caught_by("test_gradient", "sub")
def loses_a_gradient(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """One operand has no gradient."""
    patch.setattr(OPS["sub"], "formulas", OPS["sub"].formulas[:1])


@caught_by("test_second_gradient", "mul")
def cuts_the_second_gradient(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A gradient does not know what it was computed from."""
    _spoil_formulas(patch, "mul", lambda gradient: gradient.detach())


@caught_by("test_second_gradient", "sub")
def takes_logarithms_of_what_comes_in(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A gradient is right everywhere, but has no derivative where what comes in is 0."""
    _spoil_formulas(patch, "sub", lambda gradient: gradient.abs().log().exp() * gradient.sgn())


@caught_by("test_forward", "exp")
def takes_a_curve_for_a_line(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The tangent of a result is the op of the tangent, as if the op were linear."""
    patch.setattr(OPS["exp"], "forward", ForwardRule("linear", (0,)))


@caught_by("test_forward_over_reverse", "mul")
def loses_tangents_in_gradients(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A gradient has no tangent."""
    _spoil_formulas(patch, "mul", lambda gradient: polyad.autograd.forward_ad.unpack_dual(gradient).primal)


def _reduces_the_batch(level: Any, op: Any, values: tuple[Any, ...]) -> Any:
    return op.call(*map(rules._inner, values))


@caught_by("test_batch_gradient", "mul")
@caught_by("test_batch", "sum")
def reduces_over_the_batch(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A batching rule does not count the batch among the dimensions."""
    patch.setitem(rules._found, OPS["sum"], (_reduces_the_batch, "own"))


@caught_by("check_training")
def trains_with_a_wrong_relu(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Half of a gradient is lost on the way, and a network learns slowly."""
    _spoil_formulas(patch, "relu", lambda gradient: gradient * 0.5)


@caught_by("test_override", "linear")
def fused_kernel_forgets_the_bias(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A fused kernel gives something else than its op's decomposition for some ranks."""
    backend.replace("linear", lambda honest: lambda a, weight, bias: honest(a, weight, None if a.ndim > 2 else bias))


@caught_by("test_override", "softmax")
def fused_kernel_computes_in_half(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A fused kernel has fewer digits than its op's decomposition."""
    backend.replace("softmax", lambda honest: lambda a, dim: honest(a, dim).astype(np.float16).astype(a.dtype))


@caught_by("check_promotion")
def promotes_to_the_left_operand(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The sum of an integer and a float tensor is an integer tensor."""
    honest = OPS["add"].dtype

    def left(types: Any, keyed: Any) -> Any:
        typing = honest(types, keyed)
        mixed = all(hasattr(entry, "dtype") for entry in types) and types[0].dtype.category < types[1].dtype.category
        return Typing(casts=(types[0].dtype,) * 2, outputs=(types[0].dtype,)) if mixed else typing

    patch.setattr(OPS["add"], "dtype", left)


@caught_by("test_values", "_philox_bits")
def repeats_random_words(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A random number generator repeats itself after eight words."""

    def make(honest: Any) -> Any:
        def kernel(shape: Any, *rest: Any) -> Any:
            words = honest(shape, *rest)
            flat = words.reshape(-1)
            flat[8:] = np.resize(flat[:8], flat[8:].shape)
            return words

        return kernel

    backend.replace("philox_bits", make)


@caught_by("test_values", "_philox_bits")
def begins_random_words_anew(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Each draw gives the words that the first one gave."""
    backend.replace("philox_bits", lambda honest: lambda shape, seed, offset, *rest: honest(shape, seed, 0, *rest))


@caught_by("test_values", "_philox_bits")
def draws_by_its_own_seed(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Random words are good, but other ones than everywhere else."""
    backend.replace("philox_bits", lambda honest: lambda shape, seed, *rest: honest(shape, seed ^ 1, *rest))
