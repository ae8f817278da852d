"""Switching recording on and off."""

import asyncio
import threading

import pytest

import polyad


def recorded() -> bool:
    return (polyad.ones(1, requires_grad=True) * 2).requires_grad


def test_contexts_nest_and_restore() -> None:
    with polyad.no_grad():
        assert not recorded()
        with polyad.enable_grad():
            assert recorded()
            with polyad.set_grad_enabled(False):
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


def test_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), polyad.no_grad():
        raise ZeroDivisionError
    assert recorded()


def test_one_object_can_be_used_again_and_inside_itself() -> None:
    off = polyad.no_grad()
    with off, off:
        assert not recorded()
    assert recorded()


def test_decorators_with_and_without_parentheses() -> None:
    assert polyad.no_grad(recorded)() is False
    assert polyad.no_grad()(recorded)() is False
    with polyad.no_grad():
        assert polyad.enable_grad()(recorded)() is True
    assert polyad.set_grad_enabled(False)(recorded)() is False
    assert recorded()


def test_generators_switch_only_while_they_run() -> None:
    @polyad.no_grad()
    def produce():
        got = yield recorded()
        yield got, recorded()

    generator = produce()
    assert next(generator) is False
    assert recorded()
    assert generator.send("sent") == ("sent", False)
    generator.close()
    assert recorded()


def test_coroutines() -> None:
    @polyad.no_grad()
    async def work():
        return recorded()

    assert asyncio.run(work()) is False
    assert recorded()


def test_a_coroutine_that_waits_leaves_other_tasks_alone() -> None:
    found = []

    @polyad.no_grad()
    async def inside(turn):
        for _ in range(3):
            found.append(("inside", recorded()))
            await asyncio.sleep(0)
        try:
            await turn
        except ValueError:
            found.append(("inside", recorded()))
        return "done"

    async def main():
        turn = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(inside(turn))
        for _ in range(3):
            await asyncio.sleep(0)
            found.append(("outside", recorded()))
        turn.set_exception(ValueError())
        return await task

    assert asyncio.run(main()) == "done"
    assert found.count(("inside", False)) == 4
    assert found.count(("outside", True)) == 3
    assert len(found) == 7


def test_asynchronous_generators() -> None:
    closed = []

    @polyad.no_grad()
    async def produce():
        try:
            got = yield recorded()
            await asyncio.sleep(0)
            try:
                yield got, recorded()
            except ValueError:
                yield "caught", recorded()
        finally:
            closed.append(recorded())

    async def main():
        generator = produce()
        assert await generator.asend(None) is False
        assert recorded()
        assert await generator.asend("sent") == ("sent", False)
        assert await generator.athrow(ValueError()) == ("caught", False)
        await generator.aclose()
        assert [one async for one in produce()] == [False, (None, False)]
        assert recorded()

    asyncio.run(main())
    assert closed == [False, False]


def test_numpy_sees_tensors_where_nothing_is_recorded() -> None:
    x = polyad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires a gradient, which NumPy would not track"):
        x.numpy()
    with polyad.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]


def test_threads_start_with_recording_on() -> None:
    found = []
    with polyad.no_grad():
        thread = threading.Thread(target=lambda: found.append(polyad.is_grad_enabled()))
        thread.start()
        thread.join()
    assert found == [True]


def test_wrong_type() -> None:
    with pytest.raises(TypeError, match="not a bool"):
        polyad.set_grad_enabled("no")
    assert polyad.is_grad_enabled()
