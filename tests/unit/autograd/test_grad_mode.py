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


# ------------------------------------------------------------------------------------------------------ inference_mode


def _made_in_inference_mode() -> polyad.Tensor:
    with polyad.inference_mode():
        return polyad.ones(2)


def test_what_inference_mode_makes_is_marked() -> None:
    x = polyad.ones(2, requires_grad=True)
    with polyad.inference_mode():
        made = {
            "a result": x * 2,
            "a creation": polyad.zeros(2),
            "data": polyad.tensor([1.0]),
            "of several results": x.topk(1).values,
            "a decomposition": polyad.nn.functional.silu(x),
            "a cast": x.double(),
            "a clone": x.clone(),
            "a view": polyad.ones(2)[0],
            "a part": polyad.ones(2, 2).unbind()[0],
            "a real part": polyad.ones(2, dtype=polyad.complex64).real,
            "an alias": polyad.ones(2).detach(),
            "what is in place": polyad.ones(2).add_(1),
        }
        assert not x.is_inference()
        assert not x.view(2).is_inference()
        assert not x.detach().is_inference()
        with polyad.inference_mode(False):
            assert not (x * 2).is_inference()
            assert (x * 2).requires_grad
            assert not polyad.is_inference_mode_enabled()
        assert polyad.is_inference_mode_enabled()
        assert (x * 2).is_inference()
    assert not polyad.is_inference_mode_enabled()
    assert not (x * 2).is_inference()
    assert [name for name, tensor in made.items() if not tensor.is_inference()] == []
    assert made["a result"].view(1, 2).is_inference()
    assert not made["a result"].clone().is_inference()
    assert not (made["a result"] * 2).is_inference()


def test_inference_mode_is_the_threads_own_and_outlives_other_modes() -> None:
    import threading

    found: list[bool] = []
    with polyad.inference_mode():
        thread = threading.Thread(target=lambda: found.append(polyad.ones(1).is_inference()))
        thread.start()
        thread.join()
        with polyad.autograd.profiler.profile():
            assert polyad.ones(1).is_inference()
        assert polyad.ones(1).is_inference()
    assert found == [False]


def test_backward_refuses_what_inference_mode_made() -> None:
    x, constant = polyad.ones(2, requires_grad=True), _made_in_inference_mode()
    assert (x + constant).requires_grad
    with pytest.raises(RuntimeError, match="made in inference_mode"):
        x * constant
    with pytest.raises(RuntimeError, match="made in inference_mode"):
        polyad.cat([x, x]) * constant[0]
    (x * constant.clone()).sum().backward()
    assert x.grad is not None
    assert not x.grad.is_inference()

    class Scale(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, input, by):
            ctx.save_for_backward(by)
            return input * by.clone()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    with pytest.raises(RuntimeError, match="made in inference_mode"):
        Scale.apply(x, constant)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.view(1, 2).zero_(),
        lambda x: x.copy_(polyad.ones(2)),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: polyad.exp(polyad.ones(2), out=x),
        lambda x: x.uniform_(),
        lambda x: x.requires_grad_(),
        lambda x: polyad.nn.Parameter(x),
        lambda x: x._version,
    ],
)
def test_what_inference_mode_made_is_not_changed_outside(write) -> None:
    x = _made_in_inference_mode()
    with pytest.raises(RuntimeError, match="made in inference_mode"):
        write(x)
    assert x.tolist() == [1, 1]
    with polyad.inference_mode():
        assert x.add_(1).tolist() == [2, 2]


def test_a_write_in_inference_mode_is_noticed_by_backward() -> None:
    x = polyad.ones(2, requires_grad=True)
    y = x.exp()
    with polyad.inference_mode():
        y.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


def test_views_of_what_inference_mode_made_require_no_gradient() -> None:
    with polyad.inference_mode():
        x = polyad.ones(2, 2, requires_grad=True)
    for view in (x[:1], x.t(), x.unbind()[0], x.view(4), x.split(1)[0]):
        assert view.is_inference()
        assert not view.requires_grad
        assert view.is_leaf
