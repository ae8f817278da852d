"""Short programs that were once wrong, or that random ones do not reach; each runs in both libraries.

A script gets the library as ``torch`` and returns what is compared: numbers, lists, tensors, types of exceptions.
"""

from __future__ import annotations

from collections import UserDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import polyad
from polyad.base.dtypes import DType
from polyad.errors import PolyadError

from .outcomes import builtin


def raised(action: Callable[[], Any]) -> Any:
    """The type of what *action* raises, else its result."""
    try:
        return action()
    except PolyadError as error:
        return type(error)
    except Exception as error:
        return builtin(error)


def leaf_that_stops_requiring_a_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0], requires_grad=True)
    loss = (x * y).sum()
    x.requires_grad_(False)
    loss.backward()
    return x.grad, y.grad


def leaf_that_stops_and_starts_again(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    x.requires_grad_(False)
    x.requires_grad_(True)
    loss.backward()
    return x.grad


def leaf_that_is_detached(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0], requires_grad=True)
    loss = (x * y).sum()
    x.detach_()
    loss.backward()
    return x.grad, x.requires_grad, y.grad


def leaf_that_gets_a_history(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0], requires_grad=True)
    loss = (x * 2).sum()
    x.requires_grad_(False)
    x.mul_(y)
    return raised(loss.backward)


def detaching_views(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return raised(x[0].detach_), raised(x.T.detach_), raised(x.detach().detach_)


def running_back_twice(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    added = (x + x).sum()
    added.backward()
    added.backward()
    squared = (x * x).sum()
    squared.backward()
    return x.grad, raised(squared.backward)


def gradients_of_a_written_view(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    base = x * 1
    view = base[0]
    view.mul_(2)
    seen: list[Any] = []
    view.register_hook(lambda gradient: seen.append(gradient.tolist()))
    (base.sum() + (view * 3).sum()).backward()
    return x.grad, seen


def writing_in_place_while_the_shape_changes(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    return raised(lambda: x[0].unsqueeze_(0)), raised(lambda: x.t_()), raised(lambda: (x * 1).t_().shape)


def filling_what_is_expanded(torch: Any) -> Any:
    x = torch.zeros(2, 1)
    x.expand(2, 3).fill_(2)
    y = torch.ones(3).expand(2, 3)
    y[1] = 5
    return x, y, raised(lambda: torch.ones(3).expand(2, 3).add_(1)), raised(lambda: torch.ones(1).expand(3).zero_())


def making_tensors(torch: Any) -> Any:
    data = (
        1, 1.5, True, 1j, [], [[]], [1, 2.5], [1, True], [True, 1.5], [[1, 2], [3, 4]], (1, 2), [(1, 2), [3, 4]],
        [1, 2j], float("nan"), 2**40, [np.float64(1.5)], [np.float32(1.5)], [np.int32(3)], np.float64(1.5),
        np.float32(2), np.int16(3), np.bool_(True), [np.bool_(True)], np.array(3), np.array([1, 2], np.uint8),
        np.array([[1.5]], np.float32), [np.array([1, 2]), np.array([3, 4])], [np.array([1.5], np.float32)],
        [torch.tensor(1), torch.tensor(2.5, dtype=torch.float64)],
        [[np.float64(1), 2], [3, 4]], np.array([1 + 2j], np.complex64),
    )  # fmt: skip
    made = [raised(lambda one=one: torch.tensor(one)) for one in data]
    made += [raised(lambda one=one: torch.as_tensor(one)) for one in data]
    made += [raised(lambda one=one: torch.asarray(one)) for one in data]
    return made


def making_tensors_in_a_dtype(torch: Any) -> Any:
    data = (1, 2.7, -2.7, True, [300], [-1], [1.5, 2.5], [[True]], [1e10], float("inf"), 2**40, 1j, np.array([300.0]))
    names = ("uint8", "int8", "int32", "int64", "bool", "float16", "bfloat16", "float32", "complex64")
    defined = []
    for name in names:
        for one in data:
            # Floats outside an integer's range have no defined result.
            array = np.asarray(one)
            if "int" in name and array.dtype.kind == "f" and not -2 < array.max() < 3:
                continue
            defined.append(raised(lambda one=one, name=name: torch.tensor(one, dtype=getattr(torch, name))))
    return defined


def refusing_data(torch: Any) -> Any:
    data = ("text", [[1, 2], [3]], [1, "a"], None, [None], object(), {1: 2}, [2**70], 2**70)
    return [raised(lambda one=one: torch.tensor(one)) for one in data]


def filling(torch: Any) -> Any:
    values = (0, 1, -1, 300, 2.5, True, 1j, float("nan"), 2**40)
    names = ("uint8", "int32", "bool", "float32", "complex64")
    made = []
    for name in names:
        dtype = getattr(torch, name)
        for value in values:
            if isinstance(value, float) and value != value and dtype in (torch.uint8, torch.int32):
                continue
            if value == -1 and dtype is torch.uint8:
                continue  # what does not fit is refused, where PyTorch wraps it around
            made.append(raised(lambda v=value, d=dtype: torch.full((2,), v, dtype=d)))
            made.append(raised(lambda v=value, d=dtype: torch.zeros(2, dtype=d).fill_(v)))
            made.append(raised(lambda v=value, d=dtype: torch.full_like(torch.zeros(2, dtype=d), v)))
    return [*made, *[raised(lambda v=value: torch.full((2,), v)) for value in values]]


def ranges(torch: Any) -> Any:
    calls = (
        (5,), (5.0,), (1, 5), (1, 5, 2), (5, 1), (5, 1, -1), (0, 1, 0.25), (0,), (3, 3), (1, 2, 0), (1, 2, -1),
        (0.5,), (True,), (-3,), (0, 5, 2.0), (float("nan"),), (float("inf"),), (0, 10, 3), (10, 0, -3), (0.1, 1, 0.3),
    )  # fmt: skip
    made = [raised(lambda call=call: torch.arange(*call)) for call in calls]
    made += [raised(lambda call=call: torch.arange(*call, dtype=torch.float64)) for call in calls[:12]]
    made += [raised(lambda call=call: torch.arange(*call, dtype=torch.int32)) for call in calls[:12]]
    return made


def differentiating_what_transforms_returned(torch: Any) -> Any:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 0.5])
    t = torch.func
    found = []
    pull = t.vjp(torch.square, x)[1]
    for f in (lambda y: pull(y)[0], t.linearize(torch.square, x)[1]):
        results = [
            t.grad(lambda y, f=f: f(y).sum())(y), t.vjp(f, y)[1](x)[0], t.jacrev(f)(y), t.jacfwd(f)(y),
            t.jvp(f, (y,), (x,))[1], t.grad(lambda y, f=f: t.grad(lambda y: (f(y) ** 3).sum())(y).sum())(y),
        ]  # fmt: skip
        found += [*results, [result.requires_grad for result in results]]
    return found


def windows_of_a_part(torch: Any) -> Any:
    base = torch.arange(24.0, dtype=torch.float64).requires_grad_()
    leaf = torch.arange(24.0, dtype=torch.float64)[6:18].detach().requires_grad_()
    found = []
    parts = (lambda: base[6:18], lambda: base.reshape(4, 6)[1:3, 2:5], lambda: (base * 1)[6:18], lambda: leaf)
    for part in parts:
        given = leaf if part() is leaf else base
        for layout in (((2, 2), (2, 1), 0), ((2, 2), (2, 1)), ((2, 3), (3, 1), 8)):
            window = part().as_strided(*layout)
            weights = torch.arange(1.0, window.numel() + 1, dtype=torch.float64).reshape(window.shape)
            found += [window, torch.autograd.grad((window * weights).sum(), given)[0]]
    return found


def numbers_beside_tensors_of_another_device(torch: Any) -> Any:
    x, n, m = torch.ones(2, 3, device="meta"), torch.tensor(2.0), torch.tensor(3, dtype=torch.int64)
    calls = (
        lambda: x * n, lambda: n - x, lambda: x > m, lambda: x + n.double(), lambda: x.long() / m,
        lambda: torch.where(x > 1, x, n), lambda: torch.where(x > 1, n, n),
        lambda: x.clamp(min=n), lambda: torch.lerp(x, x, n), lambda: torch.addcmul(x, x, n), lambda: x.clone().mul_(n),
        lambda: torch.maximum(x, n), lambda: x.sum() / n, lambda: x.sum().double() * n, lambda: x[0, 0] + m.double(),
        lambda: x * n.reshape(1), lambda: x + torch.ones(3), lambda: x.sum() + n.reshape(1),
        lambda: x @ torch.ones(3), lambda: torch.cat([x, torch.ones(2, 3)]), lambda: torch.stack([x[0, 0], n]),
        lambda: torch.add(x, n, out=torch.empty(2, 3)), lambda: torch.atan2(x, n), lambda: x.long() & m,
    )  # fmt: skip

    def told(call: Callable[[], Any]) -> Any:
        found = call()
        return [str(found.dtype).rpartition(".")[2], list(found.shape), found.device.type]

    return [raised(lambda call=call: told(call)) for call in calls]


def asking_for_autocast(torch: Any) -> Any:
    def asked() -> list[Any]:
        dtypes = (torch.get_autocast_gpu_dtype(), torch.get_autocast_cpu_dtype(), torch.get_autocast_dtype("cuda"))
        return [
            torch.is_autocast_enabled(), torch.is_autocast_cpu_enabled(), torch.is_autocast_enabled("cuda"),
            torch.is_autocast_enabled("cpu"), *(str(dtype).rpartition(".")[2] for dtype in dtypes),
        ]  # fmt: skip

    found = [asked()]
    with torch.autocast("cpu"):
        found.append(asked())
    with torch.autocast("cpu", dtype=torch.float16):
        found.append(asked())
    return found


def collating_mappings_that_hold_more(torch: Any) -> Any:
    class Encoded(UserDict[str, Any]):
        tokenizer = "none"

    sample = Encoded({"x": 1})
    sample.tokenizer = "words"
    collate = torch.utils.data.default_collate
    batch = collate([sample, Encoded({"x": 2})])
    counted = collate([defaultdict(list, x=1.5), {"x": 2.5}])
    return (
        type(batch).__name__,
        batch.tokenizer,
        batch["x"],
        sample["x"],
        counted.default_factory.__name__,
        counted["x"],
    )


def schedules_of_profiles(torch: Any) -> Any:
    options = (
        {"wait": 1, "warmup": 1, "active": 2}, {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
        {"wait": 3, "warmup": 2, "active": 1, "skip_first": 4, "repeat": 1},
        {"wait": 3, "warmup": 1, "active": 2, "skip_first": 2, "skip_first_wait": 1, "repeat": 2},
        {"wait": -1, "warmup": 1, "active": 1}, {"wait": 1, "warmup": 1, "active": 0},
    )  # fmt: skip

    def planned(kwargs: dict[str, int]) -> list[str]:
        plan = torch.profiler.schedule(**kwargs)
        return [plan(step).name for step in range(20)]

    return [raised(lambda kwargs=kwargs: planned(kwargs)) for kwargs in options]


def recordings_of_profiles(torch: Any) -> Any:
    """How often a recording is handed over, and after which steps."""
    found = []
    for kwargs, steps in (
        ({"wait": 1, "warmup": 1, "active": 2}, 9), ({"wait": 0, "warmup": 1, "active": 1}, 4),
        ({"wait": 0, "warmup": 1, "active": 3, "repeat": 1}, 3), ({"wait": 5, "warmup": 1, "active": 1}, 2),
    ):  # fmt: skip
        ready: list[int] = []
        plan = torch.profiler.schedule(**kwargs)
        cpu = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(
            activities=cpu, schedule=plan, on_trace_ready=lambda one, ready=ready: ready.append(one.step_num)
        ) as profiled:
            for _ in range(steps):
                torch.ones(2).exp()
                profiled.step()
        found.append(ready)
    return found


SCRIPTS = [
    schedules_of_profiles,
    recordings_of_profiles,
    numbers_beside_tensors_of_another_device,
    asking_for_autocast,
    collating_mappings_that_hold_more,
    windows_of_a_part,
    differentiating_what_transforms_returned,
    leaf_that_stops_requiring_a_gradient,
    leaf_that_stops_and_starts_again,
    leaf_that_is_detached,
    leaf_that_gets_a_history,
    detaching_views,
    running_back_twice,
    gradients_of_a_written_view,
    writing_in_place_while_the_shape_changes,
    filling_what_is_expanded,
    making_tensors,
    making_tensors_in_a_dtype,
    refusing_data,
    filling,
    ranges,
]


def plain(value: Any) -> Any:
    """A script's results without anything of either library."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (polyad.Tensor, torch.Tensor)):
        values = value.detach().double().tolist() if not value.is_complex() else value.tolist()
        return str(value.dtype).partition(".")[2], tuple(value.shape), repr(values)
    if isinstance(value, (DType, torch.dtype)):
        return str(value).partition(".")[2]
    return tuple(value) if isinstance(value, (torch.Size, polyad.Size)) else value


def agree(ours: Any, theirs: Any) -> bool:
    """Whether two results are equal; of exceptions, whether PyTorch's ``except`` catches polyad's."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(agree, ours, theirs))
    if isinstance(ours, type) and isinstance(theirs, type):
        return issubclass(ours, theirs)
    return bool(ours == theirs)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_script(script: Callable[[Any], Any]) -> None:
    ours, theirs = plain(script(polyad)), plain(script(torch))
    ours, theirs = (one if isinstance(one, list) else [one] for one in (ours, theirs))
    wrong = [f"{i}: {a}, PyTorch {b}" for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if not agree(a, b)]
    assert not wrong, "\n".join(wrong)
