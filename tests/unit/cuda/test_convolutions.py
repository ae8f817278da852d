"""Convolutions by cuDNN, on the stand-in for its frontend: layouts, TF32, and what happens where it is wrong."""

import sys

import pytest

import polyad
from polyad.base.device import Device
from polyad_cupy.kernels.nn import convolution as safe, cudnn_convolution as by_cudnn
from polyad_cupy.libraries import cudnn as binding
from polyad_cupy.runtime.device import opened

F = polyad.nn.functional
switches = polyad.backends.cudnn


def description():
    return opened(Device("cuda", 0)).description


def step(x, weight, bias, **settings):
    """The result of a convolution of 1 to 3 dimensions and its gradients."""
    x, weight, bias = [part.detach().requires_grad_() for part in (x, weight, bias)]
    convolve = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.ndim]
    out = convolve(x, weight, bias, **settings)
    (out * polyad.arange(out.numel(), device=x.device).reshape(out.shape).to(out.dtype)).sum().backward()
    return [part.detach().cpu() for part in (out, x.grad, weight.grad, bias.grad)]


def check(x, weight, bias, **settings):
    wanted = step(x, weight, bias, **settings)
    got = step(x.cuda(), weight.cuda(), bias.cuda(), **settings)
    for have, want in zip(got, wanted, strict=True):
        polyad.testing.assert_close(have, want, rtol=1e-4, atol=1e-4 * float(want.abs().max()))
    return got


def in_layout(x, last):
    return x.to(memory_format=polyad.channels_last if x.ndim == 4 else polyad.channels_last_3d) if last else x


CASES = [
    ((2, 4, 9), (6, 4, 3), {"padding": 1}),
    ((2, 4, 9, 8), (6, 2, 3, 2), {"stride": (2, 1), "groups": 2}),
    ((2, 4, 9, 8), (4, 1, 3, 3), {"groups": 4, "dilation": (1, 2), "padding": (2, 1)}),
    ((2, 3, 5, 6, 4), (4, 3, 2, 3, 2), {"stride": (1, 2, 1), "padding": (1, 0, 1)}),
]


@pytest.mark.parametrize(
    ("shape", "kernel", "settings", "last"),
    [(*case, last) for case in CASES for last in (False, True) if not last or len(case[0]) > 3],
)
def test_result_and_gradients_come_from_the_proved_library(library, monkeypatch, shape, kernel, settings, last):
    x, weight, bias = in_layout(polyad.rand(*shape), last), polyad.rand(*kernel), polyad.rand(kernel[0])
    step(x.cuda(), weight.cuda(), bias.cuda(), **settings)
    assert "float32 convolutions by cuDNN: proved" in description()
    for name in ("convolved", "transposed", "weight_grad"):
        monkeypatch.setattr(safe, name, None)
    library.done.clear()
    check(x, weight, bias, **settings)
    assert sorted(library.done) == ["bias", "conv_dgrad", "conv_fprop", "conv_wgrad"]


def test_a_bias_is_added_at_once(library, monkeypatch):
    x, weight, bias = polyad.rand(2, 4, 9, 8), polyad.rand(6, 4, 3, 3), polyad.rand(13)
    monkeypatch.setattr(by_cudnn, "add_to", None)
    for part in (bias[:6], bias[1:7], bias[::2][:6], bias[:1].expand(6)):
        got = F.conv2d(x.cuda(), weight.cuda(), _laid_alike(part))
        polyad.testing.assert_close(got.cpu(), F.conv2d(x, weight, part), rtol=1e-5, atol=1e-5)
        assert library.done[-2:] == ["conv_fprop", "bias"]


def _laid_alike(x):
    """*x* on the device with the same steps and offset."""
    whole = polyad.empty(0).set_(x.untyped_storage(), 0, (13,)).cuda()
    return whole.as_strided(x.shape, x.stride(), x.storage_offset())


def test_a_half_result_is_rounded_after_the_bias(library):
    x, weight = polyad.rand(2, 4, 6, 5, dtype=polyad.float16), polyad.rand(6, 4, 3, 3, dtype=polyad.float16)
    bias = -F.conv2d(x.double(), weight.double()).mean((0, 2, 3)).half()
    wanted = F.conv2d(x.double(), weight.double(), bias.double())
    got = F.conv2d(x.cuda(), weight.cuda(), bias.cuda())
    polyad.testing.assert_close(got.cpu().double(), wanted, rtol=2**-10, atol=1e-5)


def test_a_bias_that_has_no_plan_is_added_afterwards(library):
    library.unsupported = ("bias",)
    x, weight, bias = polyad.rand(2, 4, 9, 8), polyad.rand(6, 4, 3, 3), polyad.rand(6)
    check(x, weight, bias)
    assert "float32 convolutions by cuDNN: proved" in description()
    assert "conv_fprop" in library.done
    assert "bias" not in library.done


def test_channels_that_lie_innermost_stay_there_without_a_copy(library, monkeypatch):
    x, weight, bias = polyad.rand(2, 4, 9, 8), polyad.rand(6, 4, 3, 3), polyad.rand(6)
    check(x, weight, bias)
    copied = []
    copy = by_cudnn.copying.copy
    monkeypatch.setattr(by_cudnn.copying, "copy", lambda *arrays: copied.append(arrays) or copy(*arrays))
    on_device = in_layout(x.cuda(), True), in_layout(weight.cuda(), True)
    copied.clear()
    out = F.conv2d(*on_device)
    assert not copied
    assert out.stride() == F.conv2d(in_layout(x, True), weight).stride() == (6 * 7 * 6, 1, 6 * 6, 6)
    F.conv2d(on_device[0], weight.cuda())
    assert len(copied) == 1, "the weight alone is laid anew"
    polyad.testing.assert_close(out.cpu(), F.conv2d(x, weight), rtol=1e-5, atol=1e-5)


def test_what_begins_between_two_units_is_copied(library):
    wide = polyad.rand(2 * 4 * 9 * 8 + 1)
    weight = polyad.rand(6, 4, 3, 3)
    x = wide.cuda()[1:].reshape(2, 4, 9, 8)
    polyad.testing.assert_close(F.conv2d(x, weight.cuda()).cpu(), F.conv2d(x.cpu(), weight), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "settings", [{"stride": 2}, {"stride": 2, "output_padding": 1}, {"dilation": 2, "output_padding": 1}]
)
def test_transposed_convolutions(library, settings):
    x, weight, bias = polyad.rand(2, 6, 5, 4), polyad.rand(6, 2, 3, 3), polyad.rand(4)
    settings = {"padding": 1, "groups": 2, **settings}
    wanted = F.conv_transpose2d(x, weight, bias, **settings)
    got = F.conv_transpose2d(x.cuda(), weight.cuda(), bias.cuda(), **settings)
    polyad.testing.assert_close(got.cpu(), wanted, rtol=1e-5, atol=1e-5)
    assert library.done[-1] == "conv_dgrad"


@pytest.mark.parametrize("dtype", [polyad.float16, polyad.bfloat16, polyad.float64])
def test_other_dtypes_have_a_proof_each(library, dtype):
    x, weight = polyad.rand(2, 4, 6, 5, dtype=dtype), polyad.rand(6, 4, 3, 3, dtype=dtype)
    got = F.conv2d(x.cuda(), weight.cuda()).cpu()
    assert got.dtype is dtype
    wanted = F.conv2d(x.double(), weight.double())
    polyad.testing.assert_close(got.double(), wanted, rtol=3 * polyad.finfo(dtype).eps, atol=0.0)
    name = str(dtype).removeprefix("polyad.")
    assert f"{name} convolutions by cuDNN: proved" in description()
    assert "float32 convolutions" not in description()


def test_integers_and_empty_batches_go_the_safe_way(library):
    x, weight = polyad.arange(72).reshape(1, 2, 6, 6), polyad.arange(36).reshape(2, 2, 3, 3)
    assert (F.conv2d(x.cuda(), weight.cuda()).cpu() == F.conv2d(x, weight)).all()
    assert F.conv2d(polyad.rand(0, 2, 6, 6).cuda(), weight.float().cuda()).shape == (0, 2, 4, 4)
    assert not library.done


def wrong_by(library, **wanted):
    vars(library).update(wanted)
    x, weight, bias = polyad.rand(2, 4, 9, 8), polyad.rand(6, 4, 3, 3), polyad.rand(6)
    check(x, weight, bias)
    return description()


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"wrong": 0.5}, "conv_fprop (2, 8, 9, 10) by (16, 8, 3, 3) differs by"),
        ({"wrong": float("nan")}, "differs by nan"),
        ({"failing": "CUDNN_STATUS_EXECUTION_FAILED"}, "CUDNN_STATUS_EXECUTION_FAILED"),
        ({"missing": True}, "pip install nvidia-cudnn-cu12"),
        ({"unsupported": ("conv_fprop", "conv_dgrad", "conv_wgrad")}, "none of the shapes"),
    ],
)
def test_a_library_that_is_wrong_is_not_used_and_that_is_told(library, wanted, words):
    told = wrong_by(library, **wanted)
    assert "float32 convolutions by cuDNN: not used (" in told
    assert words in told
    library.done.clear()
    wrong_by(library)
    assert not library.done


def test_what_has_no_plan_goes_the_safe_way_alone(library):
    told = wrong_by(library, unsupported=("conv_dgrad",))
    assert "float32 convolutions by cuDNN: proved" in told
    assert "conv_wgrad" in library.done
    assert "conv_dgrad" not in library.done


def test_a_convolution_that_fails_later_is_done_the_safe_way(library):
    wrong_by(library)
    told = wrong_by(library, failing="CUDNN_STATUS_INTERNAL_ERROR")
    assert "float32 convolutions by cuDNN: not used (CudnnError: RuntimeError: CUDNN_STATUS_INTERNAL_ERROR)" in told


def test_without_the_frontend_the_safe_way_is_taken(library, monkeypatch):
    monkeypatch.setitem(sys.modules, "cudnn", None)
    binding.library.cache_clear()
    assert "pip install nvidia-cudnn-frontend" in wrong_by(library)
    assert switches.version() is None
    assert not switches.is_available()


def test_tf32_is_used_where_it_is_allowed_and_proved(library):
    x, weight = polyad.rand(2, 4, 6, 5), polyad.rand(6, 4, 3, 3)
    wanted = F.conv2d(x, weight)
    exact = F.conv2d(x.cuda(), weight.cuda()).cpu()
    polyad.testing.assert_close(exact, wanted, rtol=1e-5, atol=1e-5)
    assert "tf32" not in library.done
    with switches.flags(enabled=True):
        rough = F.conv2d(x.cuda(), weight.cuda()).cpu()
        assert "TF32 convolutions by cuDNN: proved" in description()
        assert library.done[-2:] == ["conv_fprop", "tf32"]
        assert (rough != exact).any()
        polyad.testing.assert_close(rough, wanted, rtol=2e-3, atol=2e-3)


def test_tf32_that_rounds_more_than_it_should_is_not_used(library):
    library.digits = 4
    with switches.flags(enabled=True):
        check(polyad.rand(2, 4, 6, 5), polyad.rand(6, 4, 3, 3), polyad.rand(6))
    assert "TF32 convolutions by cuDNN: not used (conv_fprop" in description()
    assert "float32 convolutions by cuDNN: proved" in description()


def test_the_switches_are_read(library):
    x, weight = polyad.rand(2, 4, 6, 5, device="cuda"), polyad.rand(6, 4, 3, 3, device="cuda")
    with switches.flags(enabled=False):
        F.conv2d(x, weight)
        assert not library.done
        assert not switches.is_acceptable(x)
    assert switches.is_acceptable(x)
    assert not switches.is_acceptable(x.cpu())
    assert not switches.is_acceptable(x.int())
    assert switches.version() == 92800
    F.conv2d(x, weight)
    with switches.flags(enabled=True, allow_tf32=False, benchmark=True):
        library.done.clear()
        polyad.testing.assert_close(F.conv2d(x, weight).cpu(), F.conv2d(x.cpu(), weight.cpu()), rtol=1e-5, atol=1e-5)
        assert len(library.done) == 5, "two plans twice, the faster again"
        F.conv2d(x, weight)
        assert len(library.done) == 6, "they are timed once"


def test_work_goes_to_the_stream_of_the_thread(library):
    x, weight = polyad.rand(2, 4, 6, 5), polyad.rand(6, 4, 3, 3)
    F.conv2d(x.cuda(), weight.cuda())
    stream = polyad.cuda.Stream()
    with polyad.cuda.stream(stream):
        out = F.conv2d(x.cuda(), weight.cuda())
        assert not stream.query()
        got = out.cpu()
    polyad.testing.assert_close(got, F.conv2d(x, weight), rtol=1e-5, atol=1e-5)


def test_the_workspace_is_nobody_elses_until_the_work_is_enqueued(library, device, monkeypatch):
    x, weight = polyad.rand(2, 4, 9, 8, device="cuda"), polyad.rand(4, 4, 3, 3, device="cuda")
    F.conv2d(x, weight)
    graph, taken = sys.modules["cudnn.graphs"].pygraph, []
    execute, take = graph.execute, device.pool.take

    def execute_late(self, places, workspace, handle=None):
        size = self.get_workspace_size()
        other = take(size)  # as a thread may that works in the same stream
        taken.append(size > 0 and other.buffer != workspace)
        return execute(self, places, workspace, handle=handle)

    monkeypatch.setattr(graph, "execute", execute_late)
    F.conv2d(x, weight)
    assert taken
    assert all(taken)
