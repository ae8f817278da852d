"""From a call to a kernel: generated callers, plans, declarations, modes."""

import inspect

import numpy as np
import pytest

import polyad
from polyad.backend import Kernel
from polyad.devices import plugins
from polyad.dispatch.catalogue import OPS, PUBLIC
from polyad.dispatch.modes import Mode
from polyad.dispatch.op import composite, function, gradient, op_of, primitive
from polyad.dispatch.promotion import promoted
from polyad.dispatch.structure import opaque, pointwise
from polyad.errors import InternalError
from polyad.ops.declaring.shape_rules import same
from polyad.tensor import Tensor


def test_what_was_generated_can_be_read() -> None:
    source = inspect.getsource(OPS["mul"].call)
    assert "plan.kernel" in source
    assert "record(" in source


def test_generated_callers_look_like_their_definition() -> None:
    assert polyad.exp.__name__ == "exp"
    assert polyad.exp.__module__ == "polyad.ops.pointwise.exponential"
    assert "input" in inspect.signature(polyad.exp).parameters


def test_a_signature_is_resolved_once() -> None:
    op = OPS["mul"]
    x = polyad.ones(3)
    x * x
    plans = dict(op.plans)
    y = polyad.ones(2, 5)
    y * y
    assert op.plans == plans
    y * y.sum()
    assert len(op.plans) >= len(plans)


def test_a_composite_works_by_its_body_and_records_its_ops(scratch) -> None:
    @composite(dtype=promoted, structure=pointwise)
    def test_double_sum(input: Tensor, other: Tensor) -> Tensor:
        return (input + other) * 2

    x = polyad.ones(2, requires_grad=True)
    result = test_double_sum(x, polyad.ones(2))
    assert result.tolist() == [4.0, 4.0]
    assert result.grad_fn.name() == "MulBackward0"
    result.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_composite_with_a_formula_records_itself(scratch) -> None:
    @composite(dtype=promoted, shape=same)
    def test_cube(input: Tensor) -> Tensor:
        return input * input * input

    gradient(test_cube, input=lambda g, input: g * input * input * 3)
    x = polyad.tensor([2.0], requires_grad=True)
    y = test_cube(x)
    assert y.grad_fn.name() == "TestCubeBackward0"
    (first,) = polyad.autograd.grad(y, x, create_graph=True)
    (second,) = polyad.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12.0, 12.0)


def test_an_operand_that_a_body_returns_keeps_its_own_history(scratch) -> None:
    @composite(dtype=promoted, shape=same)
    def test_itself(input: Tensor) -> Tensor:
        return input

    gradient(test_itself, input=lambda g: g * 3)
    x = polyad.tensor([2.0], requires_grad=True)
    y = test_itself(x)
    assert x.is_leaf
    assert y.data_ptr() != x.data_ptr()
    y.backward()
    assert x.grad.tolist() == [3.0]


def test_a_public_function_in_a_namespace_is_no_method(scratch) -> None:
    @composite(dtype=promoted, shape=same, namespace="special")
    def test_twice(input: Tensor) -> Tensor:
        return input + input

    assert op_of(test_twice).name == "special_test_twice"
    assert PUBLIC["special.test_twice"].path == "special.test_twice"
    assert not PUBLIC["special.test_twice"].method
    with pytest.raises(TypeError, match=r"declared twice"):
        composite(dtype=promoted, namespace="special")(test_twice)


def test_a_primitive_without_kernel_says_so(scratch) -> None:
    @primitive(dtype=promoted, shape=same)
    def test_nothing(input: Tensor) -> Tensor:
        """Nobody has this."""

    with pytest.raises(NotImplementedError, match="test_nothing: cpu has no kernel for float32"):
        test_nothing(polyad.ones(1))


@pytest.mark.parametrize(
    ("formula", "words"),
    [({"nobody": lambda g: g}, "'nobody' is no operand"), ({"input": lambda g, weight: g}, "asks for 'weight'")],
)
def test_formulas_are_checked_when_declared(scratch, formula, words: str) -> None:
    @composite(dtype=promoted, shape=same)
    def test_checked(input: Tensor) -> Tensor:
        return input

    with pytest.raises(TypeError, match=words):
        gradient(test_checked, **formula)


def test_a_name_is_declared_once(scratch) -> None:
    def test_twice(input: Tensor) -> Tensor:
        return input

    composite()(test_twice)
    with pytest.raises(TypeError, match="test_twice is declared twice"):
        composite()(test_twice)


def test_tensors_come_first() -> None:
    def test_order(dim: int, input: Tensor) -> Tensor:
        return input

    with pytest.raises(TypeError, match="tensors come first"):
        composite()(test_order)


@pytest.mark.parametrize("wrong", [None, "text", [1.0], object()])
def test_operands_that_are_no_tensors(wrong) -> None:
    with pytest.raises(TypeError, match="mul: other is"):
        polyad.mul(polyad.ones(2), wrong)
    with pytest.raises(TypeError):
        polyad.ones(2) * wrong


class Seen(Mode):
    def __init__(self) -> None:
        self.names: list[str] = []

    def dispatch(self, op, args):
        self.names.append(op.name)
        return super().dispatch(op, args)


def test_modes_see_ops_innermost_first_and_composites_whole() -> None:
    outer, inner = Seen(), Seen()
    x = polyad.ones(2, 2, requires_grad=True)
    with outer, inner:
        y = polyad.softmax(x @ x, -1)
    assert inner.names == outer.names
    assert "softmax" in inner.names
    assert "exp" not in inner.names
    assert y.requires_grad
    x + x
    assert "add" not in outer.names


def test_the_backward_pass_arrives_whole_and_can_be_looked_into() -> None:
    class Inside(Seen):
        def dispatch(self, op, args):
            self.names.append(op.name)
            if op.name != "backward":
                return op.call(*args)
            with self:
                return op.body(*args)

    x = polyad.ones(2, requires_grad=True)
    whole, inside = Seen(), Inside()
    with whole:
        (x * x).sum().backward()
    assert whole.names[-1] == "backward"
    with inside:
        (x * x).sum().backward()
    assert "mul" in inside.names[inside.names.index("backward") :]


def test_a_mode_may_replace_a_result_and_is_left_after_an_error() -> None:
    class Zero(Mode):
        def dispatch(self, op, args):
            return args[0] if op.name == "mul" else super().dispatch(op, args)

    x = polyad.ones(2)
    with Zero():
        assert (x * 5).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError), Zero():
        x + polyad.ones(3)
    assert (x * 5).tolist() == [5.0, 5.0]


def test_a_kernel_that_can_writes_straight_to_out(scratch, monkeypatch) -> None:
    given = []

    def kernel(input, other, out=None):
        given.append(out)
        return np.add(input, other, out=out)

    @primitive(dtype=promoted, structure=pointwise)
    def test_sum(input: Tensor, other: Tensor | float, *, out: Tensor | None = None) -> Tensor: ...

    gradient(test_sum, input=lambda g: g, other=lambda g: g)

    @function(fronts=test_sum)
    def test_front(input: Tensor, other: Tensor | float, *, alpha: float = 1, out: Tensor | None = None) -> Tensor:
        return test_sum(input, other * alpha)

    others = plugins.candidate_kernels
    own = {"test_sum": [Kernel(kernel, out=True)]}
    monkeypatch.setattr(plugins, "candidate_kernels", lambda backend, op: own.get(op) or others(backend, op))
    x, row = polyad.arange(6.0).reshape(2, 3), polyad.ones(3)

    def straight(call, *args, out, **kwargs) -> bool:
        """Whether the kernel wrote to *out* itself; it holds the result in any case."""
        given.clear()
        version = out._version
        with polyad.no_grad():
            expected = call(*args, **kwargs).tolist()
        assert call(*args, **kwargs, out=out) is out
        assert out.tolist() == expected
        assert out._version > version or not version
        return given[1] is not None

    for call in (test_sum, test_front):
        assert straight(call, x, x, out=polyad.zeros(2, 3))
        assert straight(call, x, row, out=polyad.zeros(2, 3))
        assert straight(call, row, x, out=polyad.zeros(3, 2).t())
        assert straight(call, x, 2.0, out=polyad.zeros(2, 6)[:, ::2])
        assert straight(call, x.clone(), row, out=x.clone())
        assert straight(call, row, row, out=x[0])
        assert not straight(call, x, row, out=polyad.zeros(2, 3, dtype=polyad.float64))
        assert not straight(call, row, row, out=polyad.zeros(0))
        with polyad.no_grad():
            assert straight(call, x, row, out=polyad.zeros(2, 3, requires_grad=True))
        for written, rule in ((polyad.zeros(3).expand(2, 3), "one place in memory"), ("text", "no tensor")):
            with pytest.raises((RuntimeError, TypeError), match=rule):
                call(x, row, out=written)
        for operand, written in (
            (polyad.ones(3, requires_grad=True), polyad.zeros(3)),
            (row, polyad.zeros(3, requires_grad=True)),
        ):
            with pytest.raises(RuntimeError, match="has no gradient"):
                call(operand, row, out=written)
            assert not written.any()
        base = polyad.zeros(2, 3)
        saved = base * polyad.ones(3, requires_grad=True)
        call(row, row, out=base[0])
        with pytest.raises(RuntimeError, match="changed in place"):
            saved.sum().backward()
    assert not straight(test_front, x, row, alpha=2, out=polyad.zeros(2, 3))


def test_out_is_written_and_resized() -> None:
    out = polyad.empty(0)
    result = polyad.add(polyad.ones(2), 1, out=out)
    assert result is out
    assert out.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="its dtype cannot hold the result"):
        polyad.add(polyad.ones(2), 1, out=polyad.empty(2, dtype=polyad.int64))
    with pytest.raises(TypeError, match="is no tensor"):
        polyad.add(polyad.ones(2), 1, out=[0.0, 0.0])


# -------------------------------------------------------------------------------------------------------- defects


def _misspelt(input):
    return inptu  # noqa: F821


def _imports(input):
    from polyad import no_such_module  # noqa: F401


def _asserts(input):
    assert input is None


def _attribute(input):
    return input.no_such_attribute


def _module_attribute(input):
    return inspect.no_such_function(input)


DEFECTS = {
    NameError: _misspelt, ImportError: _imports, AssertionError: _asserts,
    AttributeError: _attribute, (AttributeError, "module"): _module_attribute,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "body"), DEFECTS.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_a_defect_is_not_told_as_the_callers_mistake(kind, body, scratch, monkeypatch) -> None:
    kind = kind[0] if isinstance(kind, tuple) else kind
    # As code of polyad: what the user's own functions raise passes as it is.
    monkeypatch.setitem(globals(), "__name__", "polyad.test")

    @composite(shape=same)
    def test_composite(input: Tensor) -> Tensor:
        return body(input)

    @function()
    def test_function(input: Tensor, anything=None) -> Tensor:
        return body(input)

    @primitive(shape=same)
    def test_kernel(input: Tensor) -> Tensor: ...

    @primitive(shape=same)
    def test_specialize(input: Tensor) -> Tensor: ...

    others = plugins.candidate_kernels
    own = {"test_kernel": [Kernel(body)], "test_specialize": [Kernel(body, specialize=body)]}
    monkeypatch.setattr(plugins, "candidate_kernels", lambda backend, op: own.get(op) or others(backend, op))
    x = polyad.ones(2)
    for call in (test_composite, test_function, test_kernel, test_specialize):
        with pytest.raises(RuntimeError, match=f"{call.__name__}: .*{kind.__name__}: ") as caught:
            call(x)
        assert isinstance(caught.value, InternalError), call
        assert "report a defect" in caught.value.fix
        assert "float32 (2,) on cpu" in str(caught.value)
        assert isinstance(caught.value.__cause__, kind)


def test_an_argument_without_the_attribute_is_the_callers_mistake(scratch, monkeypatch) -> None:
    monkeypatch.setitem(globals(), "__name__", "polyad.test")

    @function()
    def test_function(input: Tensor, anything=None) -> Tensor:
        return anything[0].no_such_attribute

    x = polyad.ones(2)
    with pytest.raises(TypeError, match="test_function: the arguments do not fit together: AttributeError"):
        test_function(x, ["text"])
    with pytest.raises(TypeError, match="test_function: input is str, not a tensor"):
        test_function("text", ["text"])


def test_a_partial_kernel_leaves_calls_to_the_body(scratch, monkeypatch) -> None:
    taken = []

    def kernel(input, factor):
        if factor == 2:
            return NotImplemented
        taken.append(factor)
        return input * np.float32(factor)

    @composite(dtype=promoted, structure=opaque, shape=lambda input, factor: input)
    def test_scaled(input: Tensor, factor: float) -> Tensor:
        return input + input if factor == 2 else input.exp()

    gradient(test_scaled, input=lambda g, factor: g * factor)
    others = plugins.candidate_kernels
    own = {"test_scaled": [Kernel(kernel, partial=True)]}
    monkeypatch.setattr(plugins, "candidate_kernels", lambda backend, op: own.get(op) or others(backend, op))
    x = polyad.tensor([1.0, 2.0], requires_grad=True)
    for factor in (3.0, 2.0):
        result = test_scaled(x, factor)
        assert result.tolist() == [factor, 2 * factor]
        x.grad = None
        result.sum().backward()
        assert x.grad.tolist() == [factor, factor]
    assert taken == [3.0]
    assert polyad.is_grad_enabled()
