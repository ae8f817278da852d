"""Errors of public functions that are no ops, and numbers where other things stand for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest

import polyad
from polyad.dispatch.arguments import explaining
from polyad.errors import ArgumentError, ArgumentTypeError, OptionError, PolyadError
from polyad.utils.checkpoint import checkpoint_sequential
from polyad.utils.data import ConcatDataset, RandomSampler, random_split


@explaining
def apply(function: Callable[[int], int], numbers: Iterable[int], times: int = 1) -> list[int]:
    return [function(number) * times for number in numbers]


WRONG: dict[str, Callable[[], object]] = {
    "grad: outputs is int": lambda: polyad.autograd.grad(1, 2),
    "backward: tensors is float": lambda: polyad.autograd.backward(1.0),
    "increment_version: tensor is int": lambda: polyad.autograd.graph.increment_version(1),
    "stack_module_state: models is int": lambda: polyad.func.stack_module_state(1),
    r"stack_module_state: models\[0\] is str": lambda: polyad.func.stack_module_state(["a"]),
    "grad: int cannot be called": lambda: polyad.func.grad(1)(polyad.ones(())),
    "jacfwd: int cannot be called": lambda: polyad.func.jacfwd(1),
    "checkpoint_sequential: functions is int": lambda: checkpoint_sequential(1, 1, 1),
    "ConcatDataset: datasets is int": lambda: ConcatDataset(1),
    "RandomSampler: data_source is int": lambda: RandomSampler(1),
    "random_split: dataset is int": lambda: random_split(1, [1]),
    "xavier_normal_: gain is None": lambda: polyad.nn.init.xavier_normal_(polyad.ones(2, 2), None),
    "Unflatten: unflattened_size is int": lambda: polyad.nn.Unflatten(0, 1),
}


@pytest.mark.parametrize("words", WRONG)
def test_the_argument_that_does_not_fit_is_named(words: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentError), match=words) as caught:
        WRONG[words]()
    assert "\n    fix " in str(caught.value)
    assert "report a defect" not in str(caught.value)


def test_what_a_users_function_raises_passes() -> None:
    def users(number: int) -> int:
        return [][number]  # type: ignore[no-any-return]

    with pytest.raises(IndexError) as caught:
        apply(users, [1])
    assert not isinstance(caught.value, PolyadError)


def test_a_wrong_number_of_arguments_is_told_by_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument") as caught:
        apply(abs)  # type: ignore[call-arg]
    assert not isinstance(caught.value, PolyadError)


def test_in_place_forms_take_no_out() -> None:
    x, other = polyad.tensor([1, 2]), polyad.zeros(2)
    with pytest.raises(ArgumentTypeError, match="sub_: got an unexpected keyword argument 'out'"):
        x.sub_(1, out=other)
    assert x.tolist() == [1, 2]
    assert other.tolist() == [0, 0]


@pytest.mark.parametrize("alpha", [float("nan"), float("inf"), np.float32("nan"), polyad.tensor(float("nan"))])
@pytest.mark.parametrize("name", ["addmm", "addcmul", "hardtanh", "pad"])
def test_integer_tensors_take_no_nan(name: str, alpha: float) -> None:
    x = polyad.ones(2, 2, dtype=polyad.int64)
    calls = {
        "addmm": lambda: polyad.addmm(x, x, x, alpha=alpha),
        "addcmul": lambda: polyad.addcmul(x, x, x, value=alpha),
        "hardtanh": lambda: polyad.nn.functional.hardtanh(x, -1, alpha),
        "pad": lambda: polyad.nn.functional.pad(x, (1, 1), value=alpha),
    }
    with pytest.raises(OptionError, match="which no integer tensor can hold"):
        calls[name]()


def test_numbers_of_other_classes_are_numbers() -> None:
    assert polyad.arange(Fraction(1, 2), 3).tolist() == [0.5, 1.5, 2.5]
    assert polyad.arange(np.int64(3)).dtype is polyad.int64
    assert polyad.ones(2).add(polyad.ones(2), alpha=Fraction(1, 2)).tolist() == [1.5, 1.5]


@pytest.mark.parametrize("dtype", [polyad.float32, polyad.bfloat16, polyad.float64])
def test_a_number_of_too_many_bits_is_not_said_to_need_memory(dtype: polyad.dtype) -> None:
    x = polyad.ones(2, dtype=dtype)
    for call in (lambda: x + 10**400, lambda: x.fill_(10**400), lambda: polyad.full((2,), 10**400, dtype=dtype)):
        with pytest.raises(RuntimeError, match=r"range|bits") as caught:
            call()
        assert not isinstance(caught.value, MemoryError)


def test_a_result_that_is_a_view_of_a_temporary_is_a_tensor_of_its_own() -> None:
    from polyad_fake.backend import FakeBackend

    from polyad.devices import registry

    with polyad.backends.register("fake", FakeBackend()):
        x = polyad.tensor([1.0, -1.0, 2.0], device=registry.resolve_device("fake"))
        for leaf in (x, x.clone().requires_grad_()):
            source = leaf * 1
            chosen = source[source > 0]
            assert chosen._base is None
            assert chosen.add_(1).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: polyad.nn.LayerNorm(True),
        lambda: random_split([], polyad.Tensor),
        lambda: polyad.ones(3).map_(polyad.ones(2, 3), max),
        lambda: polyad.utils.data.default_collate(polyad.Tensor),
        lambda: polyad.utils.data.default_collate([polyad.ones(1), 1]),
        lambda: polyad.zeros(2).masked_fill_(polyad.tensor([True, False]), np.complex64(1j)),
        lambda: polyad.zeros(2).index_fill_(0, polyad.tensor([0]), np.complex64(1j)),
        lambda: polyad.FloatStorage(polyad.empty(2**20, 0)),
        lambda: polyad.FloatStorage(polyad.ones(2, 2)),
        lambda: polyad.nn.functional.avg_pool1d(polyad.ones(1, 1, 4), 2**62, ceil_mode=True),
        lambda: polyad.nn.functional.avg_pool3d(polyad.ones(1, 1, 4, 4, 4), 2**31, ceil_mode=True),
        lambda: polyad.nn.functional.max_pool2d(polyad.ones(1, 1, 4, 4), 2**62, ceil_mode=True),
    ],
)
def test_what_no_one_means_is_refused_at_once(call) -> None:
    with pytest.raises((TypeError, RuntimeError)) as raised:
        call()
    assert "\n    fix " in str(raised.value)
    assert "report a defect" not in str(raised.value)
