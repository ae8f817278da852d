"""Names of PyTorch's inner modules that libraries import are polyad's own things, or say what to use."""

from __future__ import annotations

import importlib

import pytest

import polyad
from polyad import _C, func
from polyad.compatibility.aliases import ALIASES
from polyad.optim import optimizer


@pytest.mark.parametrize("path", sorted(ALIASES))
def test_what_is_elsewhere_is_found(path: str) -> None:
    module, _, name = f"polyad.{path}".rpartition(".")
    where, _, same = f"polyad.{ALIASES[path]}".rpartition(".")
    assert getattr(importlib.import_module(module), name) is getattr(importlib.import_module(where), same)


def test_modules_of_aliases_are_attributes() -> None:
    assert polyad.functional.einsum is polyad.einsum
    assert polyad._C._nn._parse_to("cpu", polyad.float16)[:2] == (polyad.device("cpu"), polyad.float16)
    assert "einsum" in dir(polyad.functional)


def test_absent_classes_stand_in_annotations() -> None:
    assert polyad.distributed.fsdp.wrap.ModuleWrapPolicy[int].__args__ == (int,)
    with pytest.raises(NotImplementedError, match="not split between"):
        polyad.distributed.fsdp.wrap.ModuleWrapPolicy({int})


def test_questions_about_what_runs() -> None:
    assert func.vmap(lambda x: x * _C._are_functorch_transforms_active())(polyad.ones(2)).tolist() == [1, 1]
    assert not _C._are_functorch_transforms_active()
    with polyad.profiler.profile():
        assert polyad.autograd._profiler_enabled()
    assert not polyad.autograd._profiler_enabled()
    traced = []
    polyad.jit.trace(lambda x: traced.append(_C._get_tracing_state()) or x + 1, polyad.ones(2))
    assert traced[0]
    assert _C._get_tracing_state() is None
    assert polyad._subclasses.fake_tensor.is_fake(polyad.ones(1, device="meta"))
    assert not polyad._subclasses.fake_tensor.is_fake(polyad.ones(1))


def test_asserts_of_elements() -> None:
    polyad._assert_async(polyad.tensor(3))
    with pytest.raises(RuntimeError, match="too small"):
        polyad._assert_async(polyad.tensor(False), "too small")


def test_scattered_and_gathered_again() -> None:
    from polyad.nn.parallel.scatter_gather import gather, scatter

    parts = scatter({"x": polyad.arange(5), "n": 3}, ["cpu", "cpu"])
    assert [part["x"].tolist() for part in parts] == [[0, 1, 2], [3, 4]]
    assert gather([part["x"] for part in parts], "cpu").tolist() == [0, 1, 2, 3, 4]


def test_optimizers_of_others_group_their_tensors() -> None:
    @optimizer._use_grad_for_differentiable
    def step(self: object) -> bool:
        return polyad.is_grad_enabled()

    stepped = polyad.optim.SGD([polyad.ones(1, requires_grad=True)], lr=0.1)
    assert not step(stepped)
    stepped.defaults["differentiable"] = True
    assert step(stepped)
    one, other = polyad.ones(1), polyad.ones(2, dtype=polyad.float64)
    groups = polyad.optim.Optimizer._group_tensors_by_device_and_dtype([[one, other, one], [None, one, other]], True)
    (lists, places), (others, at) = groups[one.device, one.dtype], groups[other.device, other.dtype]
    assert lists[0][0] is lists[0][1] is one
    assert lists[1] == [None, other]
    assert places == [0, 2]
    assert (others[0][0], others[1][0], at) == (other, one, [1])


def test_operations_of_reductions_are_of_the_class_that_libraries_ask_for() -> None:
    reduce_op = polyad.distributed.ReduceOp
    assert isinstance(reduce_op.SUM, reduce_op.RedOpType)
