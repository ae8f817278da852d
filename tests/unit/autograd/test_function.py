"""Ops with a hand-written backward."""

import pytest

import polyad
from polyad.autograd import Function
from polyad.autograd.function import once_differentiable


class Both(Function):
    """a*b and a+b."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a + b

    @staticmethod
    def backward(ctx, of_product, of_sum):
        a, b = ctx.saved_tensors
        return of_product * b + of_sum, of_product * a + of_sum


def leaves() -> tuple[polyad.Tensor, polyad.Tensor]:
    return polyad.tensor(3.0, requires_grad=True), polyad.tensor(4.0, requires_grad=True)


def test_several_results() -> None:
    a, b = leaves()
    product, total = Both.apply(a, b)
    (product + total * 2).backward()
    assert (a.grad.item(), b.grad.item()) == (6.0, 5.0)


def test_a_result_without_gradient_counts_as_zero() -> None:
    a, b = leaves()
    product, _ = Both.apply(a, b)
    product.backward()
    assert (a.grad.item(), b.grad.item()) == (4.0, 3.0)


def test_nothing_is_recorded_without_need() -> None:
    a, b = leaves()
    with polyad.no_grad():
        assert not Both.apply(a, b)[0].requires_grad
    assert not Both.apply(a.detach(), b.detach())[0].requires_grad


def test_needs_input_grad_and_attributes() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.needs = ctx.needs_input_grad
            return x * factor

        @staticmethod
        def backward(ctx, g):
            assert ctx.needs == (True, False)
            return g * ctx.factor, None

    x = polyad.ones(2, requires_grad=True)
    Scale.apply(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_saved_tensor_that_changed_names_both_lines_in_anomaly_mode() -> None:
    a, b = polyad.ones(2, requires_grad=True), polyad.ones(2)
    with polyad.autograd.detect_anomaly():
        product, _ = Both.apply(a, b)
        b.add_(1)
        with pytest.raises(RuntimeError, match="BothBackward needs was changed in place") as caught:
            product.sum().backward()
    assert caught.value.lines["changed"].startswith("by add_ (test_function.py:")
    assert caught.value.lines["saved by"].startswith("BothBackward (test_function.py:")


def test_wrong_number_of_gradients() -> None:
    class Short(Both):
        @staticmethod
        def backward(ctx, *grads):
            return grads[0]

    a, b = leaves()
    with pytest.raises(RuntimeError, match=r"Short.backward \(test_function.py:\d+\): it returned 1 gradients for 2"):
        Short.apply(a, b)[0].backward()


def test_gradient_that_is_no_tensor() -> None:
    class Wrong(Both):
        @staticmethod
        def backward(ctx, *grads):
            return 1.0, None

    a, b = leaves()
    with pytest.raises(RuntimeError, match=r"Wrong.backward \(test_function.py:\d+\): gradient 0 is float"):
        Wrong.apply(a, b)[0].backward()


def test_a_saved_tensor_that_changed() -> None:
    a = polyad.ones(2, requires_grad=True)
    b = polyad.ones(2)
    product, _ = Both.apply(a, b)
    b.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        product.sum().backward()


def test_forward_must_be_defined() -> None:
    with pytest.raises(NotImplementedError, match="forward is not defined"):
        Function.apply(1)


def made(forward, backward, name="Made", **more):
    """A Function of two plain functions."""
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward), **more})


def returning(gradient):
    """x * 2, with a backward that returns what *gradient* makes of the arriving gradient."""
    return made(lambda ctx, x: x * 2, lambda ctx, g: gradient(g), "Wrong")


@pytest.mark.parametrize(
    ("gradient", "error", "words"),
    [
        (lambda g: g[:1], RuntimeError, "gradient 0 has another shape"),
        (lambda g: g.sum(), RuntimeError, "gradient 0 has another shape"),
        (lambda g: g.long(), RuntimeError, "gradient 0 has a dtype that no gradient"),
        (lambda g: g + 1j, RuntimeError, "gradient 0 has a dtype that no gradient"),
        (lambda g: 3.0, RuntimeError, "gradient 0 is float, not a tensor"),
        (lambda g: [g], RuntimeError, "gradient 0 is list, not a tensor"),
        (lambda g: (g, g), RuntimeError, "it returned 2 gradients for 1 arguments"),
        (lambda g: (), RuntimeError, "it returned 0 gradients for 1 arguments"),
    ],
)
def test_wrong_gradients_are_told_with_the_functions_name_and_line(gradient, error, words) -> None:
    x = polyad.ones(2, 3, requires_grad=True)
    with pytest.raises(error, match=r"^Wrong\.backward \(test_function\.py:\d+\): " + words):
        returning(gradient).apply(x).sum().backward()


def test_gradients_that_fit_after_a_sum_or_a_cast_are_taken() -> None:
    x = polyad.ones(2, 3, requires_grad=True)
    returning(lambda g: g.double().expand(4, 2, 3)).apply(x).sum().backward()
    assert x.grad.dtype is polyad.float32
    assert x.grad.tolist() == [[4.0] * 3] * 2
    returning(lambda g: (g, None, None)).apply(x).sum().backward()
    assert x.grad.tolist() == [[5.0] * 3] * 2


def test_a_gradient_for_an_argument_that_is_no_tensor() -> None:
    two = made(lambda ctx, x, k: x * k, lambda ctx, g: (g, g), "Two")
    with pytest.raises(RuntimeError, match=r"Two.backward .*gradient 1 is a tensor, but that argument of forward is"):
        two.apply(polyad.ones(2, requires_grad=True), 3).sum().backward()


def write_and_return(ctx, x):
    ctx.mark_dirty(x)
    return x.add_(1)


def test_mark_dirty_gives_the_argument_the_history() -> None:
    tenfold = made(write_and_return, lambda ctx, g: g * 10)
    x = polyad.ones(2, requires_grad=True)
    h = x * 1
    out = tenfold.apply(h)
    assert out is h
    assert h.grad_fn.name() == "MadeBackward"
    assert h._version == 2  # add_ counts, and the mark
    h.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_mark_dirty_counts_as_a_write_that_polyad_has_not_seen() -> None:
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.numpy()[...] += 1
        return x

    x = polyad.ones(2, requires_grad=True)
    h = x * 1
    square = h * h
    made(forward, lambda ctx, g: g).apply(h)
    with pytest.raises(RuntimeError, match=r"changed in place(.|\n)*by Made"):
        square.sum().backward()


def test_mark_dirty_on_a_view_reaches_its_base() -> None:
    tenfold = made(write_and_return, lambda ctx, g: g * 10)
    x = polyad.ones(2, 2, requires_grad=True)
    h = x * 1
    row = h[0]
    assert tenfold.apply(row) is row
    assert h.tolist() == [[2.0, 2.0], [1.0, 1.0]]
    h.sum().backward()
    assert x.grad.tolist() == [[10.0, 10.0], [1.0, 1.0]]


def test_mark_dirty_refuses_leaves_and_wants_its_argument_back() -> None:
    x = polyad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf that requires a gradient cannot be changed in place"):
        made(write_and_return, lambda ctx, g: g).apply(x)

    def forget(ctx, x):
        ctx.mark_dirty(x)
        x.add_(1)
        return x * 2

    with pytest.raises(RuntimeError, match=r"Made\.forward: it wrote to an argument that it does not return"):
        made(forget, lambda ctx, g: g).apply(polyad.ones(2, requires_grad=True) * 1)


def test_mark_dirty_with_a_saved_result() -> None:
    """exp_ with its result saved: the write before saving is no change since."""

    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.exp_()
        ctx.save_for_backward(x)
        return x

    exp_ = made(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = polyad.tensor([0.0, 1.0], requires_grad=True)
    exp_.apply(x * 1).sum().backward()
    assert polyad.allclose(x.grad, x.exp())


def test_non_differentiable_results_and_integers_have_no_history() -> None:
    def forward(ctx, x):
        largest, at = x * 1, x.argmax()
        other = x * 3
        ctx.mark_non_differentiable(other)
        return largest, at, other

    f = made(forward, lambda ctx, *g: g[0])
    first, at, other = f.apply(polyad.ones(2, requires_grad=True))
    assert (first.requires_grad, at.requires_grad, other.requires_grad) == (True, False, False)


@pytest.mark.parametrize("materialize", [True, False])
def test_set_materialize_grads(materialize) -> None:
    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    def backward(ctx, g, h):
        seen.append(None if h is None else h.tolist())
        return g * 2

    seen = []
    x = polyad.ones(2, requires_grad=True)
    made(forward, backward).apply(x)[0].sum().backward()
    assert seen == [[0.0, 0.0] if materialize else None]


def test_setup_context_with_names_and_defaults() -> None:
    class Scaled(Function):
        @staticmethod
        def forward(x, factor=3):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            _, ctx.factor = inputs
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors[0].tolist() == [ctx.factor]
            return g * ctx.factor, None

    for arguments, factor in (({}, 3.0), ({"factor": 4}, 4.0)):
        x = polyad.ones(1, requires_grad=True)
        Scaled.apply(x, **arguments).backward()
        assert x.grad.item() == factor
    with pytest.raises(TypeError, match="arguments by name are not taken: b"):
        Both.apply(x, b=x)


def test_once_differentiable_refuses_the_second_derivative_and_names_the_function() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not polyad.is_grad_enabled()
            return 2 * g * ctx.saved_tensors[0]

    x = polyad.ones(2, requires_grad=True)
    (slope,) = polyad.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    assert slope.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"Square\.backward: it is marked once_differentiable"):
        slope.sum().backward()
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert not x.grad.requires_grad


def test_second_derivatives_through_a_saved_result() -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = polyad.tensor([0.5, 1.0], dtype=polyad.float64, requires_grad=True)
    assert polyad.autograd.gradcheck(Exp.apply, x)
    assert polyad.autograd.gradgradcheck(Exp.apply, x)


def test_a_freed_graph_says_so() -> None:
    a, b = leaves()
    product, _ = Both.apply(a, b)
    product.backward()
    with pytest.raises(RuntimeError, match="the graph was freed: BothBackward"):
        product.backward()
    with pytest.raises(RuntimeError, match="the graph was freed, and what was saved with it"):
        product.grad_fn.saved_tensors  # noqa: B018


def test_grad_fn_shows_the_context() -> None:
    a, b = leaves()
    product, _ = Both.apply(a, b)
    node = product.grad_fn
    assert type(node).__name__ == node.name() == "BothBackward"
    assert isinstance(node, polyad.autograd.graph.Node)
    assert [one.item() for one in node.saved_tensors] == [3.0, 4.0]
    assert node.needs_input_grad == (True, True)
    with pytest.raises(AttributeError):
        node.nothing  # noqa: B018


def test_results_that_belong_to_others_keep_their_own_history() -> None:
    other = polyad.ones(2, requires_grad=True) * 2
    x = polyad.ones(2, requires_grad=True)
    before = other.grad_fn
    assert made(lambda ctx, x: other, lambda ctx, g: g).apply(x).grad_fn is not before
    assert other.grad_fn is before
    one, two = made(lambda ctx, x: (x, x), lambda ctx, g, h: g * 2 + h).apply(x)
    assert one is not x
    assert (one.output_nr, two.output_nr) == (0, 1)
    (one + two).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_what_is_no_tensor_passes_through() -> None:
    x = polyad.ones(2, requires_grad=True)
    assert made(lambda ctx, x: 5, lambda ctx, g: g).apply(x) == 5
    out, word = made(lambda ctx, x: (x * 2, "a"), lambda ctx, g, h: g if h is None else None).apply(x)
    out.sum().backward()
    assert word == "a"
    assert x.grad.tolist() == [1.0, 1.0]


def test_what_no_tensor_can_be_saved_or_marked() -> None:
    x = polyad.ones(2, requires_grad=True)
    for method in ("save_for_backward", "mark_dirty", "mark_non_differentiable"):
        with pytest.raises(TypeError, match=f"{method}: argument 0 is int, not a tensor"):
            made(lambda ctx, x, method=method: getattr(ctx, method)(3), lambda ctx, g: g).apply(x)
    with pytest.raises(RuntimeError, match="an instance of it cannot be called"):
        Both()(x)


def test_vjp_is_another_name_of_backward():
    class Tripled(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def vjp(ctx, gradient):
            return gradient * 3

    x = polyad.ones(2, requires_grad=True)
    Tripled.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_an_argument_that_is_returned_as_not_differentiable_is_a_constant():
    class Same(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(x)
            return x

    x = polyad.ones(2, requires_grad=True)
    y = Same.apply(x)
    assert not y.requires_grad
    assert x.requires_grad
    assert y.is_set_to(x)


def test_saved_variables_are_the_saved_tensors():
    class Doubled(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_variables
            return gradient * 2 * x

    x = polyad.tensor([3.0], requires_grad=True)
    with pytest.warns(DeprecationWarning, match="use saved_tensors"):
        Doubled.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_backward_and_vjp_exclude_each_other():
    with pytest.raises(RuntimeError, match="both backward and vjp"):
        type("Both", (polyad.autograd.Function,), {"backward": staticmethod(len), "vjp": staticmethod(len)})
