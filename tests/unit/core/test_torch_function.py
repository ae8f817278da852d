"""``__torch_function__``: what classes derived from Tensor, objects that stand for tensors, and modes see and answer.

The expected values are what PyTorch 2.13 gives for the same programs, with ``polyad`` for ``torch``. There
``torch.Tensor.add`` is another object than ``torch.add``; here they are one.
"""

from __future__ import annotations

import copy
import functools
import inspect
import io
import pickle
import subprocess
import sys
import threading
from typing import Any

import pytest

import polyad as torch
from polyad import nn
from polyad.nn import functional as F
from polyad.overrides import TorchFunctionMode

SEEN: list[Any] = []


class Logging(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        SEEN.append((func, types, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs)


class Derived(Logging):
    pass


class Other(torch.Tensor):
    pass


class Kept(torch.Tensor):
    pass


@pytest.fixture
def x() -> Any:
    made = torch.ones(2, 3).as_subclass(Logging)
    SEEN.clear()
    return made


CALLS: dict[str, tuple[Any, list[Any], type]] = {
    "an operator": (lambda x: x + 1, [torch.add], Logging),
    "a number first": (lambda x: 1 + x, [torch.add], Logging),
    "a number first that is no sum": (lambda x: 1 - x, [torch.Tensor.__rsub__], Logging),
    "a plain tensor first": (lambda x: torch.ones(3) + x, [torch.add], Logging),
    "a parameter first": (lambda x: nn.Parameter(torch.ones(3)) * x, [torch.mul], Logging),
    "a comparison": (lambda x: x > 0, [torch.gt], Logging),
    "equality": (lambda x: x == 1, [torch.Tensor.__eq__], Logging),
    "minus": (lambda x: -x, [torch.neg], Logging),
    "a function": (lambda x: torch.exp(x), [torch.exp], Logging),
    "a function in second place": (lambda x: torch.sub(torch.ones(3), x), [torch.sub], Logging),
    "a list": (lambda x: torch.stack([torch.ones(2, 3), x]), [torch.stack], Logging),
    "out=": (lambda x: torch.add(torch.ones(2, 3), 1, out=x), [torch.add], Logging),
    "a method": (lambda x: x.view(6), [torch.Tensor.view], Logging),
    "a method of a plain tensor": (lambda x: torch.ones(2, 3).add_(x), [torch.Tensor.add_], Logging),
    "in place": (lambda x: x.add_(1), [torch.Tensor.add_], Logging),
    "augmented": (lambda x: x.__iadd__(1), [torch.Tensor.add_], Logging),
    "an index": (lambda x: x[0], [torch.Tensor.__getitem__], Logging),
    "an assignment to a part": (lambda x: x.__setitem__(0, 2.0), [torch.Tensor.__setitem__], type(None)),
    "of nn.functional": (lambda x: F.relu(x), [F.relu], Logging),
    "made of others": (lambda x: F.layer_norm(x, (3,)), [F.layer_norm], Logging),
    "a layer": (lambda x: nn.Linear(3, 2)(x), [F.linear], Logging),
    "of a namespace": (lambda x: torch.linalg.norm(x), [torch.linalg.norm], Logging),
    "a property": (lambda x: x.T, [torch.Tensor.T.__get__], Logging),
    "a shape": (lambda x: x.shape, [torch.Tensor.shape.__get__], torch.Size),
    "a gradient": (lambda x: x.grad, [torch.Tensor.grad.__get__], type(None)),
    "a written method": (lambda x: x.detach(), [torch.Tensor.detach], Logging),
    "an assignment": (lambda x: setattr(x, "requires_grad", True), [torch.Tensor.requires_grad.__set__], type(None)),
    "the length": (lambda x: len(x), [torch.Tensor.__len__], int),
    "a number": (lambda x: float(x.sum()), [torch.Tensor.sum, torch.Tensor.__float__], float),
    "to the host": (lambda x: x.tolist(), [torch.Tensor.tolist], list),
    "the text": (lambda x: repr(x), [torch.Tensor.__repr__], str),
    "another class": (lambda x: x.as_subclass(torch.Tensor), [], torch.Tensor),
    "a question": (lambda x: torch.is_tensor(x), [], bool),
    "a copy of the data": (lambda x: torch.tensor(x), [], torch.Tensor),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_class_sees_what_is_called(x: Any, name: str) -> None:
    call, functions, kind = CALLS[name]
    result = call(x)
    assert [func for func, *_ in SEEN] == functions
    assert all(types == (Logging,) for _, types, *_ in SEEN)
    assert type(result) is kind


def test_arguments_come_as_they_were_given(x: Any) -> None:
    torch.sum(x, dim=1)
    x.sum(1, keepdim=True)
    torch.add(torch.ones(3), x, alpha=2)
    (_, _, *by_name), (_, _, *mixed), (_, _, args, kwargs) = SEEN
    assert by_name == [(x,), {"dim": 1}]
    assert mixed == [(x, 1), {"keepdim": True}]
    assert args[1] is x
    assert kwargs == {"alpha": 2}


def test_results_of_several_parts() -> None:
    x = torch.arange(6.0).reshape(2, 3).as_subclass(Kept)
    values, indices = found = torch.max(x, dim=1)
    assert type(values) is type(indices) is Kept
    assert found.values is values
    assert [type(part) for part in torch.split(x, 1)] == [Kept, Kept]
    assert type(torch.cat((torch.ones(2, 3), x))) is Kept


def test_a_plain_argument_stays_plain() -> None:
    x, plain = torch.ones(2).as_subclass(Kept), torch.zeros(2)
    result = plain.add_(x)
    assert type(result) is Kept
    assert type(plain) is torch.Tensor
    assert plain.tolist() == [1, 1]
    assert result.data_ptr() == plain.data_ptr()


def test_the_class_stands_in_the_text() -> None:
    assert repr(torch.ones(2).as_subclass(Kept)) == "Kept([1., 1.])"
    assert repr(nn.Parameter(torch.ones(1))).startswith("Parameter containing:\ntensor(")


def test_derived_classes_are_asked_first(x: Any) -> None:
    y = torch.ones(2, 3).as_subclass(Derived)
    SEEN.clear()
    assert type(x + y) is type(torch.add(x, y)) is Derived
    assert [types for _, types, *_ in SEEN] == [(Derived, Logging)] * 2


def test_classes_that_do_not_know_each_other_refuse() -> None:
    x, y = torch.ones(2).as_subclass(Other), torch.ones(2).as_subclass(Kept)
    with pytest.raises(TypeError, match=r"add: no __torch_function__ of Other, Kept knows it"):
        x + y


def test_parameters_are_not_asked() -> None:
    class Weight(nn.Parameter):
        pass

    for weight in (nn.Parameter(torch.ones(2)), Weight(torch.ones(2)), nn.Buffer(torch.ones(2))):
        assert type(torch.mul(weight, 2)) is type(weight + 1) is torch.Tensor
        assert not torch.overrides.has_torch_function((weight,))


def test_a_class_that_is_not_asked() -> None:
    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    x = torch.ones(2).as_subclass(Plain)
    assert type(x + 1) is type(torch.exp(x)) is type(x.view(2)) is torch.Tensor
    assert type(x) is Plain


def test_switched_off(x: Any) -> None:
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is type(torch.exp(x)) is type(x[0]) is torch.Tensor
        assert not torch.overrides.has_torch_function((x,))
    with torch._C.DisableTorchFunction():
        assert type(x.T) is torch.Tensor
    assert SEEN == []
    assert type(x + 1) is Logging


def test_histories_and_gradients() -> None:
    leaf = torch.ones(3, requires_grad=True)
    x = leaf.as_subclass(Logging)
    y = torch.sum(torch.mul(x, 2) ** 2)
    y.backward()
    assert type(leaf.grad) is torch.Tensor
    assert leaf.grad.tolist() == [8, 8, 8]
    own = torch.ones(2).as_subclass(Kept).requires_grad_()
    (own * 3).sum().backward()
    assert type(own.grad) is torch.Tensor
    assert own.grad.tolist() == [3, 3]


def test_backward_asks_nobody(x: Any) -> None:
    weight = torch.ones(3, requires_grad=True)
    loss = torch.Tensor.as_subclass(weight * x, torch.Tensor).sum()
    SEEN.clear()
    loss.backward()
    assert SEEN == []


class WithUnit(torch.Tensor):
    """A tensor with an attribute that results take over."""

    unit = ""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, WithUnit):
            result.unit = next((one.unit for one in args if isinstance(one, WithUnit)), "")
        return result


def test_attributes_are_kept() -> None:
    x = torch.ones(2).as_subclass(WithUnit)
    x.unit = "m"
    assert (torch.exp(x) + 1)[0].unit == "m"
    for again in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(again) is WithUnit
        assert again.unit == "m"


# ---------------------------------------------------------------------------------------------- objects of no Tensor

HANDLED: dict[Any, Any] = {}


class Scalar:
    """``value`` on the diagonal, as PyTorch's notes on extending it have it."""

    def __init__(self, n: int, value: float) -> None:
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(each, (torch.Tensor, Scalar)) for each in types):
            return NotImplemented
        return HANDLED[func](*args, **kwargs or {})


def implements(function: Any) -> Any:
    def register(handler: Any) -> Any:
        HANDLED[function] = functools.wraps(function)(handler)
        return handler

    return register


@implements(torch.mean)
def mean(input: Any) -> float:
    return float(input.value) / input.n


@implements(torch.add)
def add(input: Any, other: Any) -> Any:
    return "added", type(input), type(other)


@implements(F.gelu)
def gelu(input: Any, approximate: str = "none") -> Any:
    return "gelu", approximate


def test_objects_that_are_no_tensors_answer() -> None:
    five = Scalar(5, 2.0)
    assert torch.mean(five) == 0.4
    assert torch.add(five, torch.ones(2)) == ("added", Scalar, torch.Tensor)
    assert torch.ones(2) + five == ("added", torch.Tensor, Scalar)
    assert F.gelu(five, approximate="tanh") == ("gelu", "tanh")
    with pytest.raises(TypeError, match=r"exp: no __torch_function__ of Scalar knows it"):
        torch.exp(five)


FIRST = {
    "a function made of others": "F.cross_entropy(duck, duck, label_smoothing=0.5)",
    "an op": "torch.exp(duck)",
    "a sum": "torch.ones(2) + duck",
    "a list": "torch.cat([duck, torch.ones(1)])",
    "a view": "torch.transpose(duck, 0, 1)",
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_call_with_such_an_object_is_seen_whole(name: str) -> None:
    program = f"""
import polyad as torch
import polyad.nn.functional as F
class Duck:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print(func.__name__, types, len(args), kwargs)
duck = Duck()
{FIRST[name]}
{FIRST[name]}
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    first, second = said.splitlines()
    assert first == second
    assert "Duck" in first


# ----------------------------------------------------------------------------------------------------------- modes


class Recording(TorchFunctionMode):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **kwargs or {})


def test_a_mode_sees_plain_tensors() -> None:
    x = torch.ones(2, 2)
    with Recording() as mode:
        y = torch.zeros(2, 2) + x
        y.view(4).sum().item()
        _ = y.shape
        F.relu(y)
        y.add_(1)
    assert mode.seen == [
        torch.zeros, torch.add, torch.Tensor.view, torch.Tensor.sum, torch.Tensor.item, torch.Tensor.shape.__get__,
        F.relu, torch.Tensor.add_,
    ]  # fmt: skip
    y + 1
    assert len(mode.seen) == 8


def test_modes_nest_and_go_before_objects(x: Any) -> None:
    with Recording() as outer, Recording() as inner:
        torch.exp(x)
    assert outer.seen == inner.seen == [torch.exp]
    assert [func for func, *_ in SEEN] == [torch.exp]


def test_a_mode_may_answer_or_leave_it_to_objects(x: Any) -> None:
    class Ones(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "ones" if func is torch.zeros else NotImplemented

    with Ones():
        assert torch.zeros(2) == "ones"
        with pytest.raises(TypeError, match="exp: no __torch_function__ of the mode"):
            torch.exp(x)
        with pytest.raises(TypeError, match="ones: no __torch_function__ of the mode knows it"):
            torch.ones(2)
        with torch._C.DisableTorchFunction():
            assert torch.zeros(1).tolist() == [0]
    with torch.overrides.BaseTorchFunctionMode():
        assert torch.zeros(1).tolist() == [0]


def test_a_mode_is_its_threads_own() -> None:
    done = threading.Event()
    with Recording() as mode:
        thread = threading.Thread(target=lambda: (torch.ones(2) + 1, done.set()))
        thread.start()
        thread.join()
    assert done.is_set()
    assert mode.seen == []


# -------------------------------------------------------------------------------------------- functions stay the same


def test_functions_stay_what_they_are(x: Any) -> None:
    assert type(torch.exp(x)) is Logging
    assert str(inspect.signature(torch.add)).startswith("(input")
    assert str(inspect.signature(torch.Tensor.add_)).startswith("(")
    assert "def exp" in inspect.getsource(torch.exp)
    assert torch.exp.__name__ == "exp"
    assert torch.overrides.resolve_name(torch.Tensor.shape.__get__) == "polyad.Tensor.shape.__get__"
    assert torch.overrides.resolve_name(torch.Tensor.add_) == "polyad.Tensor.add_"


def test_frames_of_watched_functions_can_be_looked_at(x: Any) -> None:
    frames: list[Any] = []

    class Looking(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            frame = sys._getframe(1)
            while frame is not None:
                frames.append(dict(frame.f_locals))
                frame = frame.f_back
            return func(*args, **kwargs or {})

    with Looking():
        x.add_(1)  # a closure, as are operators and views
        _ = x - x.permute(0, 1)
    assert any(one.get("name") == "add_" for one in frames)


def test_programs_without_such_objects_run_what_was_generated() -> None:
    program = """
import polyad
from polyad.dispatch import overriding
class Defined(polyad.Tensor):
    pass
polyad.nn.Linear(2, 2)(polyad.ones(1, 2)).sum().backward()
assert not overriding.watching
x = polyad.ones(1).as_subclass(Defined)
assert overriding.watching
assert type(polyad.add(x, 1)) is type(polyad.tanh(x)) is Defined
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_files(tmp_path: Any) -> None:
    file = io.BytesIO()
    torch.save({"x": torch.ones(2).as_subclass(Kept).as_subclass(torch.Tensor)}, file)
    file.seek(0)
    assert torch.load(file)["x"].tolist() == [1, 1]
