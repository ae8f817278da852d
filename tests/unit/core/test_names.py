"""Names of PyTorch that scripts reach for."""

import pytest

import polyad
from polyad import nn


def test_points_of_a_sobol_sequence():
    # PyTorch 2.13's SobolEngine(5).draw(6), dimensions 0, 3 and 4
    expected = [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.75], [0.25, 0.75, 0.25], [0.375, 0.875, 0.375],
                [0.875, 0.375, 0.875]]  # fmt: skip
    engine = polyad.quasirandom.SobolEngine(5)
    drawn = polyad.cat([engine.draw(1), engine.draw(2), engine.draw(3)])
    assert drawn[:, [0, 3, 4]].tolist() == expected
    assert drawn.dtype == polyad.float32
    assert engine.num_generated == 6
    assert polyad.equal(engine.reset().draw(6, dtype=polyad.float64), drawn.double())
    assert polyad.equal(engine.reset().fast_forward(2).draw_base2(1), drawn[2:4])
    out = polyad.empty(0)
    assert engine.reset().draw(2, out=out) is out
    assert polyad.equal(out, drawn[:2])


def test_scrambled_points_follow_from_their_seed():
    def scrambled(seed=None):
        return polyad.quasirandom.SobolEngine(3, scramble=True, seed=seed).draw(64)

    assert polyad.equal(scrambled(1), scrambled(1))
    assert not polyad.equal(scrambled(1), scrambled(2))
    assert (scrambled(1).mean(0) - 0.5).abs().max() < 0.02
    polyad.manual_seed(3)
    first = scrambled()
    polyad.manual_seed(3)
    assert polyad.equal(scrambled(), first)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda engine: polyad.quasirandom.SobolEngine(0), ValueError),
        (lambda engine: polyad.quasirandom.SobolEngine(21202), ValueError),
        (lambda engine: polyad.quasirandom.SobolEngine("2"), TypeError),
        (lambda engine: engine.draw_base2(3), ValueError),
        (lambda engine: engine.draw(-1), ValueError),
    ],
)
def test_sobol_engines_refuse(call, error):
    engine = polyad.quasirandom.SobolEngine(1)
    engine.draw(3)
    with pytest.raises(error):
        call(engine)


@pytest.mark.parametrize("largest", [None, True, False])
def test_lobpcg(largest):
    root = polyad.randn(2, 9, 9, dtype=polyad.float64)
    matrix, other = root @ root.mT, polyad.eye(9, dtype=polyad.float64) + 0.1 * polyad.ones(9, 9, dtype=polyad.float64)
    for metric in (None, other):
        values, vectors = polyad.lobpcg(matrix, 3, metric, largest=largest)
        right = vectors if metric is None else metric @ vectors
        polyad.testing.assert_close(matrix @ vectors, right * values[:, None])
        assert (values.diff() < 0).all() if largest in (None, True) else (values.diff() > 0).all()
    exact = polyad.linalg.eigvalsh(matrix)
    polyad.testing.assert_close(
        polyad.lobpcg(matrix, 3, largest=largest)[0], exact[:, :3] if largest is False else exact[:, -3:].flip(1)
    )
    with pytest.raises(ValueError, match="fewer than three times"):
        polyad.lobpcg(matrix, 4)


def test_devices_that_nobody_has_are_refused_when_they_are_named():
    for name in ("other", "other:1", "gpu"):
        with pytest.raises(RuntimeError, match="no installed backend has this name"):
            polyad.device(name)
    assert [polyad.device(name).type for name in ("mps", "xla:1", "privateuseone")] == ["mps", "xla", "privateuseone"]
    with pytest.raises(RuntimeError):
        polyad.zeros(1, device="xla")


def test_switches_and_questions():
    try:
        for mode, number in (("warn", 1), (2, 2), ("default", 0)):
            polyad.set_deterministic_debug_mode(mode)
            assert polyad.get_deterministic_debug_mode() == number
        polyad.set_warn_always(True)
        assert polyad.is_warn_always_enabled()
        polyad.set_anomaly_enabled(True, False)
        assert (polyad.is_anomaly_enabled(), polyad.is_anomaly_check_nan_enabled()) == (True, False)
    finally:
        polyad.set_deterministic_debug_mode(0)
        polyad.set_warn_always(False)
        polyad.set_anomaly_enabled(False)
    for wrong, error in (("always", RuntimeError), (3, RuntimeError), (1.5, TypeError)):
        with pytest.raises(error):
            polyad.set_deterministic_debug_mode(wrong)
    assert not polyad.set_flush_denormal(True)
    assert polyad.get_device_module("cuda:0") is polyad.cuda
    with pytest.raises(RuntimeError, match="no module"):
        polyad.get_device_module("opencl")
    for vendor in (polyad.mps, polyad.xpu):
        assert not vendor.is_available()
        vendor.empty_cache()
        with pytest.raises(RuntimeError, match="no device"):
            vendor.synchronize()


def test_functions_with_a_flag():
    class Relu(polyad.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x > 0)

    x = polyad.tensor([-1.0, 2.0], requires_grad=True)
    Relu.apply(x).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]
    assert Relu(inplace=True).inplace


class Logged:
    """What a library brings to be taken for a tensor."""

    def __init__(self, answer):
        self.answer, self.seen = answer, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append((function, types, args, kwargs))
        return self.answer


class More(Logged):
    pass


def test_overrides():
    from polyad import overrides

    plain, first, second = polyad.ones(1), Logged(NotImplemented), More("more")
    assert overrides.has_torch_function((plain, first))
    assert overrides.has_torch_function_unary(first)
    assert not overrides.has_torch_function((plain, nn.Parameter(plain), 1, None))
    assert not overrides.has_torch_function_variadic(plain, 2)

    def double(x, y=1):
        if overrides.has_torch_function((x, y)):
            return overrides.handle_torch_function(double, (x, y), x, y=y)
        return 2 * x

    assert double(plain).item() == 2
    assert double(first, second) == "more"
    assert second.seen == [(double, (More, Logged), (first,), {"y": second})]
    assert first.seen == []  # the class derived from its own came first
    with pytest.raises(TypeError, match=r"double: no __torch_function__ of Logged"):
        double(first)

    @overrides.wrap_torch_function(lambda x: (x,))
    def triple(x):
        return 3 * x

    assert triple(second) == "more"
    assert triple(plain).item() == 3


def test_what_overrides_knows_of_functions():
    from polyad import overrides

    assert overrides.is_tensor_method_or_property(polyad.Tensor.numel)
    assert not overrides.is_tensor_method_or_property(len)
    assert overrides.resolve_name(polyad.exp) == "polyad.exp"
    assert overrides.resolve_name(nn.functional.mse_loss) == "polyad.nn.functional.mse_loss"
    assert overrides.resolve_name(len) is None
    functions = overrides.get_overridable_functions()
    assert polyad.exp in functions[polyad]
    assert nn.functional.mse_loss in functions[nn.functional]
    assert polyad.is_tensor in overrides.get_ignored_functions()
    assert polyad.is_tensor not in functions[polyad]
    assert polyad.Tensor.shape.__get__ in functions[polyad.Tensor]


def test_modules_that_scripts_reach_without_an_import_of_their_own():
    assert polyad.utils._pytree.tree_flatten([1, 2])[0] == [1, 2]
    assert polyad.nn.common_types._size_2_t
    assert polyad.jit.annotations.List
    assert polyad._utils._element_size(polyad.complex64) == 8
    assert not hasattr(polyad.utils, "of_another_name")
