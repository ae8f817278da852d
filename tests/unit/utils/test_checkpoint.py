"""Checkpointing: the gradients of the plain call, less memory, and clear words where the function is not repeatable."""

from __future__ import annotations

import contextlib
import gc
import itertools
import tracemalloc
import warnings
import weakref
from collections.abc import Callable

import pytest

import polyad
import polyad.nn.functional as F
from polyad import nn, optim
from polyad.autograd.graph import saved_tensors_hooks
from polyad.dispatch.modes import Mode
from polyad.errors import ArgumentError, ArgumentTypeError, AutogradError
from polyad.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


def block() -> nn.Sequential:
    polyad.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4), nn.Sigmoid())


def gradients(model: nn.Module) -> list:
    found = [parameter.grad.tolist() for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = None
    return found


def plain_and_checkpointed(work: Callable[[Callable], polyad.Tensor], model: nn.Module, **options) -> None:
    """The gradients of ``work(call)`` are the same with and without; bits, since the same kernels ran."""
    polyad.manual_seed(7)
    work(lambda function, *args, **kwargs: function(*args, **kwargs)).backward()
    plain = gradients(model)
    polyad.manual_seed(7)
    work(lambda function, *args, **kwargs: checkpoint(function, *args, **options, **kwargs)).backward()
    assert gradients(model) == plain


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


# ----------------------------------------------------------------------------------------------------- right gradients


def test_gradients_of_arguments_and_parameters() -> None:
    model = block()
    x = polyad.randn(3, 4, requires_grad=True)
    model(x).square().sum().backward()
    wanted, of_input = gradients(model), x.grad.tolist()
    x.grad = None
    checkpoint(model, x).square().sum().backward()
    assert gradients(model) == wanted
    assert x.grad.tolist() == of_input


def test_parameters_alone() -> None:
    model = block()
    plain_and_checkpointed(lambda call: call(model, polyad.ones(3, 4)).sum(), model)


def test_an_argument_with_a_history_and_one_used_twice() -> None:
    model = block()
    plain_and_checkpointed(
        lambda call: call(lambda a, b: (a * b).sum() + a.mean(), *[model(polyad.ones(2, 4))] * 2), model
    )


def test_arguments_that_are_no_tensors_keywords_and_structures() -> None:
    model = block()

    def work(x, times, *, pair, name, scale=None):
        assert name == "block"
        for _ in range(times):
            x = model(x) * scale
        return {"sum": x.sum() + pair[0].sum(), "rest": [x * pair[1], None, 3]}

    def run(call):
        result = call(work, polyad.ones(2, 4), 2, pair=(polyad.ones(1), 2.0), name="block", scale=polyad.tensor(0.5))
        assert result["rest"][1:] == [None, 3]
        return result["sum"] + result["rest"][0].sum()

    plain_and_checkpointed(run, model)


@pytest.mark.parametrize("depth", [2, 4])
def test_nested(depth: int) -> None:
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2**depth))

    def run(call):
        def part(x, start, end):
            if end - start == 1:
                return polyad.tanh(layers[start](x))
            middle = (start + end) // 2
            return call(part, call(part, x, start, middle), middle, end)

        return part(polyad.ones(2, 4), 0, len(layers)).sum()

    plain_and_checkpointed(run, layers)


def test_one_after_the_other_over_several_steps() -> None:
    def train(call) -> list:
        model = nn.Sequential(*[block() for _ in range(3)])
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            x = polyad.full((2, 4), 0.3)
            for layer in model:
                x = call(layer, x)
            x.square().sum().backward()
            optimizer.step()
        return [parameter.tolist() for parameter in model.parameters()]

    assert train(checkpoint) == train(lambda layer, x: layer(x))


def test_second_derivatives() -> None:
    x = polyad.tensor([0.5, 1.5], dtype=polyad.float64, requires_grad=True)

    def cubic(t):
        return (t.exp() * t.sin() + t**3).sum()

    def second(function) -> list:
        (slope,) = polyad.autograd.grad(function(x), x, create_graph=True)
        (curve,) = polyad.autograd.grad((slope**2).sum(), x, create_graph=True)
        (third,) = polyad.autograd.grad(curve.sum(), x)
        return [slope.tolist(), curve.tolist(), third.tolist()]

    assert second(lambda t: checkpoint(cubic, t)) == second(cubic)


def test_retained_graphs_are_computed_again_each_time() -> None:
    work = Counted(lambda t: t.exp().sum())
    x = polyad.ones(2, requires_grad=True)
    y = checkpoint(work, x)
    for backwards in (1, 2, 3):
        y.backward(retain_graph=True)
        assert work.calls == 1 + backwards
    assert polyad.allclose(x.grad, 3 * x.exp())


def test_gradients_of_some_inputs() -> None:
    model, work = block(), Counted(lambda t, m: m(t))
    x = polyad.randn(2, 4, requires_grad=True)
    (wanted,) = polyad.autograd.grad(model(x).sum(), x)
    assert polyad.autograd.grad(checkpoint(work, x, model).sum(), x)[0].tolist() == wanted.tolist()
    checkpoint(work, x, model).sum().backward(inputs=[model[0].weight])
    assert x.grad is None
    assert model[0].bias.grad is None
    assert model[0].weight.grad is not None


def test_no_grad_inside_and_outside() -> None:
    model = block()

    def half(x):
        with polyad.no_grad():
            fixed = model(x)
        return model(x) * fixed

    plain_and_checkpointed(lambda call: call(half, polyad.ones(2, 4)).sum(), model)
    work = Counted(model)
    with polyad.no_grad():
        assert not checkpoint(work, polyad.ones(2, 4)).requires_grad
    assert work.calls == 1


def test_results_that_need_no_gradient_and_nothing_saved() -> None:
    x = polyad.ones(2, requires_grad=True)
    y, index, text = checkpoint(lambda t: (t + 1, t.argmax(), "text"), x)
    assert text == "text"
    assert not index.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_views_and_writes_in_the_function() -> None:
    x = polyad.randn(3, 4, requires_grad=True)

    def work(t):
        y = t.exp().clone()
        y[0].mul_(2)
        y[:, 1] = t[:, 0].sin()
        return (y * y).sum()

    (wanted,) = polyad.autograd.grad(work(x), x)
    assert polyad.autograd.grad(checkpoint(work, x), x)[0].tolist() == wanted.tolist()


def test_functions_with_a_backward_of_their_own() -> None:
    class Cube(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * x)
            return x * x * x

        @staticmethod
        def backward(ctx, gradient):
            x, square = ctx.saved_tensors
            assert polyad.equal(x * x, square)
            return gradient * 3 * square

    x = polyad.tensor([2.0, 3.0], requires_grad=True)
    work = Counted(lambda t: Cube.apply(t).exp().log().sum())
    checkpoint(work, x).backward()
    assert polyad.allclose(x.grad, 3 * x * x, rtol=1e-4)
    assert work.calls == 2


def test_transforms_of_functions() -> None:
    x = polyad.tensor([0.3, 0.7], dtype=polyad.float64)

    def work(t):
        return (t.sin() * t.exp()).sum()

    for transform in (
        polyad.func.grad,
        polyad.func.hessian,
        lambda f: polyad.func.grad(lambda t: polyad.func.grad(f)(t).sum()),
    ):
        got = transform(lambda t: checkpoint(work, t))(x)
        assert polyad.allclose(got, transform(work)(x), rtol=1e-12)


def test_backward_within_the_function() -> None:
    x = polyad.ones(2, requires_grad=True)

    def work(t):
        inner = t.detach().requires_grad_()
        (slope,) = polyad.autograd.grad((inner**3).sum(), inner)
        return (t.exp() * slope).sum()

    checkpoint(work, x).backward()
    assert polyad.allclose(x.grad, 3 * x.exp())


# ------------------------------------------------------------------------------------------------------- the same state


@pytest.mark.parametrize("reentrant", [False, True])
def test_random_numbers_are_the_same_and_go_on(reentrant: bool) -> None:
    def run(call) -> tuple[list, list]:
        polyad.manual_seed(3)
        x = polyad.ones(50, requires_grad=True)
        y = call(lambda t: F.dropout(t * 2, 0.5), x)
        polyad.rand(5)
        (y * y).sum().backward()
        return x.grad.tolist(), polyad.rand(3).tolist()

    assert run(lambda f, x: checkpoint(f, x, use_reentrant=reentrant)) == run(lambda f, x: f(x))


def test_random_numbers_left_to_chance() -> None:
    x = polyad.ones(500, requires_grad=True)
    y = checkpoint(lambda t: (F.dropout(t, 0.5) * t).exp(), x, preserve_rng_state=False)
    polyad.rand(3)
    y.sum().backward()
    dropped_first, dropped_again = y == 1, x.grad == 1
    assert not polyad.equal(dropped_first, dropped_again)


def test_modes_that_change_results_come_back() -> None:
    class Doubled(Mode):
        """Stands for autocast: exp is another function."""

        alters = True

        def dispatch(self, op, args):
            return op.call(args[0] * 2) if op.name == "exp" else op.call(*args)

    class Seen(Mode):
        def __init__(self) -> None:
            self.names: list[str] = []

        def dispatch(self, op, args):
            self.names.append(op.name)
            return op.call(*args)

    x = polyad.tensor([1.0], requires_grad=True)
    with Doubled(), Seen() as seen:
        y = checkpoint(lambda t: t.exp(), x)
    names = list(seen.names)
    y.backward()
    assert seen.names == names
    assert polyad.allclose(x.grad, 2 * (2 * x).exp())


def test_default_device_comes_back(monkeypatch) -> None:
    devices = []
    x = polyad.ones(2, requires_grad=True)
    with polyad.device("cpu"):
        y = checkpoint(lambda t: (devices.append(polyad.base.state.state.default_device), t.exp())[1], x)
    y.sum().backward()
    assert devices[0] is devices[1] is not None


def test_contexts_around_both_calls() -> None:
    entered = []

    @contextlib.contextmanager
    def noted(name):
        entered.append(name)
        yield
        entered.append(f"end of {name}")

    x = polyad.ones(2, requires_grad=True)
    y = checkpoint(lambda t: t.exp().sum(), x, context_fn=lambda: (noted("first"), noted("second")))
    assert entered == ["first", "end of first"]
    with set_checkpoint_early_stop(False):
        y.backward()
    assert entered[2] == "second"
    assert len(noop_context_fn()) == 2


# ------------------------------------------------------------------------------------------------ stopping and memory


def test_early_stop() -> None:
    ends = []

    def work(t):
        y = t.exp()
        ends.append("end")
        return y + 1

    x = polyad.ones(2, requires_grad=True)
    checkpoint(work, x).sum().backward()
    assert len(ends) == 1
    checkpoint(work, x, early_stop=False).sum().backward()
    assert len(ends) == 3
    with set_checkpoint_early_stop(False):
        y = checkpoint(work, x)
    y.sum().backward()
    assert len(ends) == 5


def test_early_stop_passes_handlers_and_leaves_contexts() -> None:
    trail = []

    def work(t):
        try:
            try:
                return t.exp()
            except Exception:
                trail.append("handled")
                return t
        finally:
            trail.append("finally")

    x = polyad.ones(2, requires_grad=True)
    checkpoint(work, x).sum().backward()
    assert trail == ["finally", "finally"]
    assert polyad.allclose(x.grad, x.exp())


def test_each_call_is_repeated_once_and_nested_ones_once_a_level() -> None:
    inner = Counted(lambda t: t.exp().sin())
    x = polyad.ones(2, requires_grad=True)
    checkpoint(lambda t: checkpoint(inner, t.cos()).tan(), x).sum().backward()
    # The first call, its repetition within the outer one's, and its own repetition.
    assert inner.calls == 3


def test_everything_is_freed_without_the_collector() -> None:
    model = block()
    x = polyad.ones(2, 4, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        middle = x * 1
        y = checkpoint(model, middle).sum()
        seen = [weakref.ref(middle), weakref.ref(y.grad_fn)]
        y.backward()
        del middle, y
        assert [ref() for ref in seen] == [None, None]
        middle = x * 1
        y = checkpoint(model, middle)
        seen = [weakref.ref(middle), weakref.ref(y.grad_fn)]
        del middle, y
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


class Wide(nn.Module):
    """Saves much and returns little."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(32, 128), nn.Linear(128, 32)

    def forward(self, x):
        return self.down(polyad.tanh(polyad.sigmoid(polyad.tanh(self.up(x)))))


def peak(work: Callable[[], None]) -> int:
    work()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_memory_of_twelve_blocks() -> None:
    blocks = nn.ModuleList(Wide() for _ in range(12))
    x = polyad.randn(256, 32)

    def step(call) -> Callable[[], None]:
        def run() -> None:
            y = x
            for one in blocks:
                y = call(one, y)
            y.sum().backward()
            for parameter in blocks.parameters():
                parameter.grad = None

        return run

    plain, checkpointed = peak(step(lambda one, y: one(y))), peak(step(checkpoint))
    # A block saves 4 times 128 KiB and its input of 32 KiB; checkpointed, 12 inputs and one block's are alive at once.
    assert checkpointed < plain / 3
    sequential = peak(lambda: checkpoint_sequential(blocks, 4, x).sum().backward())
    assert sequential < plain / 2


def test_nested_checkpoints_keep_what_the_outer_one_keeps() -> None:
    kept = []
    x = polyad.randn(1000, requires_grad=True)

    def inner(t):
        return t.exp().sin()

    def outer(t):
        for _ in range(10):
            t = checkpoint(inner, t)
        return t

    with saved_tensors_hooks(lambda tensor: kept.append(tensor.numel()) or tensor, lambda tensor: tensor):
        y = checkpoint(outer, x)
    # All that is left for hooks outside is the outer call's argument.
    assert kept == [1000]
    y.sum().backward()
    t = x.detach().requires_grad_()
    outer_plain = t
    for _ in range(10):
        outer_plain = inner(outer_plain)
    outer_plain.sum().backward()
    assert x.grad.tolist() == t.grad.tolist()


# ---------------------------------------------------------------------------------------------------- not repeatable


def test_another_shape_is_named_with_its_place_and_line() -> None:
    sizes = itertools.count(3)

    def work(t):
        y = t.exp()
        z = polyad.ones(next(sizes), requires_grad=True).sin()
        return y.sum() + z.sum()

    y = checkpoint(work, polyad.ones(2, requires_grad=True))
    with pytest.raises(
        CheckpointError, match="the two calls differ from saved tensor 2 on; the first saved 2"
    ) as caught:
        y.backward()
    text = str(caught.value)
    for part in ("float32 (3,) on cpu", "float32 (4,) on cpu", "at        test_checkpoint.py:", "work", "fix"):
        assert part in text, part
    assert isinstance(caught.value, RuntimeError)


def test_another_dtype_is_named() -> None:
    dtypes = iter([polyad.float32, polyad.float64])
    y = checkpoint(lambda t: t.to(next(dtypes)).exp(), polyad.ones(2, requires_grad=True))
    with pytest.raises(CheckpointError, match=r"first +float32 \(2,\) on cpu\n +second +float64 \(2,\) on cpu"):
        y.sum().backward()


def test_fewer_and_more_tensors() -> None:
    def work(turns):
        def call(t):
            for _ in range(next(turns)):
                t = t.exp()
            return t

        return call

    x = polyad.ones(2, requires_grad=True)
    with pytest.raises(CheckpointError, match=r"saved tensor 3 on; the first saved 3\n(.*\n)* +second +nothing more"):
        checkpoint(work(iter([3, 2])), x).sum().backward()
    with pytest.raises(CheckpointError, match=r"saved tensor 3 on; the first saved 2\n(.*\n)* +first +nothing more"):
        checkpoint(work(iter([2, 3])), x, early_stop=False).sum().backward()


def test_without_the_check() -> None:
    dtypes = iter([polyad.float32, polyad.float64])
    x = polyad.ones(2, requires_grad=True)
    checkpoint(lambda t: t.to(next(dtypes)).exp(), x, determinism_check="none").sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("switch", ["argument", "context"])
def test_debug_shows_the_ops_of_both_calls(switch: str) -> None:
    functions = iter([polyad.exp, polyad.cat])
    x = polyad.ones(2, requires_grad=True)

    def work(t):
        return polyad.sigmoid(t).sin() if next(functions) is polyad.exp else t[:1].sin()

    with set_checkpoint_debug_enabled(True if switch == "context" else None):
        y = checkpoint(work, x, debug=switch == "argument")
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    (note,) = caught.value.__notes__
    first, second = note.split("ops of the second call:")
    assert "sigmoid(float32 (2,) on cpu)" in first
    assert "sigmoid" not in second
    assert "sin(float32 (1,) on cpu)" in second


def test_an_argument_changed_afterwards() -> None:
    x = polyad.ones(2, requires_grad=True)
    middle = x * 2
    y = checkpoint(lambda t: t.exp(), middle)
    middle.mul_(2)
    with pytest.raises(
        AutogradError, match=r"argument was changed in place(.*\n)* +changed +by mul_ \(test_checkpoint"
    ):
        y.sum().backward()


def test_an_error_in_the_second_call_is_the_users() -> None:
    calls = itertools.count()

    def work(t):
        if next(calls):
            raise KeyError("gone")
        return t.exp()

    before = polyad.get_rng_state().tolist()
    y = checkpoint(work, polyad.ones(2, requires_grad=True))
    with pytest.raises(KeyError, match="gone"):
        y.sum().backward()
    assert polyad.get_rng_state().tolist() == before
    assert polyad.is_grad_enabled()


# ------------------------------------------------------------------------------------------------------ the older way


def test_reentrant_gradients() -> None:
    model = block()
    x = polyad.randn(3, 4, requires_grad=True)
    model(x).square().sum().backward()
    wanted, of_input = gradients(model), x.grad.tolist()
    x.grad = None
    checkpoint(lambda t, n: (model(t), n)[0], x, 3, use_reentrant=True).square().sum().backward()
    assert gradients(model) == wanted
    assert x.grad.tolist() == of_input


def test_reentrant_limits() -> None:
    model = block()
    x = polyad.ones(2, 4, requires_grad=True)
    with pytest.raises(AutogradError, match="use_reentrant=False"):
        polyad.autograd.grad(checkpoint(model, x, use_reentrant=True).sum(), x)
    with pytest.raises(AutogradError, match="use_reentrant=False"):
        checkpoint(model, x, use_reentrant=True).sum().backward(inputs=[x])
    with pytest.raises(AutogradError, match="second derivatives"):
        checkpoint(model, x, use_reentrant=True).sum().backward(create_graph=True)
    with pytest.raises(ArgumentError, match="keyword arguments, and was given scale"):
        checkpoint(model, x, use_reentrant=True, scale=2)
    with pytest.raises(ArgumentError, match="context_fn and debug"):
        checkpoint(model, x, use_reentrant=True, debug=True)
    with pytest.warns(UserWarning, match="no argument requires a gradient"):
        assert not checkpoint(model, polyad.ones(2, 4), use_reentrant=True).requires_grad
    with pytest.raises(AutogradError, match="no result requires a gradient"):
        checkpoint(lambda t: t.detach(), x, use_reentrant=True).sum().backward()


def test_reentrant_several_results_one_unused() -> None:
    x = polyad.ones(2, requires_grad=True)
    first, _ = checkpoint(lambda t: (t.exp(), t.sin()), x, use_reentrant=True)
    first.sum().backward()
    assert polyad.allclose(x.grad, x.exp())


# ---------------------------------------------------------------------------------------------------------- sequential


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
@pytest.mark.parametrize("reentrant", [None, True])
def test_sequential(segments: int, reentrant: bool | None) -> None:
    model = nn.Sequential(*[layer for _ in range(3) for layer in (nn.Linear(4, 4), nn.Tanh())])
    x = polyad.randn(2, 4, requires_grad=True)
    model(x).sum().backward()
    wanted, of_input = gradients(model), x.grad.tolist()
    for given in (model, list(model)):
        x.grad = None
        checkpoint_sequential(given, segments, x, use_reentrant=reentrant).sum().backward()
        assert gradients(model) == wanted
        assert x.grad.tolist() == of_input


def test_all_but_the_last_segment_are_checkpointed() -> None:
    steps = [Counted(lambda t: t.exp().sin()) for _ in range(7)]
    checkpoint_sequential(steps, 3, polyad.ones(2, requires_grad=True)).sum().backward()
    assert [step.calls for step in steps] == [2, 2, 2, 2, 1, 1, 1]


# -------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: checkpoint(3, x), ArgumentTypeError),
        (lambda x: checkpoint(polyad.exp, x, determinism_check="strict"), ArgumentError),
        (lambda x: checkpoint_sequential([polyad.exp], 2, x), ArgumentError),
        (lambda x: checkpoint_sequential([polyad.exp], 0, x), ArgumentError),
        (lambda x: checkpoint_sequential([polyad.exp], 1, x, context_fn=None), ArgumentError),
    ],
)
def test_wrong_options(call: Callable, error: type[Exception]) -> None:
    with pytest.raises(error, match="checkpoint"):
        call(polyad.ones(2, requires_grad=True))


def test_lint_takes_the_second_call_for_no_step_of_the_program() -> None:
    model = nn.Sequential(block(), block()).eval()
    with warnings.catch_warnings(), polyad.lint() as session:
        warnings.simplefilter("error")
        for _ in range(5):
            x = polyad.ones(2, 4)
            for one in model:
                x = checkpoint(one, x)
            x.sum().backward()
    assert session.found == []


def test_under_capture_the_replay_has_the_same_gradients() -> None:
    model = block()
    x = polyad.randn(2, 4)
    graph = polyad.jit.capture(lambda t: checkpoint(model, t).sum(), x)
    checkpoint(model, x).sum().backward()
    wanted = gradients(model)
    graph(x).backward()
    assert gradients(model) == wanted


def slope_of(function):
    def slope(x):
        with polyad.enable_grad():
            (found,) = polyad.autograd.grad(function(x).sum(), x, create_graph=True)
        return found

    return slope


def checkpointed(function):
    return lambda x: checkpoint(function, x, use_reentrant=False)


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: checkpointed(slope_of(f)),
        lambda f: checkpointed(slope_of(checkpointed(f))),
        lambda f: slope_of(checkpointed(slope_of(checkpointed(f)))),
        lambda f: checkpointed(slope_of(slope_of(checkpointed(f)))),
        lambda f: checkpointed(checkpointed(checkpointed(f))),
    ],
)
def test_backward_passes_within(wrap, early_stop):
    x = polyad.tensor([0.3, 0.7], dtype=polyad.float64, requires_grad=True)
    plain = wrap(polyad.sin)
    with set_checkpoint_early_stop(early_stop):
        result = plain(x)
    (found,) = polyad.autograd.grad(result.sum(), x)
    depth = {"sin": polyad.sin(x), "cos": polyad.cos(x), "-sin": -polyad.sin(x)}
    name = next(name for name, value in depth.items() if polyad.allclose(result, value))
    (expected,) = polyad.autograd.grad(depth[name].sum(), x)
    polyad.testing.assert_close(found, expected)
