"""autocast: which dtype functions compute in, nesting, modes, gradients, and what it leaves alone."""

from __future__ import annotations

import threading

import pytest

import polyad
from polyad import nn
from polyad.amp import custom_bwd, custom_fwd
from polyad.amp.autocast_policies import POLICIES

bfloat16, float16, float32, float64 = polyad.bfloat16, polyad.float16, polyad.float32, polyad.float64


def product():
    return polyad.ones(2, 2) @ polyad.ones(2, 2)


class TestContext:
    def test_on_and_off_again(self):
        with polyad.autocast("cpu"):
            assert product().dtype is bfloat16
            assert polyad.is_autocast_enabled("cpu")
            assert polyad.is_autocast_cpu_enabled()
            assert not polyad.is_autocast_enabled(), "PyTorch asks for the GPU where no type is named"
            assert not polyad.is_autocast_enabled("cuda")
        assert product().dtype is float32
        assert not polyad.is_autocast_enabled("cpu")
        with polyad.autocast("cuda", dtype=bfloat16):
            assert polyad.is_autocast_enabled()
            assert not polyad.is_autocast_cpu_enabled()
            assert (polyad.get_autocast_gpu_dtype(), polyad.get_autocast_cpu_dtype()) == (bfloat16, bfloat16)
        assert polyad.get_autocast_gpu_dtype() is float16
        assert not polyad.is_autocast_enabled()

    def test_dtype(self):
        with polyad.autocast("cpu", dtype=float16):
            assert product().dtype is float16
            assert polyad.get_autocast_dtype("cpu") is float16
        assert polyad.get_autocast_dtype("cpu") is bfloat16
        assert polyad.get_autocast_dtype("cuda") is float16

    def test_nested(self):
        with polyad.autocast("cpu"):
            with polyad.autocast("cpu", enabled=False):
                assert product().dtype is float32
                with polyad.autocast("cpu", dtype=float16):
                    assert product().dtype is float16
            assert product().dtype is bfloat16

    def test_decorator(self):
        @polyad.autocast("cpu")
        def compute():
            return product()

        @polyad.autocast("cpu", enabled=False)
        def plain():
            return product()

        assert compute().dtype is bfloat16
        assert compute().dtype is bfloat16
        with polyad.autocast("cpu"):
            assert plain().dtype is float32
            assert product().dtype is bfloat16

    def test_an_exception_leaves_it(self):
        with pytest.raises(KeyError), polyad.autocast("cpu"):
            raise KeyError
        assert product().dtype is float32

    def test_one_context_twice_at_a_time(self):
        context = polyad.autocast("cpu")
        with context, polyad.autocast("cpu", enabled=False), context:
            assert product().dtype is bfloat16
        assert product().dtype is float32

    def test_other_device_types_are_left_alone(self):
        with polyad.autocast("cuda"):
            assert product().dtype is float32

    def test_other_threads_are_left_alone(self):
        found = []
        with polyad.autocast("cpu"):
            thread = threading.Thread(target=lambda: found.append(product().dtype))
            thread.start()
            thread.join()
        assert found == [float32]

    def test_refusals(self):
        with pytest.raises(ValueError, match="device_type"):
            polyad.autocast(bfloat16)
        with pytest.raises(RuntimeError, match="abacus"):
            polyad.autocast("abacus")
        with pytest.raises(TypeError, match="dtype"):
            polyad.autocast("cpu", dtype="half")
        with pytest.raises(TypeError, match="device_type"):
            polyad.amp.is_autocast_available(3)
        with pytest.warns(UserWarning, match="float64 is no dtype"):
            context = polyad.autocast("cpu", dtype=float64)
        with context:
            assert product().dtype is float32

    def test_names_by_device(self):
        with polyad.cpu.amp.autocast():
            assert product().dtype is bfloat16
        with polyad.cuda.amp.autocast() as context:
            assert (context.device, context.fast_dtype) == ("cuda", float16)
        assert polyad.amp.autocast is polyad.autocast


class TestPolicies:
    @pytest.mark.parametrize(
        ("call", "dtype"),
        [
            (lambda: nn.Linear(2, 2)(polyad.ones(1, 2)), bfloat16),
            (lambda: nn.functional.conv1d(polyad.ones(1, 1, 3), polyad.ones(1, 1, 2)), bfloat16),
            (lambda: polyad.einsum("ij,jk", polyad.ones(2, 2), polyad.ones(2, 2)), bfloat16),
            (lambda: nn.functional.mse_loss(product(), product()), float32),
            (lambda: polyad.linalg.inv(polyad.eye(2, dtype=bfloat16)), float32),
            (lambda: polyad.cat([product(), polyad.ones(2, 2)]), float32),
            (lambda: product() + 1, bfloat16),
            (lambda: product() + polyad.ones(2, 2), float32),
            (lambda: polyad.ones(2, 2, dtype=float64) @ polyad.ones(2, 2, dtype=float64), float64),
            (lambda: polyad.ones(2, 2, dtype=polyad.int64) @ polyad.ones(2, 2, dtype=polyad.int64), polyad.int64),
        ],
    )
    def test_on_the_cpu(self, call, dtype):
        with polyad.autocast("cpu"):
            assert call().dtype is dtype

    def test_others_compute_more_in_float32(self):
        table = POLICIES[""]
        assert table["softmax"] == table["exp"] == table["sum"] == table["layer_norm"] == "float32"
        assert table["binary_cross_entropy"] == "refused"
        assert table["dot"] == "widest"
        assert {name for name, policy in table.items() if policy == "lower"} >= {"matmul", "conv2d", "linear"}

    def test_every_name_is_a_function_or_an_op(self):
        from polyad.dispatch.catalogue import OPS, PUBLIC

        functions = {path.rpartition(".")[2] for path in PUBLIC} | set(OPS)
        unknown = {name for table in POLICIES.values() for name in table} - functions
        assert unknown <= {"lstsq", "hfft", "ihfft"} - functions

    def test_what_writes_takes_tensors_as_they_are(self):
        third = polyad.full((2, 2), 1 / 3)
        exact = (third @ third).tolist()
        with polyad.autocast("cpu"):
            out = polyad.empty(2, 2)
            polyad.matmul(third, third, out=out)
            assert out.tolist() == exact
            assert polyad.exp(third, out=out).tolist() == polyad.exp(third).tolist()
            assert polyad.mm(third, third, out=out).tolist() == exact
            target = polyad.zeros(2, 2)
            assert target.addmm_(third, third).tolist() == exact

    def test_a_dtype_that_is_asked_for_is_given(self):
        with polyad.autocast("cpu"):
            assert polyad.prod(product(), dtype=float64).dtype is float64

    def test_a_backend_may_have_policies_of_its_own(self, monkeypatch):
        from polyad.amp import autocast_mode
        from polyad.backend.capabilities import Capabilities
        from polyad.devices import registry

        backend = registry.get("cpu")
        capabilities = Capabilities(autocast={"matmul": "as given", "gemm": "as given", "hypot": "lower"})
        monkeypatch.setattr(type(backend), "capabilities", lambda self, device: capabilities)
        autocast_mode._policies.cache_clear()
        try:
            with polyad.autocast("cpu"):
                assert product().dtype is float32
                assert polyad.hypot(polyad.ones(1), polyad.ones(1)).dtype is bfloat16
                assert nn.functional.linear(polyad.ones(1, 2), polyad.ones(2, 2)).dtype is bfloat16
            capabilities.autocast["matmul"] = "fast"
            autocast_mode._policies.cache_clear()
            with pytest.raises(ValueError, match="unknown policy 'fast'"), polyad.autocast("cpu"):
                pass
        finally:
            autocast_mode._policies.cache_clear()


class TestGradients:
    def test_a_parameter_has_its_own_dtype(self):
        weight = polyad.ones(2, 2, requires_grad=True)
        with polyad.autocast("cpu"):
            loss = (polyad.ones(2, 2) @ weight).float().sum()
        loss.backward()
        assert weight.grad.dtype is float32
        assert weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]

    def test_casts_of_parameters_are_kept(self):
        weight = polyad.ones(2, 2, requires_grad=True)
        casts = []
        for cache in (True, False):
            with polyad.autocast("cpu", cache_enabled=cache):
                first, second = polyad.ones(1, 2) @ weight, polyad.ones(1, 2) @ weight
            sources = {id(result.grad_fn.next_functions[-1][0]) for result in (first, second)}
            casts.append(len(sources))
        assert casts == [1, 2]

    def test_a_parameter_that_changed_is_cast_again(self):
        weight = polyad.ones(2, 2, requires_grad=True)
        with polyad.autocast("cpu"):
            before = polyad.ones(1, 2) @ weight
            with polyad.no_grad():
                weight.mul_(2)
            after = polyad.ones(1, 2) @ weight
        assert (before.tolist(), after.tolist()) == ([[2.0, 2.0]], [[4.0, 4.0]])

    def test_a_cast_under_no_grad_is_not_used_outside(self):
        weight = polyad.ones(2, 2, requires_grad=True)
        with polyad.autocast("cpu"):
            with polyad.no_grad():
                polyad.ones(1, 2) @ weight
            (polyad.ones(1, 2) @ weight).float().sum().backward()
        assert weight.grad is not None

    def test_checkpoint_keeps_it(self):
        weight = polyad.full((2, 2), 1 / 3, requires_grad=True)
        dtypes = []

        def function(x):
            y = x @ weight
            dtypes.append(y.dtype)
            return y.float().sin()

        for context in (polyad.autocast("cpu"), polyad.autocast("cpu", enabled=False)):
            dtypes.clear()
            with context:
                result = polyad.utils.checkpoint.checkpoint(function, polyad.ones(1, 2), use_reentrant=False)
            result.sum().backward()
            assert len(dtypes) == 2
            assert dtypes[0] is dtypes[1]

    def test_custom_function(self):
        seen = []

        class Product(polyad.autograd.Function):
            @staticmethod
            @custom_fwd(device_type="cpu")
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                seen.append(polyad.is_autocast_enabled("cpu"))
                return x @ y

            @staticmethod
            @custom_bwd(device_type="cpu")
            def backward(ctx, g):
                x, y = ctx.saved_tensors
                seen.append(polyad.is_autocast_enabled("cpu"))
                return g @ y.t(), x.t() @ g

        class InFloat32(Product):
            @staticmethod
            @custom_fwd(device_type="cpu", cast_inputs=float32)
            def forward(ctx, x, y):
                assert x.dtype is y.dtype is float32
                ctx.save_for_backward(x, y)
                seen.append(polyad.is_autocast_enabled("cpu"))
                return x @ y

        x = polyad.ones(2, 2, requires_grad=True)
        with polyad.autocast("cpu"):
            low = Product.apply(x, polyad.ones(2, 2))
            full = InFloat32.apply(x.bfloat16(), polyad.ones(2, 2, dtype=bfloat16))
        assert (low.dtype, full.dtype) == (bfloat16, float32)
        low.float().sum().backward()
        full.sum().backward()
        assert seen == [True, False, True, False]
        assert InFloat32.apply(x, x).dtype is float32
        for decorate in (custom_fwd, custom_bwd):
            with pytest.raises(ValueError, match="device_type"):
                decorate(lambda ctx: None, device_type=3)
        assert polyad.cuda.amp.custom_bwd(lambda ctx: 3).__name__ == "<lambda>"


class TestWithModes:
    def test_vmap(self):
        with polyad.autocast("cpu"):
            result = polyad.vmap(lambda x: x @ polyad.ones(2, 2))(polyad.ones(3, 2, 2))
        assert result.dtype is bfloat16

    def test_inference_mode(self):
        with polyad.inference_mode(), polyad.autocast("cpu"):
            result = product()
        assert result.dtype is bfloat16
        assert result.is_inference()
