"""Generated row-wise kernels against NumPy's, over all patterns of memory, in every dialect that can run here."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyad
from polyad.codegen import Expression, Operand, RowValue, Scalar, Stage, apply, cast

from .compiled import run_rowwise, targets

RNG = np.random.default_rng(0)
EPS = 2.0**-24


@dataclass
class Case:
    """Row-wise work: its parts, from one dtype, and what NumPy makes of wide arrays (elements, then rows)."""

    build: Callable[[polyad.dtype], tuple[list[Stage], list[Expression], list[Expression]]]
    arrays: int
    expected: Callable[..., list[np.ndarray]]
    numbers: bool = False  # takes the number of places and an epsilon
    slack: float = 1.0  # roundings, in units of those of a sum


def _softmax(dtype: polyad.dtype, log: bool = False) -> Any:
    x = _wide(Operand(0, dtype))
    top, total = RowValue(0, x.dtype), RowValue(1, x.dtype)
    power = apply("exp", x - top)
    stages = [Stage(x, "amax", x.dtype), Stage(power, "sum", x.dtype)]
    return stages, [cast(x - top - apply("log", total) if log else power / total, dtype)], []


def _logsumexp(dtype: polyad.dtype) -> Any:
    stages, _, _ = _softmax(dtype)
    top, total = RowValue(0, stages[0].dtype), RowValue(1, stages[0].dtype)
    return stages, [], [cast(apply("log", total) + top, dtype)]


def _layer_norm(dtype: polyad.dtype) -> Any:
    x, weight, bias = (_wide(Operand(n, dtype)) for n in range(3))
    count, eps = Scalar(0, x.dtype), Scalar(1, x.dtype)
    mean, var = RowValue(1, x.dtype), RowValue(3, x.dtype)
    far = x - mean
    stages = [
        Stage(x, "sum", x.dtype),
        Stage(RowValue(0, x.dtype) / count, None, x.dtype),
        Stage(far * far, "sum", x.dtype),
        Stage(RowValue(2, x.dtype) / count, None, x.dtype),
    ]
    scale = 1 / apply("sqrt", var + eps)
    return stages, [cast(far * scale * weight + bias, dtype)], [mean, var]


def _layer_norm_backward(dtype: polyad.dtype) -> Any:
    """The input's gradient, from the output's, the input, the weight, and mean and scale as arrays."""
    grad, x, weight, mean, scale = (_wide(Operand(n, dtype)) for n in range(5))
    count = Scalar(0, x.dtype)
    unit = (x - mean) * scale
    inner = grad * weight
    stages = [Stage(inner, "sum", x.dtype), Stage(inner * unit, "sum", x.dtype)]
    first, second = RowValue(0, x.dtype), RowValue(1, x.dtype)
    return stages, [cast((inner - first / count - unit * (second / count)) * scale, dtype)], []


def _variance(dtype: polyad.dtype) -> Any:
    x, count = _wide(Operand(0, dtype)), Scalar(0, _wide(Operand(0, dtype)).dtype)
    far = x - RowValue(0, x.dtype) / count
    stages = [Stage(x, "sum", x.dtype), Stage(far * far, "sum", x.dtype)]
    return stages, [], [cast(RowValue(1, x.dtype) / count, dtype)]


def _wide(x: Expression) -> Expression:
    return cast(x, polyad.float32) if x.dtype.itemsize == 2 else x


def _softmax_of(x: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    power = np.exp(x - x.max(dims, keepdims=True))
    return power / power.sum(dims, keepdims=True)


def _log_sum(x: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    top = x.max(dims, keepdims=True)
    return top + np.log(np.exp(x - top).sum(dims, keepdims=True))


def _normalised(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dims: tuple[int, ...]) -> list[np.ndarray]:
    mean, var = x.mean(dims, keepdims=True), x.var(dims, keepdims=True)
    return [(x - mean) / np.sqrt(var + 1e-5) * weight + bias, mean, var]


def _normalised_backward(grad: Any, x: Any, weight: Any, mean: Any, scale: Any, dims: tuple[int, ...]) -> list[Any]:
    unit, inner = (x - mean) * scale, grad * weight
    first, second = inner.mean(dims, keepdims=True), (inner * unit).mean(dims, keepdims=True)
    return [(inner - first - unit * second) * scale]


CASES = {
    "softmax": Case(_softmax, 1, lambda x, dims: [_softmax_of(x, dims)]),
    "log_softmax": Case(lambda d: _softmax(d, log=True), 1, lambda x, dims: [x - _log_sum(x, dims)]),
    "logsumexp": Case(_logsumexp, 1, lambda x, dims: [_log_sum(x, dims)]),
    "layer_norm": Case(_layer_norm, 3, _normalised, numbers=True),
    "layer_norm_backward": Case(_layer_norm_backward, 5, _normalised_backward, numbers=True),
    "variance": Case(_variance, 1, lambda x, dims: [x.var(dims, keepdims=True)], numbers=True),
}


def _check(case: Case, arrays: list[np.ndarray], dims: tuple[int, ...], target: Any, folder: Path, **how: Any) -> None:
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    places = math.prod(shape[dim] for dim in dims)
    stages, elements, rows = case.build(getattr(polyad, arrays[0].dtype.name))
    numbers = (places, 1e-5) if any(isinstance(leaf, Scalar) for leaf in _leaves(stages, elements, rows)) else ()
    numbers = numbers[: len({leaf for leaf in _leaves(stages, elements, rows) if isinstance(leaf, Scalar)})]
    got = run_rowwise(stages, elements, rows, arrays, dims, target, folder, numbers, **how)
    with np.errstate(all="ignore"):
        expected = case.expected(*(array.astype(np.float64) for array in arrays), dims)
    unit = np.finfo(arrays[0].dtype).eps
    for have, want in zip(got, expected, strict=True):
        assert have.shape == want.shape
        # Rounding of a sum of so many terms in segments, and of the ten or so operations around it, on numbers of a
        # size that does not exceed ten.
        bound = unit * (20 + min(places, 1024) / 8) * (np.abs(want) + 1)
        assert np.all(np.abs(have - want) <= bound), np.max(np.abs(have - want) / bound)


def _leaves(*parts: Any) -> set[Expression]:
    from polyad.codegen.expression import leaves_of

    stages, elements, rows = parts
    return set(leaves_of(*(stage.expression for stage in stages), *elements, *rows))


def _arrays(name: str, shape: tuple[int, ...], dims: tuple[int, ...], dtype: Any = np.float32) -> list[np.ndarray]:
    """Operands of the case *name*: weights have the shape of a row, means and scales a value a row."""
    row = tuple(size if dim in dims else 1 for dim, size in enumerate(shape))
    kept = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    x = [RNG.standard_normal(shape).astype(dtype)]
    if name == "layer_norm":
        x += [RNG.standard_normal(row).astype(dtype) for _ in range(2)]
    elif name == "layer_norm_backward":
        x += [RNG.standard_normal(each).astype(dtype) for each in (shape, row, kept, kept)]
    return x


SHAPES = [
    ((37,), (0,)),
    ((5, 33), (1,)),
    ((5, 33), (0,)),
    ((7, 803), (1,)),
    ((200, 130), (0,)),
    ((64, 67), (1,)),
    ((3, 4, 5, 6), (0, 2)),
    ((3, 4, 5, 6), (1, 3)),
    ((8, 6, 11, 13), (0, 2, 3)),
    ((2, 20000), (1,)),
    ((2300, 1), (1,)),
]


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("name", CASES)
def test_stages_and_what_reads_them(target, name: str, tmp_path: Path) -> None:
    for shape, dims in SHAPES:
        _check(CASES[name], _arrays(name, shape, dims), dims, target, tmp_path)
