"""An op's body as expressions: what they compute is what the body computes, and what cannot be lowered says why."""

import contextlib
import math
from functools import cache

import numpy as np
import pytest

import polyad
from polyad.backend.runtime import Runtime
from polyad.base.shapes_and_strides import Layout, broadcast_shapes
from polyad.codegen import Literal, Operand, Scalar, where
from polyad.codegen.expression import leaves_of
from polyad.devices import registry
from polyad.devices.registry import tensor_type
from polyad.dispatch.op import OPS, Op
from polyad.dispatch.plan import signature_of
from polyad.dispatch.promotion import promoted
from polyad.dispatch.structure import Opaque, Pointwise, Reduction, Rowwise, pointwise
from polyad.lowering.kernels import LoweredKernel
from polyad.lowering.tensors import NotLowered, lower
from polyad.tensor import Tensor
from polyad_conformance.samples import families

from ..conformance.claims import recorded, signature

CPU = polyad.device("cpu")
F32 = tensor_type(polyad.float32, CPU, False)

NOT_LOWERED = {
    "complex", "polar",  # two halves of one number
    "counted_index",  # reads whether an index is wrong
    "copy_strided",  # only its strides differ from its operand's
    "gcd", "lcm",  # integers' remainders, which refuse zeros
    "isreal",  # an operand that is not read
    "nextafter",  # bits seen as an integer
}  # fmt: skip
"""Pointwise composites none of whose calls is lowered. It gets no longer without a reason."""


class Host(Runtime):
    """Knows the layouts of NumPy arrays; compiles nothing."""

    def __init__(self) -> None:
        super().__init__(registry.get("cpu"), CPU)

    def compile(self, source, what):
        raise AssertionError("expressions are interpreted")

    def launcher(self, kernel, instances, geometry):
        raise AssertionError("expressions are interpreted")

    def empty(self, dtype, shape, steps):
        raise AssertionError("expressions are interpreted")

    def layout(self, array):
        return Layout(array.shape, tuple(step // array.itemsize for step in array.strides), 0)

    def same_memory(self, first, second):
        return bool(np.may_share_memory(first, second))


class Interpreted:
    """A lowered body evaluated with the cpu's kernels, an op at a time."""

    def __init__(self, loops, any_layout) -> None:
        self.loops, self.any_layout = loops, any_layout

    def __call__(self, arrays, numbers=()):
        return self.elementwise(arrays, numbers) if self.any_layout else self.each_loop(arrays, numbers)

    def elementwise(self, arrays, numbers):
        (loop,) = self.loops.loops
        shape = broadcast_shapes(*[array.shape for array in arrays])
        tensors = [Tensor._of(a, registry.tensor_type(dtype_of(a), CPU, not a.ndim)) for a in arrays]
        known = {Operand(at, tensor.dtype): tensor for at, tensor in enumerate(tensors)}
        results = []
        for expression in loop.expressions:
            value = self.value(expression, arrays, numbers, known)
            assert value.dtype is expression.dtype
            results.append(value.expand(shape).clone()._array)
        return tuple(results)

    def each_loop(self, arrays, numbers):
        slots = dict(enumerate(arrays))
        for loop in self.loops.loops:
            known = {
                leaf: as_tensor(slots[read.slot], read.layout, leaf.dtype)
                for leaf in leaves_of(*loop.expressions)
                if isinstance(leaf, Operand)
                for read in [self.loops.loads[leaf.position]]
            }
            for (slot, dtype, layout), expression in zip(loop.results, loop.expressions, strict=True):
                value = self.value(expression, arrays, numbers, known)
                assert value.dtype is expression.dtype
                value = value.expand(loop.shape)
                if loop.reducer is not None:
                    call = {"amax": OPS["amax"], "amin": OPS["amin"]}.get(loop.reducer, OPS[loop.reducer]).call
                    value = call(value, loop.dims, False).reshape(layout.shape)
                assert value.shape == layout.shape
                slots[slot] = laid_out(value.to(dtype).numpy(), layout)
        return tuple(
            np.lib.stride_tricks.as_strided(
                slots[read.slot].reshape(-1, order="A")[read.layout.offset :],
                read.layout.shape,
                [step * dtype.itemsize for step in read.layout.strides],
            )
            if read.layout.shape != slots[read.slot].shape
            else slots[read.slot]
            for read, dtype in zip(self.loops.results, self.loops.dtypes, strict=True)
        )

    def value(self, expression, arrays, numbers, known):
        if expression not in known:
            known[expression] = self.computed(expression, arrays, numbers, known)
        return known[expression]

    def computed(self, expression, arrays, numbers, known):
        if isinstance(expression, Scalar):
            return number(numbers[expression.position], expression.dtype)
        if isinstance(expression, Literal):
            return number(expression.value, expression.dtype)
        arguments = [self.value(part, arrays, numbers, known) for part in expression.arguments]
        if expression.op == "cast":
            return arguments[0].to(expression.dtype)
        return OPS[expression.op].call(*arguments)


def dtype_of(array):
    """polyad's dtype of a NumPy array."""
    return polyad.from_numpy(array).dtype


def as_tensor(array, layout, dtype):
    """The view *layout* of *array*, whose memory begins where the array does."""
    strides = [step * array.itemsize for step in layout.strides]
    begin = np.lib.stride_tricks.as_strided(array, (layout.offset + 1,), (array.itemsize,))[layout.offset :]
    seen = np.lib.stride_tricks.as_strided(begin, layout.shape, strides)
    return Tensor._of(seen, tensor_type(dtype, CPU, not layout.shape))


def laid_out(values, layout):
    """*values* in new memory with these strides."""
    memory = np.empty(max(1, values.size), values.dtype)
    out = np.lib.stride_tricks.as_strided(memory, layout.shape, [s * values.itemsize for s in layout.strides])
    out[...] = values
    return out


def interpreting(op, types, any_layout=True):
    """The kernel of *op*, of which nothing is compiled."""
    return LoweredKernel(
        op,
        types,
        Host(),
        any_layout,
        lambda runtime, what, lowered, count, outs: Interpreted(lowered.loops, any_layout),
    )


def number(value, dtype):
    """*value* as a kernel has it: integers wrap."""
    whole = dtype.category < 2 and not isinstance(value, (float, complex))
    return polyad.tensor(value, dtype=polyad.int64).to(dtype) if whole else polyad.tensor(value, dtype=dtype)


@cache
def calls() -> dict[str, list]:
    """Calls of composites that may be lowered, among those that samples come to, by op."""
    found: dict[str, dict] = {}
    for samples, _ in families().values():
        for sample in samples:
            for op, args in recorded(sample):
                if (
                    op.kind == "composite"
                    and isinstance(op.structure, (Reduction, Rowwise, Opaque, Pointwise))
                    and op.module.startswith("polyad.ops")
                ):
                    found.setdefault(op.name, {}).setdefault(signature(op, args), args)
    return {name: list(each.values()) for name, each in found.items()}


def arrays_of(op, args):
    """What a kernel gets for a call with *args*."""
    return [value._array if isinstance(value, Tensor) else value for value in args[: len(op.operands)]] + [
        *args[len(op.operands) :]
    ]


def run(kernel, op, args):
    """The kernel's results, as NumPy arrays."""
    found = kernel(*arrays_of(op, args))
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
        if not isinstance(op.structure, Pointwise):
            continue
        for args in several:
            kernel = interpreting(op, signature_of(op, args))
            try:
                kernel.add_variant(arrays_of(op, args))
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


def test_bodies_that_reduce_and_view_compute_what_they_say() -> None:
    """Of known layouts: as the suite's samples have them."""
    lowered, wrong = set(), []
    for name, several in calls().items():
        op = OPS[name]
        if isinstance(op.structure, Pointwise) and op.structure.broadcasts:
            continue  # lowered for any layout
        for args in several:
            types = signature_of(op, args)
            if any(isinstance(entry, tuple) for entry in types):
                continue
            kernel = interpreting(op, types, any_layout=False)
            try:
                kernel.add_variant(arrays_of(op, args))
            except NotLowered:
                continue
            lowered.add(name)
            with polyad.no_grad():
                wanted = op.body(*args)
            for array, result in zip(run(kernel, op, args), wanted if op.outputs else (wanted,), strict=True):
                host = result.numpy()
                assert array.dtype == host.dtype
                assert array.shape == host.shape
                if host.dtype.itemsize > 2 and not close(array, host):
                    wrong.append((signature(op, args), array, host))
    assert not wrong
    assert {"softmax", "layer_norm", "batch_norm", "batch_norm_backward", "logsumexp", "var", "adam_step"} <= lowered


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
        kernel = kernel or interpreting(op, (F32,))
        (found,) = run(kernel, op, (X, *numbers))
        np.testing.assert_array_equal(found, body(X, *numbers).numpy())
    assert sum(map(len, kernel._variants.values())) == variants


def test_beyond_a_few_variants_the_body_runs() -> None:
    op = declared(lambda x, a, b: x * math.sqrt(a))
    kernel = interpreting(op, (F32,))
    for number in range(1, 30):
        (found,) = run(kernel, op, (X, float(number), 0.0))
        np.testing.assert_array_equal(found, (X * math.sqrt(number)).numpy())
    assert sum(map(len, kernel._variants.values())) == 8


def test_a_number_that_a_dtype_cannot_hold_is_the_bodys_business() -> None:
    op = declared(lambda x, a, b: polyad.where(x == 0, a, x))
    kernel = interpreting(op, (tensor_type(polyad.uint8, CPU, False),))
    x = polyad.tensor([0, 1], dtype=polyad.uint8)
    assert run(kernel, op, (x, 7, 0))[0].tolist() == [7, 1]
    with pytest.raises(RuntimeError):
        run(kernel, op, (x, 300, 0))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda x, a, b: x.sum() * x, "reduces"),
        (lambda x, a, b: x * float(x.max()), "reduces|reads"),
        (lambda x, a, b: x.flip(0), "no formula|view"),
        (lambda x, a, b: x.unsqueeze(0), "view"),
        (lambda x, a, b: x.clone().add_(1), "add_"),
        (lambda x, a, b: x if bool(x) else x + 1, "bool"),
        (lambda x, a, b: polyad.arange(12.0).reshape(3, 4) + x, "constants that differ"),
        (lambda x, a, b: polyad.ones(2, 3, 4) * x, "elements alone"),
        (lambda x, a, b: polyad.full((3, 4), 2.0), "not computed from"),
    ],
)
def test_what_cannot_be_lowered_says_why(body, reason) -> None:
    with pytest.raises(NotLowered, match=reason):
        lower(declared(body), (F32,), [None, 1.0, 2.0])


def test_the_line_that_stopped_it_is_named() -> None:
    types = (tensor_type(polyad.int32, CPU, False),) * 2
    with pytest.raises(NotLowered, match=r"refuses some elements of int32 \(ops/pointwise/divisors.py:\d+: .*fmod"):
        lower(OPS["gcd"], types, [None, None])


def test_a_number_of_one_call_is_not_kept_for_others() -> None:
    from polyad.ops.indexing.slicing import _slice

    kept = OPS["slice"].layouts
    kept.clear()
    body = declared(lambda x, a, b: _slice(x, 0, a, 3 - a, 1) * polyad.zeros(3 - a, 1))
    with contextlib.suppress(NotLowered):
        lower(body, (F32,), [None, 1, 2], [Layout((3, 4), (4, 1), 0)])
    assert kept
    assert {type(number) for layout in kept.values() for part in layout[:2] for number in part} == {int}
    assert {type(size) for size in broadcast_shapes((2, 4), (2, 1))} == {int}


def test_a_backend_without_generated_code_runs_bodies() -> None:
    assert "lowered" not in str(polyad.explain("mish", X))
    assert X._type.backend.runtime(CPU) is None
