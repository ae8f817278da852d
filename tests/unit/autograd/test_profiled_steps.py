"""`polyad.profiler`: which steps are recorded, and what becomes of them."""

import gzip
import json

import pytest

import polyad
from polyad.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

NONE, WARMUP, RECORD, SAVE = ProfilerAction


def counts(profiled):
    return {average.key: average.count for average in profiled.key_averages()}


def test_schedules():
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=3)
    assert [plan(step) for step in range(13)] == [NONE] * 3 + [NONE, WARMUP, RECORD, SAVE] * 2 + [NONE, NONE]
    assert [schedule(wait=0, warmup=0, active=1)(step) for step in range(3)] == [SAVE] * 3
    assert schedule(wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1)(1) is WARMUP
    with pytest.raises(AssertionError, match="active=0"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(AssertionError, match="step -1"):
        plan(-1)


def test_all_steps_without_a_schedule():
    ready = []
    with profile(on_trace_ready=ready.append) as profiled:
        for _ in range(3):
            polyad.ones(2).exp()
            profiled.step()
    assert counts(profiled)["exp"] == 3
    assert ready == [profiled]
    assert profiled.step_num == 3


def test_chosen_steps():
    found = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=lambda one: found.append(counts(one))
    ) as profiled:
        for step in range(10):
            with record_function(f"number {step}"):
                polyad.ones(2).exp()
            profiled.step()
    labels = [sorted(name for name in each if name[0] in "Pn") for each in found]
    assert [each["exp"] for each in found] == [2, 2]
    assert labels == [
        ["ProfilerStep#2", "ProfilerStep#3", "number 2", "number 3"],
        ["ProfilerStep#6", "ProfilerStep#7", "number 6", "number 7"],
    ]


def test_a_recording_that_is_cut_off_is_handed_over():
    ready = []
    with profile(schedule=schedule(wait=0, warmup=1, active=5), on_trace_ready=ready.append) as profiled:
        polyad.ones(2).exp()
        profiled.step()
        polyad.ones(2).exp()
    assert ready == [profiled]
    assert counts(profiled)["exp"] == 1


@pytest.mark.parametrize("packed", [False, True])
def test_files_for_tensorboard(tmp_path, packed):
    handler = tensorboard_trace_handler(str(tmp_path / "log"), worker_name="w", use_gzip=packed)
    with profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=2), on_trace_ready=handler) as profiled:
        for _ in range(3):
            polyad.ones(2).exp()
            profiled.step()
    files = sorted((tmp_path / "log").iterdir())
    assert len(files) == 2
    assert all(file.name.startswith("w.") and file.name.endswith(".gz") == packed for file in files)
    text = gzip.decompress(files[0].read_bytes()) if packed else files[0].read_bytes()
    assert "exp" in [event["name"] for event in json.loads(text)["traceEvents"]]


def test_what_is_not_measured_is_said():
    assert supported_activities() == {ProfilerActivity.CPU}
    with pytest.warns(UserWarning, match="CUDA: times are the host's"):
        profiled = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with profiled:
        polyad.ones(2).exp()
    with pytest.warns(UserWarning, match="cuda_time_total is not measured; sorted by cpu_time_total"):
        assert "exp" in profiled.key_averages().table(sort_by="cuda_time_total", row_limit=10)
    with pytest.warns(UserWarning, match="sorted by self_cpu_time_total"):
        profiled.key_averages().table(sort_by="self_device_time_total")
    with pytest.raises(ValueError, match="sort_by"):
        profiled.key_averages().table(sort_by="flops")
    with pytest.raises(TypeError, match="activities"):
        profile(activities=["cpu"])
    with pytest.raises(RuntimeError, match="nothing was recorded in 1 steps"):
        profile(schedule=schedule(wait=5, warmup=0, active=1)).key_averages()


def test_modes_are_left_where_a_step_fails():
    with pytest.raises(ZeroDivisionError), profile(schedule=schedule(wait=0, warmup=0, active=1)):
        1 / 0  # noqa: B018
    with profile() as profiled:
        polyad.ones(2).exp()
    assert counts(profiled)["exp"] == 1
    assert not any("Step" in name for name in counts(profiled))
