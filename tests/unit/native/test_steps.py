"""Steps of optimizers over whole groups: the bits of NumPy's kernels, whatever the layout and the number of threads."""

import numpy as np
import pytest

import polyad
from polyad import optim
from polyad.devices import registry
from polyad.dispatch.op import op_of
from polyad.ops.optim.adam import _adam_step
from polyad_native import compiler
from polyad_native.steps import STEPS, step

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

SHAPES = [(5,), (1000,), (33, 77), (300, 700), (1,), (0,), (4, 3, 8, 8), (2, 3, 5)]
OPTIONS = {
    "plain": ("sgd_step", (0.1, 0.0, False)),
    "plain, decayed": ("sgd_step", (0.1, 0.03, True)),
    "momentum": ("sgd_momentum_step", (0.1, 0.9, 0.0, 0.0, False, False)),
    "damped momentum": ("sgd_momentum_step", (0.1, 0.9, 0.3, 0.01, False, True)),
    "nesterov": ("sgd_momentum_step", (0.1, 0.9, 0.0, 0.01, True, False)),
    "adam": ("adam_step", (1e-3, 0.9, 0.999, 1e-8, 0.0, False, False)),
    "adam, decayed": ("adam_step", (1e-3, 0.9, 0.999, 1e-8, 0.1, False, True)),
    "adamw": ("adam_step", (1e-3, 0.9, 0.999, 1e-8, 0.01, True, False)),
    "adam without memory": ("adam_step", (1e-3, 0.0, 0.0, 1e-8, 0.0, False, False)),
    "amsgrad": ("amsgrad_step", (1e-3, 0.9, 0.999, 1e-8, 0.01, True, True)),
}
KEPT = {"sgd_step": 0, "sgd_momentum_step": 1, "adam_step": 2, "amsgrad_step": 3}


@pytest.fixture
def threads():
    before = polyad.get_num_threads()
    yield polyad.set_num_threads
    polyad.set_num_threads(before)


def rows_of(op, dtype, counts):
    random = np.random.default_rng(7)
    rows = []
    for number, shape in enumerate(SHAPES):
        arrays = [random.standard_normal(shape).astype(dtype) for _ in range(2 + KEPT[op])]
        arrays[3:] = [np.abs(array) for array in arrays[3:]]
        if arrays[0].size > 3:
            arrays[1].flat[:3] = np.nan, np.inf, 1e-40
        if len(shape) == 2:  # all turned over alike, and one of them otherwise
            arrays = [np.asfortranarray(array) for array in arrays]
            arrays[1] = np.ascontiguousarray(arrays[1]) if number % 2 else arrays[1]
        if len(shape) == 3:
            arrays[0] = np.repeat(arrays[0], 2, axis=2)[:, :, ::2]
        if op.startswith("a"):
            arrays.append(np.array(number // 2, counts))
        rows.append(tuple(arrays))
    return rows


def copies(rows):
    return [tuple([array.copy(order="K") for array in row]) for row in rows]


def many(op, rows):
    kernel = registry.get("cpu").as_kernel(op)
    types = tuple(polyad.tensor(array)._type for array in rows[1])
    made = step(op).many(types)
    assert made is not None
    return kernel.function, made


@pytest.mark.parametrize("counts", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OPTIONS)
def test_the_bits_are_those_of_single_steps(threads, name, dtype, counts) -> None:
    op, params = OPTIONS[name]
    rows = rows_of(op, dtype, counts)
    single, group = many(op, rows)
    wanted = copies(rows)
    for row in wanted:
        written = (row[0], *row[2:])
        single(*row, *params, out=written if len(written) > 1 else written[0])
    for number in (1, 2, 5):
        threads(number)
        found = copies(rows)
        gradients = [row[1].copy() for row in found]
        assert group(found, params)
        for got, right, gradient in zip(found, wanted, gradients, strict=True):
            np.testing.assert_array_equal(got[1], gradient)
            for ours, theirs in zip(got, right, strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_parameters_in_the_same_memory_are_all_stepped(threads) -> None:
    threads(5)
    shared = np.ones(200_000, np.float32)
    grads = [np.full(200_000, 1.0, np.float32), np.full(200_000, 2.0, np.float32)]
    rows = [(shared, grads[0]), (shared, grads[1]), (shared[1:], grads[0][1:])]
    assert many("sgd_step", [rows[0], rows[0]])[1](rows, (0.125, 0.0, False))
    np.testing.assert_array_equal(shared[:3], [0.625, 0.5, 0.5])
    assert (shared[1:] == 0.5).all()


def test_shapes_that_do_not_fit_are_left_before_anything_is_written() -> None:
    rows = [
        (np.ones(20_000, np.float32), np.ones(20_000, np.float32)),
        (np.ones(4, np.float32), np.ones(5, np.float32)),
    ]
    assert not many("sgd_step", rows)[1](rows, (0.5, 0.0, False))
    assert (rows[0][0] == 1).all()


@pytest.mark.parametrize("op", STEPS)
def test_half_types_and_mixed_types_are_left_to_others(op) -> None:
    for dtypes in ((polyad.float16, polyad.float16), (polyad.float32, polyad.float64)):
        tensors = [polyad.zeros(3, dtype=dtypes[place == 1]) for place in range(2 + KEPT[op])]
        tensors += [polyad.zeros(())] if op.startswith("a") else []
        assert step(op).many(tuple(tensor._type for tensor in tensors)) is None


def test_an_optimizer_gives_its_group_to_one_call(monkeypatch) -> None:
    calls = []

    def taking(rows, params):
        calls.append(len(rows))
        for row in rows:
            row[0][...] = 7
        return len(calls) < 2

    params = [polyad.ones(3).requires_grad_() for _ in range(4)]
    for param in params:
        param.grad = polyad.ones(3)
    optimizer = optim.Adam(params)
    optimizer.step()
    (plan,) = [plan for types, plan in op_of(_adam_step).plans.items() if types[0] is params[0]._type]
    monkeypatch.setattr(plan, "many", taking)
    versions = [param._version for param in params]
    optimizer.step()
    assert calls == [4]
    assert [param.tolist() for param in params] == [[7.0] * 3] * 4
    assert [param._version for param in params] == [version + 1 for version in versions]
    optimizer.step()  # refused: the rows are computed by themselves
    assert calls == [4, 4]
    assert all(param.tolist() != [7.0] * 3 for param in params)
