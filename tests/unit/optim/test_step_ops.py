"""The fused steps against their decompositions into other ops, and what they promise about memory."""

import math
import random

import pytest

import polyad
from polyad.dispatch.op import op_of
from polyad.ops.optim.adam import _adam_step, _amsgrad_step
from polyad.ops.optim.sgd import _sgd_momentum_step, _sgd_step

NAMES = ("param", "grad", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")

CASES = {
    "sgd": (_sgd_step, 2, (0.1, 0.0, False)),
    "sgd decay maximize": (_sgd_step, 2, (0.1, 0.3, True)),
    "momentum": (_sgd_momentum_step, 3, (0.1, 0.9, 0.0, 0.0, False, False)),
    "momentum dampening decay": (_sgd_momentum_step, 3, (0.1, 0.9, 0.2, 0.3, False, True)),
    "nesterov": (_sgd_momentum_step, 3, (0.1, 0.9, 0.0, 0.3, True, False)),
    "adam": (_adam_step, 4, (0.1, 0.9, 0.999, 1e-8, 0.0, False, False)),
    "adam decay maximize": (_adam_step, 4, (0.1, 0.9, 0.999, 1e-3, 0.3, False, True)),
    "adamw": (_adam_step, 4, (0.1, 0.9, 0.999, 1e-8, 0.3, True, False)),
    "adam without memory": (_adam_step, 4, (0.1, 0.0, 0.0, 1e-8, 0.0, False, False)),
    "amsgrad": (_amsgrad_step, 5, (0.1, 0.9, 0.999, 1e-8, 0.0, False, False)),
    "amsgrad decoupled": (_amsgrad_step, 5, (0.1, 0.5, 0.6, 1e-8, 0.3, True, True)),
}

# At most twenty roundings, of terms up to eight times as large as the result.
ROUNDINGS = 20 * 8


def operands(count, dtype, shape=(3, 5), step=3.0):
    draw = random.Random(0)

    def tensor(low):
        values = [draw.uniform(low, 1.0) for _ in range(math.prod(shape))]
        return polyad.tensor(values, dtype=dtype).reshape(*shape)

    made = [tensor(0.0 if name.endswith("sq") else -1.0) for name in NAMES[:count]]
    return made if count < 4 else [*made, polyad.tensor(step)]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64])
def test_kernel_agrees_with_the_decomposition(case, dtype):
    declared, count, params = CASES[case]
    values = operands(count, dtype)
    fused = as_tuple(declared(*values, *params))
    plain = as_tuple(op_of(declared).body(*values, *params))
    eps = polyad.finfo(dtype).eps
    assert len(fused) == len(plain)
    for one, other in zip(fused, plain, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.reshape(-1).tolist() == pytest.approx(
            other.reshape(-1).tolist(), rel=ROUNDINGS * eps, abs=ROUNDINGS * eps
        )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [polyad.float16, polyad.bfloat16])
def test_half_precision_is_near_float32(case, dtype):
    declared, count, params = CASES[case]
    if params[-4:-3] == (1e-8,):
        params = (*params[:-4], 1e-3, *params[-3:])  # 1e-8 is 0 in float16, as in PyTorch
    halves = operands(count, dtype)
    wide = [value.to(polyad.float32) for value in halves]
    for one, other in zip(as_tuple(declared(*halves, *params)), as_tuple(declared(*wide, *params)), strict=True):
        assert one.dtype == (dtype if one.ndim else polyad.float32)
        assert one.reshape(-1).tolist() == pytest.approx(
            other.reshape(-1).tolist(), rel=ROUNDINGS * polyad.finfo(dtype).eps, abs=20 * polyad.finfo(dtype).eps
        )


@pytest.mark.parametrize("case", CASES)
def test_operands_are_left_alone(case):
    declared, count, params = CASES[case]
    values = operands(count, polyad.float32)
    before = [value.tolist() for value in values]
    declared(*values, *params)
    assert [value.tolist() for value in values] == before


@pytest.mark.parametrize("case", CASES)
def test_strides_do_not_matter(case):
    declared, count, params = CASES[case]
    values = operands(count, polyad.float32)
    strided = [value if value.ndim == 0 else value.t().contiguous().t() for value in values]
    for one, other in zip(as_tuple(declared(*values, *params)), as_tuple(declared(*strided, *params)), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("case", CASES)
def test_shapes_that_do_not_agree(case):
    declared, count, params = CASES[case]
    values = operands(count, polyad.float32)
    values[1] = polyad.zeros(2)
    with pytest.raises(RuntimeError, match=r"param \(3, 5\) and grad \(2,\) must have one shape"):
        declared(*values, *params)


def test_integers_cannot_be_trained():
    with pytest.raises(RuntimeError, match="param is int64"):
        _sgd_step(polyad.tensor([1]), polyad.tensor([1]), 0.1, 0.0, False)


def test_first_step_of_adam_is_the_learning_rate():
    values = [polyad.tensor([1.0]), polyad.tensor([1e-3]), polyad.zeros(1), polyad.zeros(1), polyad.tensor(0.0)]
    for step in (_adam_step, op_of(_adam_step).body):
        new = step(*values, 0.25, 0.9, 0.999, 1e-12, 0.0, False, False)[0]
        assert new.item() == pytest.approx(0.75, rel=1e-6)
