"""What NVIDIA's profilers are told of a program."""

import threading

import pytest
from cupy import simulation

import polyad
from polyad.autograd.profiler import emit_nvtx, record_function
from polyad.cuda import nvtx


@pytest.fixture
def told():
    simulation.told.clear()
    return simulation.told


def test_ranges_and_marks(told):
    assert (nvtx.range_push("a"), nvtx.range_push("b"), nvtx.range_pop(), nvtx.range_pop()) == (0, 1, 1, 0)
    nvtx.mark("now")
    number = nvtx.range_start("across")
    other = threading.Thread(target=lambda: nvtx.range_end(number))
    other.start()
    other.join()
    assert told == [
        ("push", "a"), ("push", "b"), ("pop",), ("pop",), ("mark", "now"), ("start", "across", number), ("end", number),
    ]  # fmt: skip
    assert nvtx.range_pop() == -1


def test_each_thread_has_its_own_depth(told):
    depths = []
    nvtx.range_push("main")
    other = threading.Thread(target=lambda: depths.extend((nvtx.range_push("other"), nvtx.range_pop())))
    other.start()
    other.join()
    assert (depths, nvtx.range_pop()) == ([0, 0], 0)


def test_a_range_is_a_context_and_a_decorator(told):
    @nvtx.range("step {}, {name}", 3, name="x")
    def step(y):
        return y + 1

    assert step(1) + step(2) == 5
    with pytest.raises(ZeroDivisionError), nvtx.range("fails"):
        1 / 0  # noqa: B018
    assert told == [("push", "step 3, x"), ("pop",)] * 2 + [("push", "fails"), ("pop",)]


@pytest.mark.parametrize("call", [nvtx.range_push, nvtx.mark, nvtx.range_start])
def test_names_are_texts(call):
    with pytest.raises(TypeError, match=r"nvtx\.\w+: msg"):
        call(3)
    with pytest.raises(TypeError, match="range_id"):
        nvtx.range_end("1")


def test_ops_and_labels(told):
    x = polyad.ones(2, 3, device="cuda", requires_grad=True)
    told.clear()
    with emit_nvtx(record_shapes=True), record_function("forward"):
        loss = (x * 2).sum()
    assert [name for _, *names in told for name in names] == [
        "forward",
        "mul, sizes = [[2, 3]]",
        "sum, sizes = [[2, 3]]",
    ]
    assert [what for what, *_ in told].count("pop") == 3
    told.clear()
    with emit_nvtx():
        loss.backward()
    assert told[0] == ("push", "backward")
    assert told[-1] == ("pop",)
    told.clear()
    with emit_nvtx(enabled=False):
        x.exp()
    assert told == []


def test_collecting(told):
    with polyad.cuda.profiler.profile():
        nvtx.mark("inside")
    assert (polyad.cuda.cudart().cudaProfilerStart(), polyad.cuda.cudart().cudaProfilerStop()) == (0, 0)
    assert told == [("collect", True), ("mark", "inside"), ("collect", False), ("collect", True), ("collect", False)]
