"""gradcheck and gradgradcheck: they pass what is right, and catch every kind of wrong gradient in both modes."""

import math

import pytest

import polyad
from polyad import nn
from polyad.autograd import Function, gradcheck, gradgradcheck
from polyad.autograd.gradcheck import GradcheckError

f64, c128 = polyad.float64, polyad.complex128
modes = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def real(*values: float) -> polyad.Tensor:
    return polyad.tensor(values or (0.3, -0.7, 1.2), dtype=f64, requires_grad=True)


def complex_(*values: complex) -> polyad.Tensor:
    return polyad.tensor(values or (0.3 + 0.4j, -0.7 + 1.2j), dtype=c128, requires_grad=True)


def custom(forward, backward, push=None) -> type[Function]:
    """A Function of one argument from plain functions: value(x), gradient(x, g), tangent(x, t)."""

    class Custom(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return backward(ctx.saved_tensors[0], g)

        @staticmethod
        def jvp(ctx, t):
            return push(ctx.saved_tensors[0], t)

    return Custom


@modes
@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x: x.sin() * x.exp(), (real(),)),
        (lambda x, y: (x * y, x.sum() / y), (real(), real(1.5, 2.0, 0.5))),
        (lambda x, n: x**n, (real(0.5, 1.5), 3)),
        (lambda z: z * z.conj() * z.exp(), (complex_(),)),
        (lambda z: z.abs(), (complex_(),)),
        (lambda x: x * (1 + 2j), (real(),)),
        (lambda z, x: z * x, (complex_(), real(0.5, 2.0))),
        (lambda x: x[1:].reshape(2, 1).expand(2, 3), (real(),)),
        (lambda x: (x * 2, x.long()), (real(),)),
        (lambda x: [x, x.clone().mul_(x)], (real(),)),
        (lambda x: x[:0], (real(),)),
        (lambda x: x.sum(), (polyad.ones(0, dtype=f64, requires_grad=True),)),
        (lambda x: x.long(), (real(),)),
        (lambda x: polyad.ones(2), (real(),)),
    ],
    ids=[
        "real",
        "two",
        "number",
        "complex",
        "c2r",
        "r2c",
        "mixed",
        "view",
        "int",
        "inplace",
        "none",
        "empty",
        "z",
        "1",
    ],
)
def test_right_gradients_pass(function, inputs, fast) -> None:
    assert gradcheck(function, inputs, fast_mode=fast, check_forward_ad=True, check_grad_dtypes=True)


@modes
def test_inputs_may_lie_anyhow_in_memory_and_are_left_as_they_were(fast) -> None:
    base = polyad.arange(12, dtype=f64).reshape(3, 4)
    x = base[:, ::2].t().detach().requires_grad_()
    before = base.clone()
    assert gradcheck(lambda x: x.sin(), x, fast_mode=fast)
    assert polyad.equal(base, before)
    assert x.grad is None


@modes
def test_an_input_that_overlaps_itself_is_refused(fast) -> None:
    with pytest.raises(RuntimeError, match="one place in memory"):
        gradcheck(lambda x: x * 2, real(1.0).expand(3), fast_mode=fast)


@modes
def test_a_function_may_reach_its_inputs_by_another_way(fast) -> None:
    layer = nn.Linear(2, 2).double()
    data = polyad.tensor([[0.5, -1.0]], dtype=f64)
    assert gradcheck(lambda *_: layer(data).tanh(), tuple(layer.parameters()), fast_mode=fast)


@modes
def test_a_wrong_factor_is_caught_and_told(fast) -> None:
    wrong = custom(lambda x: x * x, lambda x, g: 3 * x * g)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(wrong.apply, real(), fast_mode=fast)
    text = str(caught.value)
    assert "Jacobian mismatch for output 0 with respect to input 0" in text
    assert "output 0[2] by input 0[2]: analytical 3.6, numerical 2.4" in text
    assert "3 of 9 entries" in text
    assert "1.5 times" in text


@modes
def test_the_message_names_the_output_and_the_input_by_position(fast) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b, a - b

        @staticmethod
        def backward(ctx, plus, minus):
            return plus + minus, plus + minus  # the second has the wrong sign

    with pytest.raises(GradcheckError, match="output 1 with respect to input 2"):
        gradcheck(lambda a, n, b: Wrong.apply(a, b), (real(), 5, real()), fast_mode=fast)


@modes
@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (lambda z: z * z, lambda z, g: 2 * z * g),
        (lambda z: z * (1 + 2j), lambda z, g: g * (1 + 2j)),
        (lambda z: z.abs() ** 2, lambda z, g: 2 * z.conj() * g),
    ],
    ids=["square", "factor", "to real"],
)
def test_a_missing_conj_is_caught_and_told(forward, backward, fast) -> None:
    with pytest.raises(GradcheckError, match="conj"):
        gradcheck(custom(forward, backward).apply, complex_(), fast_mode=fast)


@modes
def test_a_gradient_of_lower_precision_is_caught_if_asked(fast) -> None:
    narrow = custom(lambda x: x * 2, lambda x, g: (2 * g).to(polyad.float32))
    assert gradcheck(narrow.apply, real(), fast_mode=fast)
    with pytest.raises(GradcheckError, match="another precision"):
        gradcheck(narrow.apply, real(), check_grad_dtypes=True, fast_mode=fast)


@modes
def test_a_backward_that_differs_from_run_to_run_is_caught(fast) -> None:
    runs = []

    def backward(x, g):
        runs.append(None)
        return 2 * g * (1 + 1e-9 * len(runs))

    drifting = custom(lambda x: x * 2, backward)
    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(drifting.apply, real(), fast_mode=fast)
    assert gradcheck(drifting.apply, real(), nondet_tol=1e-6, fast_mode=fast)


@modes
def test_a_random_function_is_told_from_a_wrong_gradient(fast) -> None:
    with pytest.raises(GradcheckError, match="another result each time"):
        gradcheck(lambda x: x * polyad.rand(3, dtype=f64), real(), fast_mode=fast)


@modes
def test_a_detached_result_is_caught(fast) -> None:
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, real(), fast_mode=fast)
    with pytest.raises(GradcheckError, match="zero everywhere"):
        gradcheck(lambda x: x.detach() * 2 + 0 * x, real(), fast_mode=fast)


def test_nan_agrees_with_nothing() -> None:
    wrong = custom(lambda x: x * 2, lambda x, g: g * math.nan)
    for fast in (False, True):
        assert not gradcheck(wrong.apply, real(), raise_exception=False, fast_mode=fast)


def test_a_wrong_gradient_in_one_entry_of_many_is_caught() -> None:
    def backward(x, g):
        found = 2 * g
        found[7] = found[7] * 1.01
        return found

    wrong = custom(lambda x: x * 2, backward)
    x = polyad.linspace(0.1, 2.0, 20, dtype=f64).requires_grad_()
    with pytest.raises(GradcheckError, match=r"output 0\[7\] by input 0\[7\]"):
        gradcheck(wrong.apply, x)


@pytest.mark.parametrize(
    "formula",
    [
        lambda parts: parts[0] * 2 + parts[1] * 3,
        lambda parts: (1 if parts[0] is None else parts[0] * 2) + (0 if parts[1] is None else parts[1] * 3),
    ],
    ids=["fails", "makes one up"],
)
def test_a_backward_that_cannot_do_without_a_gradient_is_caught(formula) -> None:
    from polyad.history.node import Output, make_node

    def two(x):
        first, second = (x * 2).detach(), (x * 3).detach()
        node = make_node("TwoBackward", [(x._node, formula, ())], tuple(x.shape), x._type, 2)
        first._node, second._node = (Output(node, number, tuple(x.shape), x._type) for number in range(2))
        return first, second

    with pytest.raises(GradcheckError, match="do without a gradient of output"):
        gradcheck(two, real())


@modes
def test_forward_mode_is_checked_on_its_own(fast) -> None:
    wrong = custom(lambda x: x * x, lambda x, g: 2 * x * g, lambda x, t: 3 * x * t)
    assert gradcheck(wrong.apply, real(), fast_mode=fast)
    for backward_too in (True, False):
        with pytest.raises(GradcheckError, match=r"(?s)forward mode.*correct the jvp"):
            gradcheck(wrong.apply, real(), check_forward_ad=True, check_backward_ad=backward_too, fast_mode=fast)
    right = custom(lambda x: x * x, lambda x, g: 3 * x * g, lambda x, t: 2 * x * t)
    assert gradcheck(right.apply, real(), check_forward_ad=True, check_backward_ad=False, fast_mode=fast)


def test_what_cannot_be_checked_is_said() -> None:
    with pytest.raises(ValueError, match="no input requires a gradient"):
        gradcheck(lambda x: x, polyad.ones(2, dtype=f64))
    with pytest.raises(ValueError, match="both False"):
        gradcheck(lambda x: x, real(), check_backward_ad=False)
    with pytest.raises(ValueError, match="check_batched_grad"):
        gradcheck(lambda x: x, real(), check_batched_grad=True, check_backward_ad=False, check_forward_ad=True)
    with pytest.raises(ValueError, match="check_batched_forward_grad"):
        gradcheck(lambda x: x, real(), check_batched_forward_grad=True)
    with pytest.raises(TypeError, match="output 0"):
        gradcheck(lambda x: 3.0, real())
    with pytest.warns(UserWarning, match="float32"):
        assert gradcheck(lambda x: x * 2, polyad.ones(2, requires_grad=True), eps=1e-2, atol=1e-3)


def test_batches_are_checked() -> None:
    every = {"check_batched_grad": True, "check_batched_forward_grad": True, "check_forward_ad": True}
    assert gradcheck(lambda x: (x.sin() * x, x.cumsum(0)), real(), **every)
    deciding = custom(lambda x: x * 2, lambda x, g: g * 2 if g.sum() > 0 else g + g)
    assert gradcheck(deciding.apply, real())
    with pytest.raises(GradcheckError, match=r"gradients of output 0.*batch(.|\n)*reads data"):
        gradcheck(deciding.apply, real(), check_batched_grad=True)
    # Of a batch, only the first is right.
    confused = custom(lambda x: x * 2, lambda x, g: _First.apply(g))
    with pytest.raises(GradcheckError, match="something else under vmap"):
        gradcheck(confused.apply, real(), check_batched_grad=True)


class _First(polyad.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x):
        return (x[:1] * 2).expand(*x.shape), 0


@modes
def test_second_derivatives(fast) -> None:
    assert gradgradcheck(lambda x: x**3 * x.sin(), real(), fast_mode=fast, check_fwd_over_rev=True)
    assert gradgradcheck(lambda z: z**2 * z.conj(), complex_(), fast_mode=fast, gen_non_contig_grad_outputs=True)
    assert gradgradcheck(lambda x, y: (x * y, y.exp()), (real(), real()), fast_mode=fast)
    assert gradgradcheck(lambda x: x * 2, real(), fast_mode=fast)
    g = polyad.ones(3, dtype=f64, requires_grad=True)
    assert gradgradcheck(lambda x: x**3, real(), g, fast_mode=fast)
    with pytest.raises(ValueError, match="1 differentiable outputs, grad_outputs 2"):
        gradgradcheck(lambda x: x**3, real(), (g, g))


@modes
def test_a_wrong_second_derivative_is_caught(fast) -> None:
    wrong = custom(lambda x: x**3, lambda x, g: 3 * x.detach() ** 2 * g)
    assert gradcheck(wrong.apply, real(), fast_mode=fast)
    with pytest.raises(GradcheckError):
        gradgradcheck(wrong.apply, real(), fast_mode=fast)
    assert not gradgradcheck(wrong.apply, real(), fast_mode=fast, raise_exception=False)


def test_the_module_and_the_function_have_one_name() -> None:
    import polyad.autograd.gradcheck as module

    assert polyad.autograd.gradcheck(lambda x: x * 2, real())
    assert module(lambda x: x * 2, real())
    assert polyad.autograd.gradcheck.GradcheckError is GradcheckError
    assert issubclass(GradcheckError, RuntimeError)
