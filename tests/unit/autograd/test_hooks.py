"""Hooks on tensors, leaves, nodes and several tensors; edges of the graph."""

import gc
import weakref

import pytest

import polyad
from polyad.autograd import grad, graph


def leaf(*values: float) -> polyad.Tensor:
    return polyad.tensor(values, requires_grad=True)


# ----------------------------------------------------------------------------------------------------------- leaves


def test_a_hook_after_accumulation_sees_the_sum_and_may_drop_it() -> None:
    x = leaf(1.0, 2.0)
    seen = []

    def step(param: polyad.Tensor) -> None:
        assert param is x
        seen.append(param.grad.tolist())
        if len(seen) == 2:
            param.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        (x * x).sum().backward()
    assert seen == [[2.0, 4.0], [4.0, 8.0]]
    assert x.grad is None
    handle.remove()
    (x * x).sum().backward()
    assert len(seen) == 2


def test_hooks_after_accumulation_are_for_leaves() -> None:
    with pytest.raises(RuntimeError, match="the tensor is no leaf"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="requires no gradient"):
        polyad.ones(2).register_post_accumulate_grad_hook(print)
    x = leaf(1.0)
    with x.register_post_accumulate_grad_hook(lambda param: 3), pytest.raises(TypeError, match="it returned int"):
        x.sum().backward()


def test_hooks_after_accumulation_run_for_inputs_alone() -> None:
    x, y = leaf(1.0), leaf(2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda param: seen.append("x"))
    y.register_post_accumulate_grad_hook(lambda param: seen.append("y"))
    (x * y).sum().backward(inputs=[y])
    assert seen == ["y"]
    assert x.grad is None
    grad((x * y).sum(), x)
    assert seen == ["y"]


def test_what_a_hook_keeps_is_not_changed_later() -> None:
    x = leaf(1.0, 2.0)
    seen: list[polyad.Tensor] = []
    x.register_hook(seen.append)
    for _ in range(2):
        (x * 2).sum().backward()
    assert [one.tolist() for one in seen] == [[2.0, 2.0], [2.0, 2.0]]
    assert x.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("returned", "error", "words"),
    [
        (3, TypeError, "returned int"),
        (polyad.ones(3), RuntimeError, "another shape"),
        (polyad.ones(2, dtype=polyad.float64), RuntimeError, "another dtype"),
    ],
)
def test_a_replacement_of_the_wrong_kind_names_the_hook(returned, error: type[Exception], words: str) -> None:
    def scale(gradient: polyad.Tensor):
        return returned

    x = leaf(1.0, 2.0)
    x.register_hook(scale)
    with pytest.raises(error, match=rf"hook scale \(test_hooks.py:\d+\) of AccumulateGrad: .*{words}"):
        x.sum().backward()
    assert x.grad is None


# ------------------------------------------------------------------------------------------------------------ nodes


def test_the_order_at_a_node() -> None:
    x = leaf(1.0)
    accumulate = x.expand_as(x).grad_fn.next_functions[0][0]
    seen = []
    accumulate.register_hook(lambda *given: seen.append(("after", given)))
    accumulate.register_prehook(lambda given: seen.append("before"))
    x.register_post_accumulate_grad_hook(lambda param: seen.append("accumulated"))
    x.register_hook(lambda gradient: seen.append("tensor"))
    x.sum().backward()
    assert seen[:3] == ["tensor", "before", "accumulated"]
    name, (inputs, outputs) = seen[3]
    assert (name, inputs, [one.tolist() for one in outputs]) == ("after", (), [[1.0]])


def test_tensor_hooks_and_retained_gradients_come_before_hooks_of_the_node() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda gradient: gradient * 5)
    y.grad_fn.register_prehook(lambda given: (given[0] * 7,))
    y.sum().backward()
    assert y.grad.tolist() == [5.0]
    assert x.grad.tolist() == [70.0]


def test_hooks_of_a_node_see_a_place_for_each_operand() -> None:
    x = leaf(1.0, 2.0)
    y = x * polyad.tensor([3.0, 4.0])
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.sum().backward()
    ((inputs, outputs),) = seen
    assert inputs[0].tolist() == [3.0, 4.0]
    assert inputs[1] is None
    assert [one.tolist() for one in outputs] == [[1.0, 1.0]]


def test_gradients_are_in_the_operands_shape_when_hooks_see_them() -> None:
    x = leaf(1.0)
    y = x * polyad.ones(3)
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(tuple(inputs[0].shape)))
    y.sum().backward()
    assert seen == [(1,)]
    assert x.grad.tolist() == [3.0]


one = polyad.ones(3)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, [1.0, 1.0, 1.0]),
        ((one * 3, None), [3.0, 3.0, 3.0]),
        ((None, None), None),
        ((one,), "returned 1 gradients in the place of 2"),
        ((one, one), "a gradient at 1, where there was none"),
        (one, "returned Tensor, not a tuple"),
        ([one, None], "returned list, not a tuple"),
        ((3, None), "returned int, not a tensor"),
        ((polyad.ones(2), None), "another shape"),
    ],
)
def test_replacing_what_a_node_computed(returned, expected) -> None:
    x = polyad.ones(3, requires_grad=True)
    y = x * polyad.ones(3)
    y.grad_fn.register_hook(lambda inputs, outputs: returned)
    if isinstance(expected, str):
        with pytest.raises((RuntimeError, TypeError), match=expected):
            y.sum().backward()
    else:
        y.sum().backward()
        assert (x.grad if x.grad is None else x.grad.tolist()) == expected


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ((one * 5,), [5.0, 5.0, 5.0]),
        ((None,), None),
        ((one, one), "returned 2 gradients in the place of 1"),
        (one, "not a tuple"),
        ((polyad.ones(2),), "another shape"),
    ],
)
def test_replacing_what_arrives_at_a_node(returned, expected) -> None:
    x = polyad.ones(3, requires_grad=True)
    y = x * polyad.ones(3)
    y.grad_fn.register_prehook(lambda outputs: returned)
    if isinstance(expected, str):
        with pytest.raises((RuntimeError, TypeError), match=expected):
            y.sum().backward()
    else:
        y.sum().backward()
        assert (x.grad if x.grad is None else x.grad.tolist()) == expected


def test_hooks_of_a_node_with_several_results() -> None:
    x = leaf(3.0, 1.0)
    values, _ = x.sort()
    seen = []
    values.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2, *outputs[1:]))
    values.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    (values * polyad.tensor([1.0, 10.0])).sum().backward()
    assert seen == [([20.0, 2.0], [2.0, 20.0])]
    assert x.grad.tolist() == [20.0, 2.0]


def test_replaced_gradients_differentiate_again() -> None:
    x = leaf(2.0)
    y = x**3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * x, *inputs[1:]))
    (first,) = grad(y.sum(), x, create_graph=True)
    assert first.item() == 24.0  # 3 x^2 * x
    assert grad(first.sum(), x)[0].item() == 36.0


def test_names_and_edges_of_the_graph() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    assert y.grad_fn.name() == "MulBackward0"
    assert isinstance(y.grad_fn, graph.Node)
    (edge, number), nothing = y.grad_fn.next_functions
    assert edge.variable is x
    assert (edge.name(), number, nothing) == ("AccumulateGrad", 0, (None, 0))
    assert y.grad_fn.metadata is y.grad_fn.metadata
    joined = polyad.cat([x, polyad.ones(2), y]).grad_fn.next_functions
    assert [None if node is None else node.name() for node, _ in joined] == ["AccumulateGrad", None, "MulBackward0"]


def test_types_of_nodes_are_named_as_in_pytorch() -> None:
    x = polyad.ones(2, 3, requires_grad=True)
    view = (x * 1).view(6)
    made = {
        "SumBackward0": x.sum(),
        "MulBackward0": x * 2,
        "AddmmBackward0": polyad.nn.functional.linear(x, x, polyad.ones(2)),
        "ViewBackward0": view,
        "UnbindBackward0": x.unbind()[1],
        "SortBackward0": x.sort().values,
        "CloneBackward0": x.clone(),
    }
    for name, tensor in made.items():
        node = tensor.grad_fn
        assert type(node).__name__ == node.name() == name
        assert isinstance(node, polyad.autograd.graph.Node)
    assert type(made["SumBackward0"].grad_fn) is type(x.sum().grad_fn)
    leaf = made["SumBackward0"].grad_fn.next_functions[0][0]
    assert type(leaf).__name__ == leaf.name() == "AccumulateGrad"
    assert leaf.variable is x


def test_a_hook_runs_backward_itself() -> None:
    x, w = leaf(1.0, 1.0), leaf(1.0, 1.0)

    def hook(gradient: polyad.Tensor) -> polyad.Tensor:
        with polyad.enable_grad():
            (w * w).sum().backward()
        return gradient * 2

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    assert w.grad.tolist() == [2.0, 2.0]


def test_a_node_at_which_nothing_is_left_to_do_is_not_run() -> None:
    x = leaf(3.0)
    y = x * x
    seen = []
    y.grad_fn.register_prehook(lambda outputs: seen.append("before"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("after"))
    z = (y * 3).sum()
    assert grad(z, y, retain_graph=True)[0].tolist() == [3.0]
    z.backward(inputs=[y])
    assert y.grad.tolist() == [3.0]
    assert seen == []
    y.sum().backward()  # its part of the graph was not freed
    assert x.grad.tolist() == [6.0]
    assert seen == ["before", "after"]


def test_hooks_make_no_cycles() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0)
        y = x * 2
        y.grad_fn.register_hook(lambda inputs, outputs: None)
        gone = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert gone() is None
    finally:
        gc.enable()


# --------------------------------------------------------------------------------------------------- several tensors


def test_all_gradients_at_once() -> None:
    x, w = leaf(1.0), leaf(1.0)
    y = x * 2
    seen = []
    handle = graph.register_multi_grad_hook(
        [x, y, w], lambda gradients: seen.append([one if one is None else one.item() for one in gradients])
    )
    y.sum().backward(retain_graph=True)
    (y.sum() + w.sum()).backward()
    assert seen == [[2.0, 1.0, None], [2.0, 1.0, 1.0]]
    handle.remove()
    (x + w).sum().backward()
    assert len(seen) == 2


def test_all_gradients_are_those_the_pass_wants() -> None:
    x, w = leaf(1.0), leaf(1.0)
    seen = []
    graph.register_multi_grad_hook([x, w], seen.append)
    grad((x * w).sum(), x)
    assert [one is None for one in seen[0]] == [False, True]


def test_a_gradient_that_never_comes_does_not_hold_the_hook_up() -> None:
    class First(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    x, w = leaf(1.0), leaf(1.0)
    seen = []
    graph.register_multi_grad_hook([x, w], seen.append)
    First.apply(x, w).sum().backward()
    assert len(seen) == 1
    assert seen[0][0].tolist() == [1.0]
    assert seen[0][1] is None


def test_any_gradient_once_a_pass() -> None:
    x, w = leaf(1.0), leaf(1.0)
    seen = []
    with graph.register_multi_grad_hook([x, w], seen.append, mode="any"):
        (x + w).sum().backward()
        (x + w).sum().backward()
    (x + w).sum().backward()
    assert [one.tolist() for one in seen] == [[1.0], [1.0]]


def test_multi_grad_hooks_check_their_arguments() -> None:
    with pytest.raises(RuntimeError, match=r"tensors\[1\] requires no gradient"):
        graph.register_multi_grad_hook([leaf(1.0), polyad.ones(1)], print)
    with pytest.raises(ValueError, match="mode must be 'all' or 'any', not 'some'"):
        graph.register_multi_grad_hook([leaf(1.0)], print, mode="some")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------- edges


def test_edges_stand_for_tensors_that_are_gone() -> None:
    x = leaf(3.0, 1.0)
    y = x * 3
    top = y.sort().values
    edges = [graph.get_gradient_edge(y), graph.get_gradient_edge(top)]
    z = (top * top).sum()
    end = graph.get_gradient_edge(z)
    assert [edge.output_nr for edge in edges] == [0, 0]
    del y, top, z
    of_y, of_top, of_x = grad(end, [*edges, x])
    assert (of_y.tolist(), of_top.tolist(), of_x.tolist()) == ([18.0, 6.0], [6.0, 18.0], [54.0, 18.0])
    with pytest.raises(RuntimeError, match="requires no gradient"):
        graph.get_gradient_edge(polyad.ones(1))
    with pytest.raises(RuntimeError, match="edge of one element"):
        grad(graph.get_gradient_edge(x * 2), x)


def test_a_write_that_polyad_cannot_see() -> None:
    x = leaf(1.0)
    y = x * 1
    z = y * y
    graph.increment_version(y)
    with pytest.raises(RuntimeError, match="changed   by increment_version"):
        z.sum().backward()


def test_hooks_before_a_leaf_wait_for_what_adds_to_its_gradient():
    x, seen = polyad.ones(3, requires_grad=True), []
    y = x * 2
    (accumulate, _), *_ = y.grad_fn.next_functions
    accumulate.register_prehook(lambda given: seen.append(given[0].tolist()))
    (gradient,) = polyad.autograd.grad(y.sum(), x)
    assert (gradient.tolist(), seen) == ([2.0] * 3, [])
    (x * 2).sum().backward()
    assert seen == [[2.0] * 3]
