"""`polyad.utils.benchmark`: what it says of times that are given; the clock is a counter."""

import itertools

import pytest

import polyad
from polyad.utils import benchmark
from polyad.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def clock(step=0.001):
    ticks = itertools.count()
    return lambda: next(ticks) * step


def took(times, *, sub="small", way="old", runs=1, threads=1, label="f"):
    return Measurement(runs, times, TaskSpec("f(x)", "pass", "", label, sub, way, None, threads))


def test_a_measurement():
    one = took([2e-3, 3e-3, 4e-3, 7e-3], runs=10)
    assert one.times == pytest.approx([2e-4, 3e-4, 4e-4, 7e-4])
    assert (one.median, one.mean) == (pytest.approx(3.5e-4), pytest.approx(4e-4))
    assert one.iqr == pytest.approx(2e-4)
    assert one.has_warnings
    assert not one.meets_confidence(0.1)
    assert took([1e-3, 1.01e-3, 1e-3]).meets_confidence()
    assert (one.label, one.sub_label, one.description, one.num_threads) == ("f", "small", "old", 1)
    assert "median 350 us" in repr(one)
    assert "4 measurements of 10 runs each, 1 thread" in repr(one)
    assert "1 ms" in repr(took([1e-3]))
    merged = Measurement.merge([took([1.0]), took([3.0]), took([2.0], way="new")])
    assert [each.raw_times for each in merged] == [[1.0, 3.0], [2.0]]
    with pytest.raises(AttributeError):
        one.nothing()


def test_a_timer_runs_the_statement_as_often_as_it_says():
    seen = []
    timed = Timer("seen.append(x)", setup="x = 3", globals={"seen": seen}, timer=clock(), label="append")
    measured = timed.timeit(200)
    assert seen == [3] * 202  # two do not count
    assert (measured.number_per_run, measured.raw_times) == (200, [pytest.approx(0.001)])
    assert measured.title == "append"


@pytest.mark.parametrize("method", ["blocked_autorange", "adaptive_autorange"])
def test_ranges_take_several_measurements(method):
    told = []
    timed = Timer("polyad.ones(2) + 1", globals={"polyad": polyad}, timer=clock())
    measured = getattr(timed, method)(min_run_time=0.01, callback=lambda number, seconds: told.append(number))
    assert len(measured.raw_times) == len(told) >= 4
    assert set(told) == {measured.number_per_run}
    assert measured.median > 0


def test_threads_are_set_and_put_back():
    seen, before = [], polyad.get_num_threads()
    statement = "seen.append(threads())"
    Timer(statement, globals={"seen": seen, "threads": polyad.get_num_threads}, num_threads=3, timer=clock()).timeit(1)
    assert set(seen) == {3}
    assert polyad.get_num_threads() == before


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Timer("1;", language="c++"), NotImplementedError),
        (lambda: Timer("pass").repeat(), NotImplementedError),
        (lambda: Timer("pass").collect_callgrind(), NotImplementedError),
        (lambda: Timer(len), ValueError),
        (lambda: benchmark.Fuzzer(), NotImplementedError),
        (lambda: benchmark.trim_sigfig(1.0, 0), ValueError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        call()


def test_tables(capsys):
    results = [
        took([3e-6]),
        took([1e-6], way="new"),
        took([5.1234e-4, 5.1e-4, 9e-4], sub="large"),
        took([2e-6], threads=4),
        took([1.0], label="g"),
    ]
    table = Compare(results)
    table.highlight_warnings()
    first, second = str(table).split("\n\n")
    assert first.splitlines()[1].split() == ["old", "new"]
    assert [line.split() for line in first.splitlines()[2:7]] == [
        ["1", "thread"], ["small", "3", "1"], ["large", "(!)", "512.3"], ["4", "threads"], ["small", "2"],
    ]  # fmt: skip
    assert "microseconds (us)" in first
    assert " g " in second.splitlines()[0]
    table.trim_significant_figures()
    table.colorize(rowwise=True)
    table.print()
    shown = capsys.readouterr().out
    assert "\x1b[32m1\x1b[0m" in shown
    assert "\x1b[32m3\x1b[0m" not in shown
    assert "512.3" not in shown
