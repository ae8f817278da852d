"""The suite is tested by sabotage: a backend wrong in exactly one way has to be caught,
and by a check that looks for that.

The honest saboteur, wrong in no way, passes the same checks on the same samples: otherwise nothing below would mean
anything. Run with ``-s`` to see which check caught what.

To add a sabotage, write a function that spoils the backend (or, for what core does, patches core) and add it to
`SABOTAGES`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import polyad
from polyad.autograd.node import Formula
from polyad.backend import API_VERSION, BackendInfo, Capabilities, Kernel, registry
from polyad.dispatch.forward import ForwardRule
from polyad.dispatch.op import OPS
from polyad.dtypes import bfloat16
from polyad.interop.numpy import numpy_dtype
from polyad.storage import Storage
from polyad_conformance import test_ops, test_overrides
from polyad_conformance.calls import FellBack, Target, UnsupportedByDeclaration
from polyad_conformance.checks import devices, storage, training
from polyad_conformance.samples import families
from polyad_numpy.backend import NumpyBackend

NAME = "saboteur"


class Saboteur(NumpyBackend):
    """The NumPy backend under another name, to be spoiled by setting attributes or replacing kernels."""

    def __init__(self) -> None:
        self.info = BackendInfo(name=NAME, api_version=API_VERSION, capabilities=Capabilities(), indexed=False)
        self.table = dict(super().kernels)

    @property
    def kernels(self) -> Any:
        return self.table

    def replace(self, op: str, make: Callable[[Callable[..., Any]], Callable[..., Any]], *, out: bool = False) -> None:
        """Put ``make(honest)`` in the place of the kernel of *op*; *honest* is the kernel made for the signature."""
        kernel = self.as_kernel(op)
        assert kernel is not None, f"the NumPy backend has no kernel for {op}"
        honest = kernel.specialize or (lambda types: kernel.function)

        def specialize(types: Any) -> Any:
            made = honest(types)
            return None if made is None else make(made)

        self.table[op] = Kernel(make(kernel.function), dtypes=kernel.dtypes, out=out, specialize=specialize)


# ------------------------------------------------------------------------------------------------ the ways to be wrong


def nothing(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    pass


def ignores_strides(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def dense(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or not array.size or 0 in array.strides:
            return array
        strides = [int(np.prod(array.shape[d + 1 :])) * array.itemsize for d in range(array.ndim)]
        return np.lib.stride_tricks.as_strided(array, array.shape, strides)

    backend.replace("sub", lambda honest: lambda a, b: honest(dense(a), dense(b)))


def reads_its_own_dtype_alone(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    honest = NumpyBackend.as_strided

    def converting(self: Any, root: Any, dtype: Any, *layout: Any) -> Any:
        return honest(self, root.astype(numpy_dtype(dtype), copy=False), dtype, *layout)

    patch.setattr(Saboteur, "as_strided", converting)


def ignores_offsets(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    honest = NumpyBackend.as_strided
    patch.setattr(
        Saboteur,
        "as_strided",
        lambda self, root, dtype, shape, strides, offset: honest(self, root, dtype, shape, strides, 0),
    )


def drops_nan_in_maximum(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace(
        "maximum", lambda honest: lambda a, b: np.where(np.isnan(honest(a, b)), np.fmax(a, b), honest(a, b))
    )


def truncates_casts(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def cast(array: Any, dtype: Any) -> Any:
        if dtype is bfloat16 and array.dtype == np.float32:
            bits = (np.ascontiguousarray(array).view(np.uint32) >> 16).astype(np.uint16)
            return bits.view(numpy_dtype(bfloat16)).reshape(array.shape)
        with np.errstate(all="ignore"):
            return (array.real if array.dtype.kind == "c" and not dtype.is_complex else array).astype(
                numpy_dtype(dtype)
            )

    backend.table["cast"] = cast


def rounds_casts_to_integers(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        to_integer = target.dtype.kind in "iu" and source.dtype.kind == "f"
        honest(self, target, np.rint(source) if to_integer else source)

    patch.setattr(Saboteur, "copy", copy)


def forgets_the_tail(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            result = honest(a)
            if result.size % 4 and result.size > 4:
                result.reshape(-1)[-1] = 0
            return result

        return kernel

    backend.replace("exp", make)


def wrong_result_dtype(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace("sum", lambda honest: lambda *args: honest(*args).astype(np.float64))


def adds_up_in_half(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, keepdim: bool) -> Any:
            if a.dtype != np.float16 or len(dims) != 1 or keepdim or not a.shape[dims[0]]:
                return honest(a, dims, keepdim)
            return np.asarray(np.take(np.cumsum(a, dims[0], np.float16), -1, dims[0]))

        return kernel

    backend.replace("sum", make)


def adds_half_of_a_long_row(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace("sum", lambda honest: lambda a, dims, keepdim: honest(a[..., :64] if a.ndim else a, dims, keepdim))


def divides_towards_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace(
        "floor_divide", lambda honest: lambda a, b: np.asarray(np.trunc(np.divide(a, b))).astype(honest(a, b).dtype)
    )


def lets_integers_saturate(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            result = honest(a, b)
            if result.dtype != np.uint8:
                return result
            return np.clip(np.asarray(a, np.int64) - np.asarray(b, np.int64), 0, 255).astype(np.uint8)

        return kernel

    backend.replace("sub", make)


def writes_its_input(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            result = honest(a)
            if a.shape == result.shape and a.flags.writeable and a.dtype == result.dtype:
                a[...] = result
            return result

        return kernel

    backend.replace("neg", make)


def writes_its_input_before_it_fails(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, *flags: Any) -> Any:
            try:
                return honest(a, b, *flags)
            except Exception:
                a[...] = 0
                raise

        return kernel

    backend.replace("gemm", make)


def returns_its_input(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace("abs", lambda honest: lambda a: a if a.dtype == np.uint8 else honest(a))


def copies_overlapping_memory_forwards(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    honest = NumpyBackend.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        if target.ndim == 1 and target.shape == source.shape and target.dtype == source.dtype:
            for i in range(target.shape[0]):
                target[i] = source[i]
        else:
            honest(self, target, source)

    patch.setattr(Saboteur, "copy", copy)


def shares_host_memory(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Saboteur, "from_host", lambda self, data, dtype, device: np.ascontiguousarray(data).reshape(np.shape(data))
    )


def fills_the_gaps(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def fill(self: Any, target: Any, value: Any) -> None:
        target.fill(value)
        if target.ndim == 2 and target.shape[0] > 1 and target.strides[0] > target.shape[1] * target.itemsize:
            row = np.lib.stride_tricks.as_strided(target, (target.shape[1] + 1,), (target.strides[1],))
            row.fill(value)

    patch.setattr(Saboteur, "fill", fill)


def allocates_one_buffer_twice(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    pool: dict[Any, Any] = {}
    honest = NumpyBackend.empty

    def empty(self: Any, shape: Any, dtype: Any, device: Any) -> Any:
        return pool.setdefault((shape, dtype), honest(self, shape, dtype, device))

    patch.setattr(Saboteur, "empty", empty)


def shares_a_scratch_buffer_between_threads(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    scratch = np.zeros(257, np.float32)

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            if np.shape(a) != (257,):
                return honest(a, b)
            scratch[:] = a
            time.sleep(0.0005)  # lets another thread in
            return honest(scratch, b)

        return kernel

    backend.replace("add", make)


def writes_outside_of_out(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, out: Any = None) -> Any:
            result = honest(a, b)
            if out is None:
                return result
            out[...] = result
            if out.ndim == 2 and out.size and out.strides[1] > out.itemsize:
                np.lib.stride_tricks.as_strided(out, (2,), (out.itemsize,))[1] = 0
            return out

        return kernel

    backend.replace("mul", make, out=True)


def fused_kernel_forgets_the_bias(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace("linear", lambda honest: lambda a, weight, bias: honest(a, weight, None if a.ndim > 2 else bias))


def has_no_kernel(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    del backend.table["tanh"]


def warns(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            import warnings

            warnings.warn("divide by zero encountered in log", RuntimeWarning, stacklevel=1)
            return honest(a)

        return kernel

    backend.replace("sqrt", make)


def gives_the_wrong_imaginary_part(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace("conj", lambda honest: lambda a: a.copy())


def repeats_random_words(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(shape: Any, *rest: Any) -> Any:
            words = honest(shape, *rest)
            flat = words.reshape(-1)
            flat[8:] = np.resize(flat[:8], flat[8:].shape)
            return words

        return kernel

    backend.replace("philox_bits", make)


def scatter_add_overwrites(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def kernel(array: Any, index: Any, source: Any, dim: int) -> Any:
        made = array.copy()
        place = [np.broadcast_to(grid, index.shape) for grid in np.ogrid[tuple(map(slice, index.shape))]]
        place[dim] = index
        made[tuple(place)] = array[tuple(place)] + source[tuple(map(slice, index.shape))]
        return made

    backend.table["scatter_add"] = kernel


def means_stay_in_float32(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace(
        "mean", lambda honest: lambda a, *rest: honest(a, *rest).astype(np.float32 if a.dtype.itemsize < 4 else a.dtype)
    )


def sorts_equal_elements_in_any_order(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def kernel(a: Any, dim: int, descending: bool) -> Any:
        values, places = backend_sort(a, dim, descending)
        if a.ndim and a.shape[dim] > 1:
            same = np.take(values, [0], dim) == np.take(values, [1], dim)
            first, second = np.take(places, [0], dim), np.take(places, [1], dim)
            places = np.concatenate(
                [np.where(same, second, first), np.where(same, first, second), np.delete(places, [0, 1], dim)], dim
            )
        return values, places

    backend_sort = NumpyBackend().as_kernel("sort").function  # type: ignore[union-attr]
    backend.table["sort"] = kernel


def takes_the_last_of_equal_extremes(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: Any, keepdim: bool) -> Any:
            if dim is None or not a.ndim or not a.size:
                return honest(a, dim, keepdim)
            return a.shape[dim] - 1 - honest(np.flip(a, dim), dim, keepdim)

        return kernel

    backend.replace("argmax", make)


def pads_pooling_with_zeros(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    backend.replace(
        "max_pool_with_indices",
        lambda honest: lambda a, *rest: (lambda pair: (np.maximum(pair[0], 0), pair[1]))(honest(a, *rest)),
    )


def softmax_without_subtracting_the_maximum(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    def kernel(a: Any, dim: int) -> Any:
        with np.errstate(all="ignore"):
            powers = np.exp(a)
            return (powers / powers.sum(dim, keepdims=True)).astype(a.dtype)

    backend.table["softmax"] = kernel


def in_place_forgets_the_version(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Storage, "bump", lambda self, op, line: None)


def _spoil_formulas(patch: pytest.MonkeyPatch, op: str, spoil: Callable[[Any], Any]) -> None:
    def spoiled(formula: Formula) -> Formula:
        function = formula.function
        return formula._replace(function=lambda *args: spoil(function(*args)))

    patch.setattr(OPS[op], "formulas", tuple(map(spoiled, OPS[op].formulas)))


def doubles_a_gradient(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    _spoil_formulas(patch, "mul", lambda gradient: gradient * 2)


def cuts_the_second_gradient(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    _spoil_formulas(patch, "mul", lambda gradient: gradient.detach())


def forgets_a_tangent(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OPS["mul"], "forward", ForwardRule("multilinear", (0,)))


def takes_sgn_for_holomorphic(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OPS["sgn"], "forward", ForwardRule("elementwise"))


def trains_with_a_wrong_relu(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    _spoil_formulas(patch, "relu", lambda gradient: gradient * 0.5)


# ------------------------------------------------------------------------------------------------ catching them


@dataclass(frozen=True)
class Sabotage:
    """A way to be wrong: what spoils the backend, the ops whose samples show it, and a check that has to catch it."""

    spoil: Callable[[Saboteur, pytest.MonkeyPatch], None]
    ops: tuple[str, ...]
    caught_by: str


SABOTAGES = [
    Sabotage(ignores_strides, ("sub",), "test_values"),
    Sabotage(ignores_offsets, ("sub",), "test_values"),
    Sabotage(ignores_offsets, (), "check_as_strided"),
    Sabotage(reads_its_own_dtype_alone, (), "check_as_strided"),
    Sabotage(drops_nan_in_maximum, ("maximum",), "test_special"),
    Sabotage(truncates_casts, (), "check_casts"),
    Sabotage(rounds_casts_to_integers, (), "check_casts"),
    Sabotage(forgets_the_tail, ("exp",), "test_values"),
    Sabotage(wrong_result_dtype, ("sum",), "test_values"),
    Sabotage(adds_up_in_half, ("sum",), "test_values"),
    Sabotage(adds_half_of_a_long_row, ("sum",), "test_values"),
    Sabotage(divides_towards_zero, ("floor_divide",), "test_values"),
    Sabotage(lets_integers_saturate, ("sub",), "test_values"),
    Sabotage(writes_its_input, ("neg",), "test_values"),
    Sabotage(writes_its_input_before_it_fails, ("matmul",), "test_error"),
    Sabotage(returns_its_input, ("abs",), "test_values"),
    Sabotage(copies_overlapping_memory_forwards, (), "check_overlap"),
    Sabotage(shares_host_memory, (), "check_round_trip"),
    Sabotage(fills_the_gaps, (), "check_as_strided"),
    Sabotage(allocates_one_buffer_twice, (), "check_empty"),
    Sabotage(shares_a_scratch_buffer_between_threads, (), "check_threads"),
    Sabotage(writes_outside_of_out, ("mul",), "test_inplace"),
    Sabotage(fused_kernel_forgets_the_bias, ("linear",), "test_override"),
    Sabotage(has_no_kernel, ("tanh",), "fallback"),
    Sabotage(warns, ("sqrt",), "test_values"),
    Sabotage(gives_the_wrong_imaginary_part, ("matmul",), "test_gradient"),
    Sabotage(repeats_random_words, ("_philox_bits",), "test_values"),
    Sabotage(scatter_add_overwrites, ("scatter_add",), "test_values"),
    Sabotage(means_stay_in_float32, ("mean",), "test_values"),
    Sabotage(sorts_equal_elements_in_any_order, ("sort",), "test_values"),
    Sabotage(takes_the_last_of_equal_extremes, ("argmax",), "test_values"),
    Sabotage(pads_pooling_with_zeros, ("nn.functional.max_pool2d",), "test_values"),
    Sabotage(softmax_without_subtracting_the_maximum, ("softmax",), "test_values"),
    Sabotage(in_place_forgets_the_version, ("mul",), "test_inplace"),
    Sabotage(in_place_forgets_the_version, ("mul",), "test_inplace_history"),
    Sabotage(doubles_a_gradient, ("mul",), "test_gradient"),
    Sabotage(cuts_the_second_gradient, ("mul",), "test_second_gradient"),
    Sabotage(forgets_a_tangent, ("mul",), "test_forward"),
    Sabotage(takes_sgn_for_holomorphic, ("sgn",), "test_forward"),
    Sabotage(trains_with_a_wrong_relu, (), "check_training"),
]


def caught(ops: tuple[str, ...]) -> dict[str, str]:
    """The checks that fail for the registered saboteur on the samples of *ops* (of tier 0 and as a whole if none),
    with their words.
    """
    found: dict[str, str] = {}

    def attempt(name: str, *args: Any) -> None:
        check, *rest = args
        target = Target(NAME)
        try:
            check(*rest, target)
            target.assert_no_fallback()
        except UnsupportedByDeclaration:
            pass
        except FellBack as error:
            found.setdefault("fallback", str(error))
        except Exception as error:
            found.setdefault(name, f"{type(error).__name__}: {error}")

    if not ops:
        for check in storage.DTYPE_CHECKS:
            for dtype in sorted(Target(NAME).dtypes, key=lambda dtype: dtype.name):
                attempt(check.__name__, check, dtype)
        for check in (*storage.DEVICE_CHECKS, training.check_training):
            attempt(check.__name__, check)
        return found
    tests = {
        name: test
        for module in (test_ops, test_overrides)
        for name, test in vars(module).items()
        if hasattr(test, "polyad_dtypes")
    }
    samples = [sample for listed, _ in families().values() for sample in listed if sample.op in ops]
    assert samples, f"there are no samples of {ops}"
    for name, test in tests.items():
        for sample in samples:
            for dtype in test.polyad_dtypes(sample):
                attempt(name, test, sample, dtype)
    for case in (case for _, listed in families().values() for case in listed if case.op in ops):
        attempt("test_error", test_ops.test_error, case)
    return found


@pytest.fixture
def saboteur(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Registers a saboteur; what it patched is undone at the end."""
    backend = Saboteur()
    with registry.register(NAME, backend):
        yield backend


@pytest.mark.parametrize(
    "ops", sorted({sabotage.ops for sabotage in SABOTAGES}), ids=lambda ops: ",".join(ops) or "tier 0"
)
def test_the_honest_saboteur_passes(ops: tuple[str, ...], saboteur: Saboteur) -> None:
    assert caught(ops) == {}


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: f"{sabotage.spoil.__name__}-{sabotage.caught_by}")
def test_sabotage_is_caught(sabotage: Sabotage, saboteur: Saboteur, monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage.spoil(saboteur, monkeypatch)
    found = caught(sabotage.ops)
    monkeypatch.undo()
    for name, words in found.items():
        print(f"{sabotage.spoil.__name__}: caught by {name}: {words.splitlines()[0]}")
    assert sabotage.caught_by in found, (
        f"{sabotage.spoil.__name__} was caught by {sorted(found) or 'nothing'}, expected {sabotage.caught_by}"
    )


@pytest.mark.parametrize("check", [devices.check_mixed_devices, devices.check_transfer])
def test_checks_of_two_devices_pass_where_there_are_two(check: Any, saboteur: Saboteur) -> None:
    check(Target(NAME))


def test_a_transfer_that_loses_strides_is_caught(saboteur: Saboteur, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Saboteur.from_host
    forget = lambda data: np.ascontiguousarray(np.asarray(data).T).reshape(data.shape)  # noqa: E731
    monkeypatch.setattr(
        Saboteur, "from_host", lambda self, data, dtype, device: honest(self, forget(data), dtype, device)
    )
    with pytest.raises(AssertionError, match="transposed"):
        devices.check_transfer(Target(NAME))


def test_a_sabotaged_backend_is_taken_back() -> None:
    assert NAME not in registry.names()
    with pytest.raises(polyad.errors.BackendNotFound):
        polyad.ones(2, device=NAME)
