"""Ops with a hand-written backward."""

import pytest

import polyad
from polyad.autograd import Function


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


def test_wrong_number_of_gradients() -> None:
    class Short(Both):
        @staticmethod
        def backward(ctx, *grads):
            return grads[0]

    a, b = leaves()
    with pytest.raises(RuntimeError, match=r"Short.backward: it returned 1 gradients for 2 arguments"):
        Short.apply(a, b)[0].backward()


def test_gradient_that_is_no_tensor() -> None:
    class Wrong(Both):
        @staticmethod
        def backward(ctx, *grads):
            return 1.0, None

    a, b = leaves()
    with pytest.raises(RuntimeError, match=r"Wrong.backward: gradient 0 is float"):
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
