"""Replays of captured calls of every op are what the call gives: values, layouts, aliasing, versions, random bits.

Each call goes the whole way: captured, verified, written as text, read back, replayed.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import polyad
from polyad import graph as graphs
from polyad.dispatch.op import PUBLIC
from polyad.graph import Graph
from polyad_conformance.calls import draw, function_of, kwargs_of, outputs_of
from polyad_conformance.layouts import contiguous, place, transposed
from polyad_conformance.sample import Sample
from polyad_conformance.samples import families

FAMILIES = sorted(families())


def first_samples(family: str) -> list[Sample]:
    """The first sample of each function of a family."""
    listed, _ = families()[family]
    return list({sample.op: sample for sample in reversed(listed)}.values())


def bits(tensor: Any) -> bytes:
    return np.ascontiguousarray(tensor.detach().resolve_conj().numpy()).tobytes()


def described(results: Any, inputs: list[Any]) -> list[Any]:
    """What a call may be known by: bits and layouts of results and inputs, who shares memory with whom, versions."""
    tensors = [one for one in (*outputs_of(results), *inputs) if isinstance(one, polyad.Tensor)]
    storages = [one._storage or one._make_storage() for one in tensors]
    return [
        (bits(one), one.dtype, one.shape, one.stride(), one.storage_offset(), one._version, one.requires_grad,
         storages.index(one._storage), [one is other for other in tensors])
        for one in tensors
    ]  # fmt: skip


def whole_way(function: Any, inputs: Any) -> Graph:
    """*inputs*() gives equal new arguments each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", polyad.jit.BakedValueWarning)
        graph = polyad.jit.capture(function, *inputs())
    graphs.verify(graph)
    text = graph.text
    read = graphs.parse(text, graph.state)
    assert read.text == text
    found = []
    drawn = [one for one in (polyad.default_generator, *read.state.values()) if isinstance(one, polyad.Generator)]
    for call in (function, read):
        for generator in drawn:
            generator.manual_seed(3)
        args = inputs()
        found.append(described(call(*args), [one for one in outputs_of(args) if isinstance(one, polyad.Tensor)]))
    assert found[0] == found[1], text
    return graph


def has_tensors(args: Any) -> bool:
    return any(isinstance(one, np.ndarray) for one in outputs_of(args))


def check_call(sample: Sample) -> None:
    given = draw(sample, sample.dtypes[-1], 0)
    kwargs, _ = kwargs_of(sample, sample.dtypes[-1], "cpu", given)
    function, layouts = function_of(sample), (transposed, contiguous) if sample.layouts else (contiguous,)
    if has_tensors(given):
        whole_way(lambda *args: function(*args, **kwargs), lambda: place(given, layouts, "cpu")[0])
    else:
        whole_way(lambda _: function(*given, **kwargs), lambda: (polyad.ones(1),))


def check_write(sample: Sample) -> None:
    """The in-place form of the sample's function, between other tensors over the same memory."""
    given = draw(sample, sample.dtypes[-1], 0)
    public = PUBLIC.get(sample.op)
    if public is None or not public.inplace or not given or not isinstance(given[0], np.ndarray):
        return
    kwargs, _ = kwargs_of(sample, sample.dtypes[-1], "cpu", given)
    name = sample.op.rpartition(".")[2] + "_"

    def work(first, *rest):
        memory = first.clone()
        before, row = memory.detach(), memory.reshape(-1)[1:]
        result = getattr(memory, name)(*rest, **kwargs)
        row.add_(1)
        return result, before, row, memory.sum()

    try:
        work(*place(given, (contiguous,), "cpu")[0])
    except (RuntimeError, TypeError):
        return  # the result does not fit
    whole_way(work, lambda: place(given, (contiguous,), "cpu")[0])


def check_gradient(sample: Sample, create_graph: bool) -> None:
    """The gradients that the call has, asked for inside of what is captured: nothing of the example is baked in."""
    given = draw(sample, sample.dtypes[-1], 0)
    kwargs, _ = kwargs_of(sample, sample.dtypes[-1], "cpu", given)
    function = function_of(sample)

    def inputs() -> Any:
        args = place(given, (contiguous,), "cpu")[0]
        for one in outputs_of(args):
            if isinstance(one, polyad.Tensor) and one.dtype.is_floating_point:
                one.requires_grad_()
        return args

    def work(*args: Any) -> Any:
        leaves = [one for one in outputs_of(args) if isinstance(one, polyad.Tensor) and one.requires_grad]
        found = outputs_of(function(*args, **kwargs))
        for order in range(1 + create_graph):
            roots = [one for one in found if isinstance(one, polyad.Tensor) and one.requires_grad]
            if not roots:
                break
            ones = [polyad.ones_like(one) for one in roots]
            found = polyad.autograd.grad(roots, leaves, ones, create_graph=order < create_graph, allow_unused=True)
        return [one for one in found if one is not None]

    try:
        work(*inputs())
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
        return  # there is no gradient, or no second one
    assert whole_way(work, inputs).constants == []


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("create_graph", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_replay_of_the_gradient_of_any_call_equals_it(family: str, create_graph: bool) -> None:
    for sample in first_samples(family):
        if has_tensors(draw(sample, sample.dtypes[-1], 0)):
            check_gradient(sample, create_graph)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_replay_of_any_call_equals_it(family: str) -> None:
    for sample in first_samples(family):
        check_call(sample)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_replay_of_any_write_equals_it(family: str) -> None:
    for sample in first_samples(family):
        check_write(sample)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_training_step_read_from_a_text_trains_as_the_step_does(kind: str) -> None:
    inputs = [polyad.randn(5, 3) for _ in range(3)]

    def losses(through_text: bool) -> list[float]:
        polyad.manual_seed(0)
        model = polyad.nn.Sequential(polyad.nn.Linear(3, 4), polyad.nn.ReLU(), polyad.nn.Linear(4, 1))
        optimizer = getattr(polyad.optim, kind)(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        step(inputs[0])
        taken: Any = step
        if through_text:
            graph = polyad.jit.capture(step, inputs[0])
            read, numbers = graphs.parse(graph.text, graph.state), {one.name: one.captured for one in graph.numbers}
            taken = lambda x: read(x, **numbers)  # noqa: E731
        else:
            step(inputs[0])
        return [taken(x).item() for x in inputs]

    assert losses(through_text=True) == losses(through_text=False)
