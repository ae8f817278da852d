"""Values that another thread brings."""

from __future__ import annotations

import threading

import pytest

import polyad
from polyad.futures import Future, collect_all, wait_all


def test_a_value_arrives_from_another_thread() -> None:
    future: Future[int] = Future()
    threading.Timer(0.02, future.set_result, (7,)).start()
    assert future.wait() == 7
    assert future.done()
    assert polyad.Future is polyad.jit.Future is Future


def test_what_is_not_there_and_what_is_there_already() -> None:
    future: Future[int] = Future()
    with pytest.raises(RuntimeError, match="no value yet"):
        future.value()
    future.set_result(1)
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(2)
    assert future.value() == 1


def test_errors_go_down_the_chain() -> None:
    future: Future[int] = Future()
    after = future.then(lambda done: done.value() + 1)
    future.set_exception(KeyError("gone"))
    with pytest.raises(KeyError, match="gone"):
        after.wait()


def test_all_of_them() -> None:
    futures: list[Future[int]] = [Future(), Future()]
    every = collect_all(futures)
    futures[0].set_exception(ValueError("first"))
    assert not every.done()
    futures[1].set_result(1)
    with pytest.raises(ValueError, match="first"):
        every.wait()
    assert wait_all([futures[1]]) == [1]
    assert collect_all([]).wait() == []


def test_callbacks_that_raise_are_told() -> None:
    future: Future[int] = Future()
    future.add_done_callback(lambda done: 1 // done.value())  # type: ignore[func-returns-value, arg-type, return-value]
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        future.set_result(0)
