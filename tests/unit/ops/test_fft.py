"""Fourier transforms: the decomposition that every backend has, round trips, and what the functions accept."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polyad
from polyad.dispatch.op import op_of
from polyad.ops.fft import dft

C64, C128 = polyad.complex64, polyad.complex128


def signal(*shape, dtype=C128, seed=0):
    random = np.random.default_rng(seed)
    values = random.uniform(-1, 1, shape)
    if dtype.is_complex:
        values = values + 1j * random.uniform(-1, 1, shape)
    return polyad.tensor(values, dtype=dtype)


@pytest.mark.parametrize("size", [1, 2, 32, 33, 36, 37, 41, 64, 74, 127, 210, 1000, 1024, 1369, 2003, 6000])
@pytest.mark.parametrize("dtype", [C64, C128])
def test_the_decomposition_of_any_length(size, dtype):
    x = signal(2, size, dtype=dtype)
    made = op_of(dft._fft_c2c).body(x, (1,), "backward", True)
    exact = np.fft.fft(x.to(C128).numpy())
    # Each of about log2(n) stages (two of them and twice the length for a chirp) adds a few roundings of the largest
    # magnitude, which for random signs grows as sqrt(n); a product with a DFT matrix of up to 32 rows adds 32.
    bound = 40 * math.log2(2 * size) * polyad.finfo(dtype).eps * np.abs(exact).max()
    assert made.dtype is dtype
    np.testing.assert_allclose(made.numpy(), exact, rtol=0, atol=bound)


@pytest.mark.parametrize("shape", [(8,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_round_trips(shape, norm):
    z, x = signal(*shape), signal(*shape, dtype=polyad.float64)
    close = {"rtol": 0, "atol": 1e-13}
    np.testing.assert_allclose(polyad.fft.ifftn(polyad.fft.fftn(z, norm=norm), norm=norm).numpy(), z.numpy(), **close)
    half = polyad.fft.rfftn(x, norm=norm)
    np.testing.assert_allclose(polyad.fft.irfftn(half, shape, norm=norm).numpy(), x.numpy(), **close)
    ihalf = polyad.fft.ihfftn(x, norm=norm)
    np.testing.assert_allclose(polyad.fft.hfftn(ihalf, shape, norm=norm).numpy(), x.numpy(), **close)


def test_energy_is_kept_by_ortho():
    x = signal(4, 12)
    before, after = (x.abs() ** 2).sum(), (polyad.fft.fft2(x, norm="ortho").abs() ** 2).sum()
    assert after.item() == pytest.approx(before.item(), rel=1e-14)


def test_float32_stays_float32():
    assert polyad.fft.fft(polyad.ones(4)).dtype is C64
    assert polyad.fft.rfft(polyad.ones(4, dtype=polyad.int16)).dtype is C64
    assert polyad.fft.irfft(polyad.ones(4, dtype=C128)).dtype is polyad.float64
    out = polyad.empty(3, dtype=C128)
    assert polyad.fft.rfft(polyad.ones(4), out=out) is out
    assert out.tolist() == [4, 0, 0]


def test_the_number_of_threads_does_not_matter():
    x = signal(64, 64, 257, dtype=C64)
    before = polyad.get_num_threads()
    try:
        polyad.set_num_threads(1)
        one = polyad.fft.fftn(x).numpy()
        polyad.set_num_threads(2)
        two = polyad.fft.fftn(x).numpy()
    finally:
        polyad.set_num_threads(before)
    assert one.tobytes() == two.tobytes()


def test_a_transform_is_captured_as_one_op():
    graph = polyad.jit.capture(lambda x: polyad.fft.rfft(x, norm="ortho"), polyad.ones(8))
    assert [node.name for node in graph] == ["fft_r2c"]


@pytest.mark.parametrize(
    "options", [{}, {"normalized": True}, {"win_length": 12}, {"onesided": False}, {"center": False}]
)
def test_a_signal_comes_back_from_its_spectrogram(options):
    x = signal(2, 100, dtype=polyad.float64)
    length = options.get("win_length", 16)
    window = polyad.hann_window(length, dtype=polyad.float64) + 0.1
    spectrum = polyad.stft(x, 16, 4, window=window, return_complex=True, **options)
    options.pop("return_complex", None)
    back = polyad.istft(spectrum, 16, 4, window=window, length=96, **options)
    np.testing.assert_allclose(back.numpy(), x[:, :96].numpy(), rtol=0, atol=1e-12)


def test_a_length_beyond_the_frames_warns():
    spectrum = polyad.stft(polyad.ones(16), 4, return_complex=True)
    with pytest.warns(UserWarning, match="the frames end before"):
        assert polyad.istft(spectrum, 4, length=40).shape == (40,)


def test_gradient_through_a_spectrogram():
    x = signal(30, dtype=polyad.float64).requires_grad_()
    (polyad.stft(x, 8, return_complex=True).abs() ** 2).sum().backward()
    # Parseval: the energy of all frames, of which the one-sided spectrum counts all but the ends twice.
    whole = polyad.stft(x, 8, return_complex=True, onesided=False)
    assert whole.shape == (8, 16)
    step = 1e-6
    values = x.detach().clone()
    values[11] += step
    ahead = (polyad.stft(values, 8, return_complex=True).abs() ** 2).sum().item()
    values[11] -= 2 * step
    behind = (polyad.stft(values, 8, return_complex=True).abs() ** 2).sum().item()
    assert x.grad[11].item() == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


def test_overlapping_windows_add_up_in_their_gradient():
    x = polyad.zeros(2, 9, dtype=polyad.float64, requires_grad=True)
    weights = signal(2, 3, 4, dtype=polyad.float64)
    (x.unfold(1, 4, 2) * weights).sum().backward()
    expected = np.zeros((2, 9))
    for frame in range(3):
        expected[:, 2 * frame : 2 * frame + 4] += weights.numpy()[:, frame]
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-15, atol=1e-15)


def test_windows():
    assert polyad.hann_window(4, periodic=False).tolist() == pytest.approx([0, 0.75, 0.75, 0])
    assert polyad.hann_window(3, dtype=polyad.bfloat16).dtype is polyad.bfloat16
    assert polyad.kaiser_window(0).shape == (0,)
    assert polyad.bartlett_window(3, requires_grad=True).requires_grad
