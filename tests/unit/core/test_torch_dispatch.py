"""``__torch_dispatch__``: what modes and classes derived from Tensor are told, and what becomes of what they answer.

The expected values are what PyTorch 2.13 gives for the same programs, with ``polyad`` for ``torch``.
"""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

import polyad as torch
from polyad import nn
from polyad.nn import functional as F
from polyad.nn.utils import parametrize
from polyad.utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from polyad.utils._pytree import tree_map, tree_map_only

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _leave_no_objects() -> Iterator[None]:
    # While there are objects of such classes, backward passes and their writes are seen by a mode.
    yield
    gc.collect()


class Log(TorchDispatchMode):
    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **kwargs or {})


def names_of(call: Any) -> list[str]:
    with Log() as log:
        call()
    return [name.removeprefix("aten.") for name in log.names]


X, W, B = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)

TOLD: dict[str, tuple[Any, list[str]]] = {
    "a sum": (lambda: X + 1, ["add.Tensor"]),
    "a number first": (lambda: 1 - X, ["rsub.Scalar"]),
    "a power": (lambda: X**2, ["pow.Tensor_Scalar"]),
    "a comparison": (lambda: X == 1, ["eq.Scalar"]),
    "of tensors": (lambda: X < X, ["lt.Tensor"]),
    "a sum of all": (lambda: X.sum(), ["sum.default"]),
    "a sum of some": (lambda: X.sum(1), ["sum.dim_IntList"]),
    "a mean": (lambda: X.mean(-1, True), ["mean.dim"]),
    "a maximum": (lambda: X.max(1), ["max.dim"]),
    "a variance": (lambda: X.var(), ["var.correction"]),
    "a norm": (lambda: X.norm(), ["linalg_vector_norm.default"]),
    "a question": (lambda: X.isnan().any(), ["isnan.default", "any.default"]),
    "a product": (lambda: torch.mm(X, W.t()), ["t.default", "mm.default"]),
    "with a sum": (lambda: torch.addmm(B, X, W.t()), ["t.default", "addmm.default"]),
    "a layer": (lambda: F.linear(X, W, B), ["t.default", "addmm.default"]),
    "a layer of many": (
        lambda: F.linear(X[None], W, B),
        ["unsqueeze.default", "view.default", "t.default", "addmm.default", "view.default"],
    ),
    "a view": (lambda: X.view(6), ["view.default"]),
    "dimensions": (lambda: X.unsqueeze(0).squeeze(0), ["unsqueeze.default", "squeeze.dim"]),
    "a transposed batch": (lambda: torch.transpose(X[None], 1, 2), ["unsqueeze.default", "transpose.int"]),
    "a row": (lambda: X[0], ["select.int"]),
    "a range": (lambda: X[:1], ["slice.Tensor"]),
    "a subscript": (lambda: X[None, 0, 1:], ["unsqueeze.default", "select.int", "slice.Tensor"]),
    "parts": (lambda: torch.cat([X, X]), ["cat.default"]),
    "activations": (lambda: F.silu(F.gelu(F.relu(X))), ["relu.default", "gelu.default", "silu.default"]),
    "a softmax": (lambda: F.softmax(X, 1), ["_softmax.default"]),
    "a norm of layers": (lambda: F.layer_norm(X, (3,)), ["native_layer_norm.default"]),
    "in place": (lambda: X.clone().add_(1).mul_(X), ["clone.default", "add_.Tensor", "mul_.Tensor"]),
    "numbers written": (lambda: X.clone().fill_(2).zero_(), ["clone.default", "fill_.Scalar", "zero_.default"]),
    "a copy": (lambda: X.clone().copy_(X), ["clone.default", "copy_.default"]),
    "another dtype": (lambda: X.double(), ["_to_copy.default"]),
    "a number": (lambda: X.sum().item(), ["sum.default", "_local_scalar_dense.default"]),
    "new ones": (lambda: torch.zeros(2), ["zeros.default"]),
    "of data": (lambda: torch.tensor([1.0]), ["lift_fresh.default"]),
}


@pytest.mark.parametrize("name", TOLD)
def test_calls_are_told_as_pytorchs(name: str) -> None:
    call, names = TOLD[name]
    assert names_of(call) == names


@pytest.mark.parametrize("name", TOLD)
def test_a_mode_changes_nothing(name: str) -> None:
    call, _ = TOLD[name]
    expected = call()
    with Log():
        found = call()
    torch.testing.assert_close(found, expected)


def test_other_ops_are_told_under_their_own_names() -> None:
    with Log() as log:
        F.dropout(X, 0.5)
    assert log.names == ["polyad.dropout.default"]
    assert torch.ops.polyad.dropout.default is torch.ops.polyad.dropout.default


MADE_OF_OTHERS = {
    "converts": lambda: torch.bincount(torch.tensor([0, 1, 1]), torch.tensor([1, 2, 3], dtype=torch.int8)),
    "transposed rows": lambda: F.pixel_shuffle(torch.arange(24.0).reshape(1, 4, 2, 3), 2),
    "a recurrent layer": lambda: nn.functional.linear(torch.arange(12.0).reshape(2, 2, 3).transpose(0, 1), W),
    "a quantile": lambda: torch.quantile(torch.arange(5.0), 0.3),
    "filled": lambda: torch.full_like(torch.zeros(2), 3),
    "an old product": lambda: torch.addbmm(torch.ones(2, 2), torch.ones(3, 2, 4), torch.ones(3, 4, 2)),
    "a smooth step": lambda: F.selu(torch.arange(-2.0, 2.0)),
}


@pytest.mark.parametrize("name", MADE_OF_OTHERS)
def test_a_mode_changes_nothing_of_what_is_made_of_others(name: str) -> None:
    expected = MADE_OF_OTHERS[name]()
    with Log() as log:
        found = MADE_OF_OTHERS[name]()
    torch.testing.assert_close(found, expected)
    assert log.names


def test_every_op_that_is_told_can_be_called() -> None:
    from polyad.aten import table
    from polyad.dispatch.catalogue import ATTRIBUTES, OPS

    for name in (*table._POINTWISE, *table.AS_THEY_ARE):
        assert name in OPS
        assert callable(getattr(aten, table.NAMES.get(name, name)).default)
    for name in ATTRIBUTES.names():
        if name.endswith("_") and not name.endswith("__"):
            assert callable(getattr(aten, name).default)


def test_random_numbers_are_the_same_in_a_mode() -> None:
    torch.manual_seed(0)
    plain = torch.randn(5)
    torch.manual_seed(0)
    with Log():
        seen = torch.randn(5)
    assert torch.equal(plain, seen)


def test_histories_of_ops_and_views() -> None:
    w = torch.ones(3, 2, requires_grad=True)
    with Log() as log:
        z = (w.t()[0] * 2).sum()
    assert log.names == ["aten.t.default", "aten.select.int", "aten.mul.Tensor", "aten.sum.default"]
    z.backward()
    assert w.grad.tolist() == [[2, 0]] * 3
    w.grad = None
    base = w * 1
    with Log():
        base[0].mul_(3)
        s = base.sum()
    s.backward()
    assert w.grad.tolist() == [[3, 3], [1, 1], [1, 1]]


def test_a_backward_pass_is_seen() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with Log() as log:
        F.linear(x, W).sum().backward()
    assert log.names.count("aten.mm.default") == 2
    assert x.grad.tolist() == [[4, 4, 4]] * 2


# ----------------------------------------------------------------------------------------------------- modes in use


class Flops(TorchDispatchMode):
    total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        packet = func.overloadpacket
        if packet in (aten.mm, aten.addmm):
            a, b = args[-2:]
            self.total += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return func(*args, **kwargs or {})


def test_counting_work() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    with Flops() as counter:
        model(torch.ones(3, 4)).sum()
    assert counter.total == 2 * 3 * 4 * 5 + 2 * 3 * 5 * 2


class NoNaN(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **kwargs or {})
        if isinstance(out, torch.Tensor) and out.is_floating_point() and torch.isnan(out).any():
            raise ArithmeticError(f"NaN in {func}")
        return out


def test_looking_for_nan() -> None:
    with NoNaN(), pytest.raises(ArithmeticError, match=r"NaN in aten\.log\.default"):
        torch.log(torch.tensor([1.0, 2.0]) - 3)


class Memory(TorchDispatchMode):
    """What new memory results took; views take none."""

    taken = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **kwargs or {})
        if isinstance(out, torch.Tensor) and not func._schema.name.endswith(("::view", "::t")):
            self.taken += out.numel() * out.element_size()
        return out


def test_counting_memory() -> None:
    x = torch.ones(8, 8)
    with Memory() as memory:
        (torch.relu(x) + 1).view(64).exp()
    assert memory.taken == 3 * 64 * 4


class Shapes(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if "device" in kwargs:
            kwargs["device"] = "meta"
        return func(*tree_map_only(torch.Tensor, lambda t: t.to("meta"), args), **kwargs)


def test_computing_with_shapes_alone() -> None:
    with Shapes():
        y = F.relu(F.linear(torch.ones(7, 3), torch.zeros(2, 3)))
    assert (y.shape, y.device.type) == ((7, 2), "meta")


def test_a_mode_that_answers_nonsense() -> None:
    class Wrong(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return "nonsense"

    with Wrong():
        with pytest.raises(TypeError, match=r"aten\.exp\.default: __torch_dispatch__ returned str, not a tensor"):
            torch.exp(X)
        with pytest.raises(TypeError, match="returned str, not 2 tensors"):
            X.topk(1)
    assert torch.exp(X).shape == (2, 3)


# -------------------------------------------------------------------------------------------------------- classes


class Logging(torch.Tensor):
    """Another tensor, of which every op is noted."""

    seen: ClassVar[list[str]] = []

    @staticmethod
    def __new__(cls, elem: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), dtype=elem.dtype, device=elem.device, requires_grad=elem.requires_grad
        )

    def __init__(self, elem: Any) -> None:
        self.elem = elem

    def __repr__(self) -> str:
        return f"Logging({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(value: Any) -> Any:
            return value.elem if isinstance(value, cls) else value

        cls.seen.append(str(func))
        out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        return tree_map_only(torch.Tensor, cls, out)


@pytest.fixture
def x() -> Any:
    made = Logging(torch.arange(6.0).reshape(2, 3))
    Logging.seen.clear()
    return made


def test_a_wrapper_looks_like_a_tensor(x: Any) -> None:
    assert (x.shape, x.dtype, x.device.type, x.stride(), x.ndim) == ((2, 3), torch.float32, "cpu", (3, 1), 2)
    assert Logging.seen == []
    with pytest.raises(
        RuntimeError, match=r"Logging: a tensor that was made by _make_wrapper_subclass has no elements"
    ):
        x.numpy()


CALLS: dict[str, tuple[Any, Any]] = {
    "an operator": (lambda x: x + 1, [[1, 2, 3], [4, 5, 6]]),
    "a plain tensor first": (lambda x: torch.ones(3) * x, [[0, 1, 2], [3, 4, 5]]),
    "a product": (lambda x: x @ torch.ones(3, 1), [[3], [12]]),
    "a layer": (lambda x: F.linear(x, Logging(torch.ones(1, 3)), torch.ones(1)), [[4], [13]]),
    "a view and a row": (lambda x: x.view(3, 2)[0], [0, 1]),
    "a list": (lambda x: torch.cat([x, x])[2:, 1:], [[1, 2], [4, 5]]),
    "like it": (lambda x: torch.zeros_like(x) + x.new_ones(3), [[1, 1, 1]] * 2),
    "in place": (lambda x: x.add_(1), [[1, 2, 3], [4, 5, 6]]),
    "a softmax": (lambda x: F.softmax(x * 0, 0), [[0.5] * 3] * 2),
    "a model": (lambda x: nn.Sequential(nn.Flatten(), nn.ReLU())(1 - x), [[1, 0, 0], [0, 0, 0]]),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrapper_answers(x: Any, name: str) -> None:
    call, values = CALLS[name]
    result = call(x)
    assert type(result) is Logging
    assert result.elem.tolist() == values
    assert Logging.seen


def test_a_wrapper_and_modes(x: Any) -> None:
    with Log() as log:
        x.exp()
    assert log.names[0] == "aten.exp.default"
    assert Logging.seen == ["aten.exp.default"]


def test_gradients_of_wrappers() -> None:
    r = Logging(torch.ones(2, 3)).requires_grad_()
    y = (r * Logging(torch.arange(3.0))).exp().sum()
    assert (y.requires_grad, y.grad_fn.name(), r.is_leaf) == (True, "SumBackward0", True)
    y.backward()
    assert type(r.grad) is Logging
    torch.testing.assert_close(r.grad.elem, (torch.arange(3.0) * torch.arange(3.0).exp()).expand(2, 3))
    with pytest.raises(RuntimeError, match="leaf that requires a gradient"):
        r.add_(1)
    with pytest.raises(RuntimeError, match="a write into Logging, which has __torch_dispatch__, is not recorded"):
        (r * 2).add_(1)


OPTIMIZERS = {
    "SGD": lambda params: torch.optim.SGD(params, 0.1, momentum=0.9),
    "Adam": lambda params: torch.optim.Adam(params, 0.1),
    "AdamW": lambda params: torch.optim.AdamW(params, 0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_wrapped_parameters(name: str) -> None:
    plain, wrapped = nn.Linear(3, 2), nn.Linear(3, 2)
    wrapped.load_state_dict(plain.state_dict())
    wrapped.weight = nn.Parameter(Logging(wrapped.weight.detach()))
    assert isinstance(wrapped.weight, nn.Parameter)
    assert [name for name, _ in wrapped.named_parameters()] == ["weight", "bias"]
    for model in (plain, wrapped):
        optimizer = OPTIMIZERS[name](model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).square().sum().backward()
            optimizer.step()
    assert type(wrapped.weight) is type(wrapped.weight.grad) is Logging
    torch.testing.assert_close(wrapped.weight.elem, plain.weight.detach())


class Int8(torch.Tensor):
    """A weight in whole numbers with a scale, which products dequantize."""

    @staticmethod
    def __new__(cls, q: Any, scale: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=scale.dtype, device=q.device)

    def __init__(self, q: Any, scale: Any) -> None:
        self.q, self.scale = q, scale

    @classmethod
    def of(cls, weight: Any) -> Any:
        scale = weight.abs().amax() / 127
        return cls(torch.round(weight / scale).to(torch.int8), scale)

    def dequantize(self) -> Any:
        return self.q.to(self.scale.dtype) * self.scale

    def __tensor_flatten__(self) -> Any:
        return ["q", "scale"], None

    @staticmethod
    def __tensor_unflatten__(parts: Any, context: Any, size: Any, stride: Any) -> Any:
        return Int8(parts["q"], parts["scale"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (aten.detach.default, aten.clone.default):
            made = transform_subclass(args[0], lambda name, tensor: func(tensor))
            return return_and_correct_aliasing(func, args, kwargs, made)
        if func is aten.t.default:
            return cls(args[0].q.t(), args[0].scale)
        if func is aten._to_copy.default:
            return cls(args[0].q, args[0].scale.to(kwargs["dtype"]))
        if func.overloadpacket in (aten.mm, aten.addmm):
            return func(*[one.dequantize() if isinstance(one, cls) else one for one in args], **kwargs or {})
        return NotImplemented


@pytest.fixture
def quantized() -> Any:
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -0.5, 0.25], [0.1, 0.2, -1.27]]))
    plain = layer(torch.ones(1, 3))
    layer.weight = nn.Parameter(Int8.of(layer.weight.detach()), requires_grad=False)
    return layer, plain


def test_a_quantized_weight(quantized: Any) -> None:
    layer, plain = quantized
    x = torch.ones(1, 3, requires_grad=True)
    result = layer(x)
    assert (type(result), result.requires_grad) == (torch.Tensor, True)
    assert (result - plain).abs().max() < 0.02
    result.sum().backward()
    torch.testing.assert_close(x.grad[0], layer.weight.dequantize().sum(0))
    with pytest.raises(TypeError, match=r"aten\.add\.Tensor: no __torch_dispatch__ of Int8 knows it"):
        layer.weight + 1


def test_state_and_copies_of_a_quantized_weight(quantized: Any) -> None:
    layer, _ = quantized
    assert type(layer.state_dict()["weight"]) is Int8
    for other in (copy.deepcopy(layer).weight, pickle.loads(pickle.dumps(layer.weight))):
        assert type(other) is Int8
        assert other.q is not layer.weight.q
        assert torch.equal(other.q, layer.weight.q)
    assert isinstance(copy.deepcopy(layer).weight, nn.Parameter)
    assert is_traceable_wrapper_subclass(layer.weight)
    assert not is_traceable_wrapper_subclass(layer.bias)
    assert layer.double().weight.dtype is torch.float64
    assert type(layer.weight) is Int8


class Tagged(torch.Tensor):
    pass


class Tagging(nn.Module):
    def forward(self, weight: Any) -> Any:
        return weight.as_subclass(Tagged)


def test_parametrizations_and_parameters_of_classes() -> None:
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Tagging())
    result = layer(torch.ones(1, 2))
    assert type(layer.weight) is type(result) is Tagged
    result.sum().backward()
    assert type(layer.parametrizations.weight.original.grad) is torch.Tensor
    parameter = nn.Parameter(torch.ones(2).as_subclass(Tagged))
    assert (type(parameter), isinstance(parameter, nn.Parameter), parameter.requires_grad) == (Tagged, True, True)
    assert not isinstance(parameter * 2, nn.Parameter)


class Own(torch.Tensor):
    """A class with elements of its own."""

    seen: ClassVar[list[str]] = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        return super().__torch_dispatch__(func, types, args, kwargs or {})


def test_a_class_that_passes_on() -> None:
    x = torch.Tensor._make_subclass(Own, torch.ones(2))
    y = x * 2 + 1
    assert (type(y), y.tolist(), Own.seen) == (torch.Tensor, [3, 3], ["aten.mul.Tensor"])
    with torch._C._DisableTorchDispatch():
        x + 1
    assert len(Own.seen) == 1


def test_wrappers_need_a_class_that_answers() -> None:
    with pytest.raises(TypeError, match="_make_wrapper_subclass: cls"):
        torch.Tensor._make_wrapper_subclass(Tagged, (2,))


# --------------------------------------------------------------------------------------------------- polyad.ops.aten


def test_ops_under_pytorchs_names() -> None:
    func = aten.add.Tensor
    assert func is torch.ops.aten.add.Tensor
    assert func.overloadpacket is aten.add
    assert {func: 1}[aten.add.Tensor] == 1
    assert (str(func), func.__name__, func.name(), func.namespace) == (
        "aten.add.Tensor", "add.Tensor", "aten::add.Tensor", "aten",
    )  # fmt: skip
    assert (func._schema.name, func._schema.overload_name, aten.mm.default._schema.overload_name) == (
        "aten::add", "Tensor", "",
    )  # fmt: skip
    assert (aten.add_.Tensor._schema.is_mutable, func._schema.is_mutable) == (True, False)
    assert copy.deepcopy(func) is pickle.loads(pickle.dumps(func)) is func
    with pytest.raises(AttributeError, match="aten::no_such_op"):
        _ = aten.no_such_op


def test_ops_can_be_called() -> None:
    x = torch.ones(2, 2)
    assert aten.add(x, 1).tolist() == aten.add.Tensor(x, 1).tolist() == [[2, 2]] * 2
    assert aten.add.Tensor(x, x, alpha=2).tolist() == [[3, 3]] * 2
    assert aten.sum.dim_IntList(x, [1]).tolist() == [2, 2]
    assert aten._softmax.default(x, 0, False).tolist() == [[0.5, 0.5]] * 2
    assert aten.slice.Tensor(x, 1, 0, 1).shape == (2, 1)
    assert aten.convolution.default(x[None], x[None], None, [1], [0], [1], False, [0], 1).shape == (1, 1, 1)
    assert [tuple(one.shape) for one in aten.native_layer_norm.default(x, [2], None, None, 1e-5)] == [
        (2, 2),
        (2, 1),
        (2, 1),
    ]


def test_programs_without_such_classes_load_nothing() -> None:
    program = """
import sys, polyad
x = polyad.ones(2, requires_grad=True)
(x * 2).sum().backward()
polyad.optim.SGD([x], 0.1).step()
assert not [name for name in sys.modules if name.startswith("polyad.aten")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
