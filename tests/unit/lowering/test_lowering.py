"""An op's body as expressions: what they compute is what the body computes, and what cannot be lowered says why."""

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import polyad
from polyad.backend.registry import tensor_type
from polyad.codegen import Literal, Operand, Scalar, where
from polyad.dispatch.op import OPS, Op
from polyad.dispatch.plan import signature_of
from polyad.dispatch.promotion import promoted
from polyad.dispatch.structure import Pointwise, pointwise
from polyad.layout import broadcast_shapes
from polyad.lowering.kernels import LoweredKernel, lowered_kernel
from polyad.lowering.tensors import NotLowered, lower
from polyad.tensor import Tensor
from polyad_conformance.samples import families

from ..conformance.claims import recorded, signature

CPU = polyad.device("cpu")
F32 = tensor_type(polyad.float32, CPU, False)

NOT_LOWERED = {
    "complex", "polar",  # two halves of one number
    "copy_strided",  # only its strides differ from its operand's
    "gcd", "lcm",  # integers' remainders, which refuse zeros
    "isreal",  # an operand that is not read
    "nextafter",  # bits seen as an integer
}  # fmt: skip
"""Pointwise composites none of whose calls is lowered. It only ever gets shorter."""


class Interpreter:
    """Stands for a backend that runs generated code: evaluates expressions with the cpu's kernels, an op at a time."""

    info = SimpleNamespace(name="interpreter")

    def fused(self, device, what, expressions):
        return Interpreted(expressions)


class Interpreted:
    def __init__(self, expressions) -> None:
        self.expressions = expressions

    def __call__(self, arrays, numbers=()):
        shape = broadcast_shapes(*[array.shape for array in arrays])
        results = []
        for expression in self.expressions:
            value = self.value(expression, arrays, numbers, {})
            assert value.dtype is expression.dtype
            results.append(value.expand(shape).clone()._array)
        return tuple(results)

    def value(self, expression, arrays, numbers, known):
        if expression not in known:
            known[expression] = self.computed(expression, arrays, numbers, known)
        return known[expression]

    def computed(self, expression, arrays, numbers, known):
        if isinstance(expression, Operand):
            array = arrays[expression.position]
            return Tensor._of(array, tensor_type(expression.dtype, CPU, not array.ndim))
        if isinstance(expression, Scalar):
            return number(numbers[expression.position], expression.dtype)
        if isinstance(expression, Literal):
            return number(expression.value, expression.dtype)
        arguments = [self.value(part, arrays, numbers, known) for part in expression.arguments]
        if expression.op == "cast":
            return arguments[0].to(expression.dtype)
        return OPS[expression.op].call(*arguments)


def number(value, dtype):
    """*value* as a kernel has it: integers wrap."""
    whole = dtype.category < 2 and not isinstance(value, (float, complex))
    return polyad.tensor(value, dtype=polyad.int64).to(dtype) if whole else polyad.tensor(value, dtype=dtype)


@cache
def calls() -> dict[str, list]:
    """Calls of pointwise composites that samples come to, by op."""
    found: dict[str, dict] = {}
    for samples, _ in families().values():
        for sample in samples:
            for op, args in recorded(sample):
                if (
                    op.kind == "composite"
                    and isinstance(op.structure, Pointwise)
                    and op.module.startswith("polyad.ops")
                ):
                    found.setdefault(op.name, {}).setdefault(signature(op, args), args)
    return {name: list(each.values()) for name, each in found.items()}


def run(kernel, op, args):
    """The kernel's results, as NumPy arrays."""
    arrays = [value._array if isinstance(value, Tensor) else value for value in args[: len(op.operands)]]
    found = kernel(*arrays, *args[len(op.operands) :])
    return found if op.outputs else (found,)


def close(array, host) -> bool:
    """Equal, but that a composite inside of the body may be a kernel of the cpu's own, some roundings away."""
    if host.dtype.kind not in "fc":
        return np.array_equal(array, host)
    rounding = 8 * np.finfo(host.dtype).eps
    finite = np.abs(host[np.isfinite(host)])
    return np.allclose(array, host, rtol=rounding, atol=rounding * finite.max(initial=0), equal_nan=True)


def test_what_is_lowered_computes_what_the_body_computes() -> None:
    lowered, composed, wrong = set(), set(), []
    for name, several in calls().items():
        op = OPS[name]
        for args in several:
            kernel = LoweredKernel(op, signature_of(op, args), Interpreter())
            try:
                kernel.add_variant(args)
            except NotLowered:
                composed.add(name)
                continue
            lowered.add(name)
            with polyad.no_grad():
                wanted = op.body(*args)
            for array, result in zip(run(kernel, op, args), wanted if op.outputs else (wanted,), strict=True):
                if result.dtype.itemsize > 2 or not result.dtype.is_floating_point:  # halves are rounded once
                    host = result.numpy()
                    if array.dtype != host.dtype or not close(array, host):
                        wrong.append((signature(op, args), array, host))
    assert not wrong
    assert composed - lowered == NOT_LOWERED


def test_an_expression_is_the_formula() -> None:
    x, slope = Operand(0, polyad.float32), Scalar(0, polyad.float32)
    (found,) = lower(OPS["leaky_relu"], (F32,), [None, 0.1]).expressions
    assert found == where(x > 0, x, x * slope)
    (found,) = lower(OPS["deg2rad"], (F32,), [None]).expressions
    assert found == x * (math.pi / 180)


def declared(body):
    """An op of one tensor and two numbers, whose body is *body*."""

    def _trial(x: Tensor, a: float, b: float) -> Tensor:
        return body(x, a, b)

    return Op(_trial, "composite", promoted, pointwise, None, (), (), None)


X = polyad.tensor([1.0, -2.0])


@pytest.mark.parametrize(
    ("body", "calls", "variants"),
    [
        (lambda x, a, b: x * (a + 2 * b), [(1.0, 2.0), (3.0, 5.0)], 1),
        (lambda x, a, b: x * -a + abs(b) ** 2 - 1 / b, [(1.0, 2.0), (3.0, -5.0)], 1),
        (lambda x, a, b: x * a if a < b else x + b, [(1.0, 2.0), (3.0, 2.0), (0.0, 7.0), (7.0, 0.0)], 2),
        (lambda x, a, b: x * 2 if a else x + b, [(1.0, 2.0), (0.0, 3.0), (4.0, 5.0)], 2),
        (lambda x, a, b: x * math.sqrt(a) + b, [(4.0, 1.0), (4.0, 2.0), (9.0, 2.0)], 2),
        (lambda x, a, b: x + (a if isinstance(b, float) else 1), [(4.0, 1.0), (5.0, 2), (6.0, 2)], 2),
        (lambda x, a, b: x * (0.0 if a == 0 else a), [(0.0, 1.0), (math.nan, 1.0), (2.0, 1.0)], 2),
    ],
)
def test_numbers_are_arguments_and_what_depends_on_them_are_variants(body, calls, variants) -> None:
    op, kernel = declared(body), None
    for numbers in calls:
        kernel = kernel or LoweredKernel(op, (F32,), Interpreter())
        (found,) = run(kernel, op, (X, *numbers))
        np.testing.assert_array_equal(found, body(X, *numbers).numpy())
    assert sum(map(len, kernel._variants.values())) == variants


def test_beyond_a_few_variants_the_body_runs() -> None:
    op = declared(lambda x, a, b: x * math.sqrt(a))
    kernel = LoweredKernel(op, (F32,), Interpreter())
    for number in range(1, 30):
        (found,) = run(kernel, op, (X, float(number), 0.0))
        np.testing.assert_array_equal(found, (X * math.sqrt(number)).numpy())
    assert sum(map(len, kernel._variants.values())) == 8


def test_a_number_that_a_dtype_cannot_hold_is_the_bodys_business() -> None:
    op = declared(lambda x, a, b: polyad.where(x == 0, a, x))
    kernel = LoweredKernel(op, (tensor_type(polyad.uint8, CPU, False),), Interpreter())
    x = polyad.tensor([0, 1], dtype=polyad.uint8)
    assert run(kernel, op, (x, 7, 0))[0].tolist() == [7, 1]
    with pytest.raises(RuntimeError):
        run(kernel, op, (x, 300, 0))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda x, a, b: x.sum() * x, "no formula"),
        (lambda x, a, b: x * float(x.max()), "no formula"),
        (lambda x, a, b: x.flip(0), "no formula|view"),
        (lambda x, a, b: x.unsqueeze(0), "view"),
        (lambda x, a, b: x.clone().add_(1), "add_"),
        (lambda x, a, b: x if bool(x) else x + 1, "bool"),
        (lambda x, a, b: polyad.arange(12.0).reshape(3, 4) + x, "constants that differ"),
        (lambda x, a, b: polyad.ones(2, 3, 4) * x, "elements alone"),
        (lambda x, a, b: polyad.full((3, 4), 2.0), "elements alone|no expression"),
    ],
)
def test_what_cannot_be_lowered_says_why(body, reason) -> None:
    with pytest.raises(NotLowered, match=reason):
        lower(declared(body), (F32,), [None, 1.0, 2.0])


def test_the_line_that_stopped_it_is_named() -> None:
    types = (tensor_type(polyad.int32, CPU, False),) * 2
    with pytest.raises(NotLowered, match=r"refuses some elements of int32 \(ops/pointwise/divisors.py:\d+: .*fmod"):
        lower(OPS["gcd"], types, [None, None])


def test_a_backend_without_generated_code_runs_bodies() -> None:
    assert "lowered" not in str(polyad.explain("mish", X))
    assert lowered_kernel(OPS["mish"], (F32,), [None], X._type.backend) is None
