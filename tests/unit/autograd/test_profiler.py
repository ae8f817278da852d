"""The profiler: what it counts, and how times add up."""

import json

import pytest

import polyad
from polyad.autograd.profiler import profile, record_function


def test_ops_are_counted_forward_and_backward() -> None:
    x = polyad.ones(4, requires_grad=True)
    with profile() as profiled:
        for _ in range(3):
            y = x.exp().sum()
        y.backward()
    counts = {one.key: one.count for one in profiled.key_averages()}
    assert counts["exp"] == 3
    assert counts["sum"] == 3
    assert counts["backward"] == 1
    assert counts["mul"] >= 1  # the gradient of exp
    x.exp()
    assert {one.key: one.count for one in profiled.key_averages()} == counts


def test_times_inside_are_not_counted_twice() -> None:
    x = polyad.ones(4, requires_grad=True)
    with profile() as profiled, record_function("all of it"):
        (x * 2).sum().backward()
    averages = {one.key: one for one in profiled.key_averages()}
    whole = averages["all of it"]
    assert whole.cpu_time_total == pytest.approx(profiled.self_cpu_time_total, rel=1e-9)
    assert 0 < whole.self_cpu_time_total < whole.cpu_time_total
    assert averages["backward"].self_cpu_time_total < averages["backward"].cpu_time_total


def test_shapes_lines_and_files(tmp_path) -> None:
    @record_function("work")
    def work() -> None:
        polyad.zeros(2, 3) + 1
        polyad.zeros(4) + 1

    with profile(record_shapes=True, with_stack=True) as profiled:
        work()
    by_shape = [one.input_shapes for one in profiled.key_averages(group_by_input_shape=True) if one.key == "add"]
    assert by_shape == [((2, 3),), ((4,),)]
    assert all(event.line.startswith("test_profiler.py:") for event in profiled if event.name == "add")
    path = tmp_path / "trace.json"
    profiled.export_chrome_trace(str(path))
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    assert names.count("add") == 2
    assert names[-1] == "work"


def test_tables() -> None:
    with profile() as profiled:
        polyad.ones(2) + 1
    table = profiled.key_averages().table(sort_by="count", row_limit=1)
    assert len(table.splitlines()) == 5
    assert "# of Calls" in table
    with pytest.raises(ValueError, match="sort_by is 'name'"):
        profiled.table(sort_by="name")


def test_off_and_twice() -> None:
    with profile(enabled=False) as profiled:
        polyad.ones(2) + 1
    assert list(profiled) == []
    with pytest.raises(RuntimeError, match="entered already"), profiled:
        pass
    with record_function("nobody looks"):
        pass
