"""Backward hooks of modules, and hooks of all modules."""

import gc
import weakref

import pytest

import polyad
from polyad import nn
from polyad.nn.modules import module as modules


def layer() -> nn.Linear:
    made = nn.Linear(2, 2)
    with polyad.no_grad():
        made.weight.copy_(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
        made.bias.zero_()
    return made


def listed(values):
    return [one if one is None else one.tolist() for one in values]


def run(made: nn.Module, requires_grad: bool = True) -> polyad.Tensor:
    x = polyad.tensor([[1.0, 2.0]], requires_grad=requires_grad)
    made(x).sum().backward()
    return x


def test_a_hook_sees_gradients_of_arguments_and_results() -> None:
    made, seen = layer(), []
    handle = made.register_full_backward_hook(lambda m, gi, go: seen.append((m, listed(gi), listed(go))))
    assert run(made).grad.tolist() == [[4.0, 6.0]]
    assert seen == [(made, [[[4.0, 6.0]]], [[[1.0, 1.0]]])]
    assert made.weight.grad.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    handle.remove()
    run(made)
    assert len(seen) == 1


def test_hooks_replace_gradients() -> None:
    made = layer()
    made.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    assert run(made).grad.tolist() == [[8.0, 12.0]]
    made = layer()
    made.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    assert run(made).grad.tolist() == [[12.0, 18.0]]
    assert made.bias.grad.tolist() == [3.0, 3.0]


def test_without_an_argument_that_needs_a_gradient() -> None:
    made, seen = layer(), []
    made.register_full_backward_hook(lambda m, gi, go: seen.append((gi, listed(go))))
    run(made, requires_grad=False)
    assert seen == [((None,), [[[1.0, 1.0]]])]
    made.register_full_backward_hook(lambda m, gi, go: (go[0],))
    with pytest.raises(RuntimeError, match="no argument needs a gradient"):
        run(made, requires_grad=False)


@pytest.mark.parametrize("returned", [3, (1, 2), polyad.ones(1, 2)])
def test_hooks_that_return_the_wrong_thing(returned) -> None:
    made = layer()
    after = made.register_full_backward_hook(lambda m, gi, go: returned)
    with after, pytest.raises(RuntimeError, match="Linear: a backward hook returned"):
        run(made)
    before = made.register_full_backward_pre_hook(lambda m, go: returned)
    with before, pytest.raises(RuntimeError, match="Linear: a backward pre-hook returned"):
        run(made)


class Two(nn.Module):
    def forward(self, a, b, c=None):
        return a * 2, b * 3, "text"


def test_places_that_are_no_tensors_or_get_no_gradient() -> None:
    made, seen = Two(), []
    made.register_full_backward_hook(lambda m, gi, go: seen.append((listed(gi), listed(go))))
    a, b = polyad.ones(2, requires_grad=True), polyad.ones(2)
    results = made(a, b, None)
    assert results[2] == "text"
    assert not results[1].requires_grad
    results[0].sum().backward()
    assert seen == [([[2.0, 2.0], None, None], [[1.0, 1.0], None, None])]


def test_order_and_prepend() -> None:
    made, seen = layer(), []
    for name, prepend in (("first", False), ("second", False), ("before", True)):
        made.register_full_backward_hook(lambda m, gi, go, name=name: seen.append(name), prepend=prepend)
    run(made)
    assert seen == ["before", "first", "second"]


def test_a_module_with_a_hook_cannot_write_to_its_argument() -> None:
    made = nn.ReLU(inplace=True)
    made.register_full_backward_hook(lambda m, gi, go: None)
    x = polyad.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match=r"relu_|view"):
        made(x)


def test_what_a_hooked_module_returns_can_be_written_to() -> None:
    made = layer()
    made.register_full_backward_hook(lambda m, gi, go: None)
    x = polyad.tensor([[1.0, 2.0]], requires_grad=True)
    nn.ReLU(inplace=True)(made(x)).sum().backward()
    assert x.grad.tolist() == [[4.0, 6.0]]


def test_second_derivatives_pass_through() -> None:
    made, plain = layer(), layer()
    made.register_full_backward_hook(lambda m, gi, go: None)
    found = []
    for one in (made, plain):
        x = polyad.tensor([[1.0, 2.0]], requires_grad=True)
        (first,) = polyad.autograd.grad((one(x) ** 2).sum(), x, create_graph=True)
        (first**2).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


def test_hooks_of_all_modules() -> None:
    seen = []
    name = lambda m: type(m).__name__  # noqa: E731
    handles = [
        modules.register_module_forward_pre_hook(lambda m, args: seen.append(("pre", name(m)))),
        modules.register_module_forward_hook(lambda m, args, result: seen.append(("post", name(m)))),
        modules.register_module_full_backward_pre_hook(lambda m, go: seen.append(("before", name(m)))),
        modules.register_module_full_backward_hook(lambda m, gi, go: seen.append(("after", name(m)))),
    ]
    made = nn.Sequential(layer(), nn.ReLU())
    made[1].register_forward_hook(lambda m, args, result: seen.append(("own", name(m))))
    try:
        run(made)
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [
        ("pre", "Sequential"), ("pre", "Linear"), ("post", "Linear"), ("pre", "ReLU"), ("post", "ReLU"),
        ("own", "ReLU"), ("post", "Sequential"), ("before", "Sequential"), ("before", "ReLU"), ("after", "ReLU"),
        ("before", "Linear"), ("after", "Linear"), ("after", "Sequential"),
    ]  # fmt: skip
    seen.clear()
    run(made)
    assert seen == [("own", "ReLU")]


def test_a_hook_of_one_module_is_not_one_of_all() -> None:
    modules.register_module_forward_hook(lambda m, args, result: None).remove()
    one, other, seen = layer(), layer(), []
    one.register_forward_hook(lambda m, args, result: seen.append(m))
    run(other)
    assert seen == []


def test_graphs_with_hooks_are_freed() -> None:
    made = layer()
    made.register_full_backward_hook(lambda m, gi, go: None)
    gc.collect()
    x = polyad.ones(1, 2, requires_grad=True)
    y = made(x)
    gone = weakref.ref(y)
    y.sum().backward()
    del y
    gc.collect()
    assert gone() is None


def test_the_old_form_sees_the_last_node() -> None:
    seen = []
    made = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    handle = made.register_backward_hook(lambda m, gi, go: seen.append((m, len(gi), listed(go))))
    made(polyad.ones(1, 2)).sum().backward()
    assert seen == [(made, 1, [[[1.0, 1.0, 1.0]]])]
    handle.remove()
    made.register_backward_hook(lambda m, gi, go: (gi[0] * 0,))
    made.zero_grad()
    made(polyad.ones(1, 2)).sum().backward()
    assert not made[0].weight.grad.any()
    with pytest.raises(RuntimeError, match="Sequential: it has a full backward hook and one of register_backward_hook"):
        made.register_full_backward_hook(lambda m, gi, go: None)
    other = nn.ReLU()
    other.register_full_backward_hook(lambda m, gi, go: None)
    with pytest.raises(RuntimeError, match="ReLU: it has a full backward hook and one of register_backward_hook"):
        other.register_backward_hook(lambda m, gi, go: None)


def test_the_old_form_takes_the_first_tensor_of_a_structure() -> None:
    class Both(nn.Module):
        def forward(self, x):
            return {"a": [x * 2, x * 3]}

    seen = []
    made = Both()
    made.register_backward_hook(lambda m, gi, go: seen.append(listed(go)))
    a, b = made(polyad.ones(1, requires_grad=True))["a"]
    (a + b * 5).sum().backward()
    assert seen == [[[1.0]]]
    with polyad.no_grad():
        made(polyad.ones(1))


def test_the_old_form_for_all_modules():
    seen = []
    handle = modules.register_module_backward_hook(lambda module, computed, arrived: seen.append(type(module).__name__))
    try:
        with pytest.raises(RuntimeError, match="use register_module_full_backward_hook for both"):
            modules.register_module_full_backward_hook(print)
        nn.Sequential(nn.Linear(2, 2), nn.ReLU())(polyad.ones(1, 2)).sum().backward()
    finally:
        handle.remove()
    assert sorted(seen) == ["Linear", "ReLU", "Sequential"]
