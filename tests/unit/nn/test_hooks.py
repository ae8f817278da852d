"""Forward hooks: order, replacement of arguments and results, removal, and what happens after errors."""

import copy
import warnings

import pytest

import polyad
from polyad import nn


class Echo(nn.Module):
    def forward(self, *args, **kwargs):
        if args == ("fail",):
            raise ValueError("forward failed")
        return args, kwargs


@pytest.fixture
def echo():
    return Echo()


def test_order_and_prepend(echo):
    order = []
    echo.register_forward_pre_hook(lambda *_: order.append("pre 1"))
    echo.register_forward_pre_hook(lambda *_: order.append("pre 2"), prepend=True)
    echo.register_forward_hook(lambda *_: order.append("post 1"))
    echo.register_forward_hook(lambda *_: order.append("post 2"), prepend=True)
    echo()
    assert order == ["pre 2", "pre 1", "post 2", "post 1"]


def test_pre_hook_replaces_arguments(echo):
    echo.register_forward_pre_hook(lambda module, args: args[0] + 1)
    echo.register_forward_pre_hook(lambda module, args: (*args, "more"))
    echo.register_forward_pre_hook(lambda module, args, kwargs: (args, {**kwargs, "b": 2}), with_kwargs=True)
    assert echo(1, a=1) == ((2, "more"), {"a": 1, "b": 2})


def test_pre_hook_with_kwargs_must_return_a_pair(echo):
    echo.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"None or \(args, kwargs\)"):
        echo()


def test_hook_sees_everything_and_replaces_the_result(echo):
    seen = []
    echo.register_forward_hook(lambda module, args, output: seen.append((module, args, output)))
    echo.register_forward_hook(lambda module, args, output: "new")
    echo.register_forward_hook(lambda module, args, kwargs, output: (kwargs, output), with_kwargs=True)
    assert echo(1, a=2) == ({"a": 2}, "new")
    assert seen == [(echo, (1,), ((1,), {"a": 2}))]


def test_removal(echo):
    handle = echo.register_forward_hook(lambda *_: "hooked")
    assert echo() == "hooked"
    handle.remove()
    handle.remove()
    assert echo() == ((), {})
    with echo.register_forward_pre_hook(lambda *_: ("hooked",)):
        assert echo() == (("hooked",), {})
    assert echo() == ((), {})


def test_hook_may_remove_itself(echo):
    calls = []

    def once(*_):
        calls.append(1)
        handle.remove()

    handle = echo.register_forward_hook(once)
    echo()
    echo()
    assert len(calls) == 1


def test_always_call(echo):
    seen = []
    echo.register_forward_hook(lambda module, args, output: seen.append("usual"))
    echo.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    echo(1)
    assert seen == ["usual", ((1,), {})]
    seen.clear()
    with pytest.raises(ValueError, match="forward failed"):
        echo("fail")
    assert seen == [None]


def test_always_call_after_a_failing_pre_hook(echo):
    seen = []
    echo.register_forward_pre_hook(lambda module, args: 1 / 0)
    echo.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(ZeroDivisionError):
        echo(1)
    assert seen == [None]


def test_second_error_in_an_always_called_hook_is_a_warning(echo):
    echo.register_forward_hook(lambda *_: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="division by zero"), pytest.raises(ValueError, match="forward failed"):
        echo("fail")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError):
            echo(1)


def test_hooks_belong_to_one_module(echo):
    echo.register_forward_hook(lambda *_: "hooked")
    assert Echo()() == ((), {})


def test_copies_have_hooks_of_their_own(echo):
    handle = echo.register_forward_hook(lambda *_: "hooked")
    twin = copy.deepcopy(echo)
    handle.remove()
    assert echo() == ((), {})
    assert twin() == "hooked"


def test_hooks_of_submodules_run(echo):
    echo.register_forward_hook(lambda *_: "inner")
    assert nn.Sequential(echo)(1) == "inner"


def test_registration_hooks_see_what_every_module_registers():
    hooks = nn.modules.module
    seen = []
    handles = [
        hooks.register_module_parameter_registration_hook(lambda module, name, value: seen.append((name, value))),
        hooks.register_module_buffer_registration_hook(lambda module, name, value: seen.append((name, "buffer"))),
        hooks.register_module_module_registration_hook(lambda module, name, value: nn.Tanh()),
    ]
    try:
        layer = nn.BatchNorm1d(2)
        outer = nn.Sequential(layer)
        layer.running_mean = polyad.ones(2)
        nn.Linear(1, 1, bias=False)
    finally:
        for handle in handles:
            handle.remove()
    assert seen[:2] == [("weight", layer.weight), ("bias", layer.bias)]
    named = ["running_mean", "running_var", "num_batches_tracked", "running_mean", "weight"]
    assert [name for name, _ in seen[2:]] == named
    assert isinstance(outer[0], nn.Tanh)
    nn.Linear(1, 1)
    assert len(seen) == 7


class TestTablesByPytorchsNames:
    NAMES = (
        "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks",
        "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
        "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs",
    )  # fmt: skip

    def test_are_there_and_empty(self):
        layer = nn.Linear(1, 1)
        assert all(hasattr(layer, name) and len(getattr(layer, name)) == 0 for name in self.NAMES)
        assert layer._is_full_backward_hook is None
        layer(polyad.ones(1, 1))

    def test_show_the_functions_and_take_them_away(self):
        layer = nn.Linear(1, 1)
        seen = []

        def hook(*args):
            seen.append(len(args))

        handle = layer.register_forward_hook(hook, with_kwargs=True)
        layer.register_forward_pre_hook(hook)
        layer.register_state_dict_post_hook(hook)
        assert dict(layer._forward_hooks) == {handle.id: hook}
        assert layer._forward_hooks_with_kwargs == {handle.id: True}
        assert list(layer._forward_pre_hooks.values()) == list(layer._state_dict_hooks.values()) == [hook]
        layer(polyad.ones(1, 1))
        assert seen == [2, 4]
        layer._forward_hooks.clear()
        layer._forward_pre_hooks = {}
        layer(polyad.ones(1, 1))
        assert seen == [2, 4]
        handle.remove()

    def test_functions_put_in_are_called(self):
        layer = nn.Linear(1, 1)
        layer._forward_hooks[0] = lambda module, args, output: output * 0
        assert layer(polyad.ones(1, 1)).item() == 0.0

    def test_full_and_old_backward_hooks(self):
        full, old = nn.Linear(1, 1), nn.Linear(1, 1)
        full.register_full_backward_hook(print)
        old.register_backward_hook(print)
        assert list(full._backward_hooks.values()) == list(old._backward_hooks.values()) == [print]
        assert (full._is_full_backward_hook, old._is_full_backward_hook) == (True, False)
        assert len(old._forward_hooks) == 0


def test_a_handle_shows_the_hooks_that_its_own_is_among(echo):
    handles = [echo.register_forward_hook(lambda *_: None) for _ in range(2)]
    assert list(handles[0].hooks_dict_ref()) == [handle.id for handle in handles]
