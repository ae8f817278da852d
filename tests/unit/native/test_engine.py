"""The pool of threads, and kernels of the engine on sizes that no conformance sample has."""

import importlib
import math
import os
import platform
import signal
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import polyad
from polyad.devices import plugins, registry
from polyad.nn import functional
from polyad_native import compiler
from polyad_native.gemm import GEMM
from polyad_native.kernels.nn import convolution
from polyad_native.kernels.nn.activation.rectifiers import RECTIFIERS

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")


def seeded(*shape):
    return polyad.tensor(np.random.default_rng(math.prod(shape)).standard_normal(shape).astype(np.float32))


def trained(kernel, *shapes):
    """The result of a function and the gradients of its operands."""
    operands = [seeded(*shape).requires_grad_() for shape in shapes]
    result = kernel(*operands)
    result.backward(seeded(*result.shape))
    return [result.detach(), *[operand.grad for operand in operands]]


def layer(of):
    polyad.manual_seed(1)
    network = of(20, 24, 2)
    return lambda x: network(x)[0]


HALVES = polyad.bfloat16, polyad.float16
WORK = {
    "product": (lambda a, b: a @ b, (190, 700), (700, 333)),
    "products": (lambda a, b: a @ b, (9, 65, 70), (9, 70, 33)),
    "linear": (functional.linear, (7, 130, 90), (300, 90), (300,)),
    "few rows": (functional.linear, (9, 700), (1100, 700), (1100,)),
    "a row": (lambda a, b: a @ b, (1, 700), (700, 1100)),
    "lstm": (layer(polyad.nn.LSTM), (6, 70, 20)),
    "gru": (layer(polyad.nn.GRU), (6, 70, 20)),
    "convolution": (lambda x, w: functional.conv2d(x, w, padding=1), (9, 16, 20, 20), (40, 16, 3, 3)),
    "deep convolution": (lambda x, w: functional.conv2d(x, w, stride=2), (3, 96, 9, 9), (100, 96, 3, 3)),
    "grouped convolution": (lambda x, w: functional.conv2d(x, w, padding=2, groups=24), (5, 24, 17, 17), (24, 1, 3, 3)),
    "attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        (2, 3, 130, 24), (2, 3, 130, 24), (2, 3, 130, 40),
    ),
    "attention of few": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        (2, 12, 3, 40), (2, 4, 600, 40), (2, 4, 600, 24),
    ),
    "softmax": (lambda x: x.softmax(-1), (300, 1000)),
    "layer norm": (lambda x, w: functional.layer_norm(x, (400,), w), (500, 400), (400,)),
    "gelu": (functional.gelu, (500, 400)),
    "sums": (lambda x: x.sum(0) * x.sum(), (1000, 300)),
    "sums in the middle": (
        lambda x: polyad.cat([x.sum(1), x.amax((0, 2))[None].expand(9, 150), x.var(1)], 1),
        (9, 150, 70),
    ),
    "masked attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, seeded(3, 70, 90), dropout_p=0.2),
        (2, 3, 70, 24), (2, 3, 90, 24), (2, 3, 90, 40),
    ),
    "turned convolution": (lambda x, w: functional.conv_transpose2d(x, w, stride=2), (3, 40, 14, 14), (40, 30, 3, 3)),
    "convolution of a row": (lambda x, w, b: functional.conv1d(x, w, b, dilation=2), (6, 30, 300), (50, 30, 3), (50,)),
    "batch norm": (lambda x, w: functional.batch_norm(x, None, None, w, training=True), (12, 30, 20, 20), (30,)),
    "root mean square norm": (lambda x, w: functional.rms_norm(x, (400,), w), (500, 400), (400,)),
    "products of half types": (
        lambda a, b, c: polyad.cat([functional.linear(a.to(of), b.to(of), c.to(of)).float() for of in HALVES]),
        (190, 1300), (333, 1300), (333,),
    ),
    "few rows of half types": (
        lambda a, b: polyad.cat([(a.to(of) @ b.to(of)).float() for of in HALVES]), (3, 700), (700, 1100),
    ),
    "convolution of half types": (
        lambda x, w: polyad.cat([functional.conv2d(x.to(of), w.to(of), padding=1).float() for of in HALVES]),
        (9, 16, 20, 20), (40, 16, 3, 3),
    ),
    "attention of half types": (
        lambda x: polyad.cat(
            [functional.scaled_dot_product_attention(*[x.to(of)] * 3, is_causal=True).float() for of in HALVES]
        ),
        (2, 3, 130, 24),
    ),
    "convolution of volumes": (lambda x, w: functional.conv3d(x, w, padding=1), (3, 8, 6, 13, 12), (20, 8, 3, 3, 3)),
    "random numbers": (lambda x: x * polyad.randn(200, 300) + polyad.rand(200, 300), (200, 300)),
}  # fmt: skip


@pytest.fixture
def threads():
    before = polyad.get_num_threads()
    yield polyad.set_num_threads
    polyad.set_num_threads(before)


@pytest.mark.parametrize("name", WORK)
def test_results_do_not_depend_on_the_number_of_threads(threads, name) -> None:
    kernel, *shapes = WORK[name]
    found = []
    for number in (1, 2, 5):
        threads(number)
        polyad.manual_seed(3)
        found.append(trained(kernel, *shapes))
    for others in found[1:]:
        for first, other in zip(found[0], others, strict=True):
            assert polyad.equal(first, other)


def test_large_kernels_are_native() -> None:
    origins = {backend.name: backend for backend in polyad.backends.list_backends().plugins}
    ops = {op for device, op, _ in origins["native"].kernels if device == "cpu"}
    assert {"gemm", "linear", "convolution", "sgd_step", "attention"} <= ops
    for name in ("gelu", "softmax", "add", "sum", "logical_and"):
        (first, *_) = plugins.candidate_kernels(registry.get("cpu"), name)
        assert first.origin == "native", name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_right_for_any_layout(dtype) -> None:
    random = np.random.default_rng(3)
    for _ in range(120):
        rows, inner, columns = (int(size) for size in random.integers(1, 150, 3))
        rows, inner, columns = (
            (rows, inner, columns) if random.random() < 0.5 else (rows % 9 + 1, 3 * inner, columns % 9 + 1)
        )
        lead = tuple(int(size) for size in random.integers(1, 4, random.integers(0, 3)))

        def matrix(down, right, lead=lead):
            step = int(random.integers(1, 3))
            held = random.standard_normal((*lead, down * step, right)).astype(dtype)[..., ::step, :]
            turned = np.ascontiguousarray(held.swapaxes(-1, -2)).swapaxes(-1, -2)
            return held if random.random() < 0.5 else turned

        a, b = matrix(rows, inner), matrix(inner, columns)
        found = (polyad.from_numpy(a) @ polyad.from_numpy(b)).numpy()
        wide = np.longdouble
        bound = (np.abs(a).astype(wide) @ np.abs(b).astype(wide)) * np.finfo(dtype).eps * (inner + 1)
        assert (np.abs(found - a.astype(wide) @ b.astype(wide)) <= bound).all()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="flags of x86-64")
@pytest.mark.parametrize("real", ["float32", "float64"])
def test_products_are_right_with_the_vectors_of_any_processor(real) -> None:
    """Of 16 bytes, as the oldest of x86-64 and those of ARM have them: two numbers of float64."""
    library = GEMM.bound(getattr(polyad, real), "-march=x86-64")
    dtype = np.dtype(real)
    random = np.random.default_rng(4)
    for rows, inner, columns in [
        (1, 40, 1),
        (3, 7, 5),
        (4, 9, 4),
        (5, 64, 30),
        (2, 100, 17),
        (40, 33, 50),
        (90, 400, 70),
    ]:
        a, b = random.standard_normal((rows, inner)), random.standard_normal((inner, columns))
        for left in (a.astype(dtype), np.asfortranarray(a.astype(dtype))):
            for right in (b.astype(dtype), np.asfortranarray(b.astype(dtype))):
                out = np.empty((rows, columns), dtype)
                assert library.product(out, left, right, None)
                np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="flags of x86-64")
@pytest.mark.parametrize("real", ["float32", "float64"])
def test_convolutions_stay_in_their_memory_with_the_vectors_of_any_processor(threads, real) -> None:
    library = convolution.CONVOLUTION.bound(getattr(polyad, real), "-march=x86-64")
    dtype = np.dtype(real)
    random = np.random.default_rng(4)
    threads(5)
    for length in (7, 9, 11, 13, 18):
        x, w = random.standard_normal((40, 5, length)).astype(dtype), random.standard_normal((6, 5, 4)).astype(dtype)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (3, 3))), 4, 2)
        wanted = np.einsum("ncpk,ock->nop", windows, w)
        geometry = convolution._geometry(x.shape, 6, (4,), wanted.shape[2:], (1,), (3,), (1,), 1)
        for _ in range(20):
            out = np.empty(wanted.shape, dtype)
            library.convolve(out, x, w, None, geometry)
            np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_convolutions_of_volumes_are_those_of_layers(dtype) -> None:
    """Against NumPy's: forward, turned, and the gradient to the weight, in volumes of many shapes."""
    numpys = importlib.import_module("polyad_numpy.kernels.nn.convolution")
    types = (SimpleNamespace(dtype=polyad.float32 if dtype is np.float32 else polyad.float64),)
    forward, turned, of_weight = (
        getattr(convolution, name)(types)
        for name in ("convolution", "convolution_transposed", "convolution_weight_grad")
    )
    random = np.random.default_rng(5)
    pick = lambda low, high: tuple(int(n) for n in random.integers(low, high, 3))  # noqa: E731
    compare = {np.float32: {"rtol": 1e-4, "atol": 1e-3}, np.float64: {"rtol": 1e-10, "atol": 1e-10}}[dtype]
    for turn in range(60):
        groups = int(random.choice([1, 1, 2, 5]))
        each, out_each = (int(n) for n in random.integers(1, 12, 2))
        kernel, stride, dilation, padding = pick(1, 4), pick(1, 3), pick(1, 3), pick(0, 3)
        if turn % 2:
            stride = (1, 1, 1)
        size = tuple(int(n) + d * (k - 1) for n, d, k in zip(pick(1, 14), dilation, kernel))
        images = int(random.integers(1, 12))
        x = random.standard_normal((images, groups * each, *size)).astype(dtype)
        weight = random.standard_normal((groups * out_each, each, *kernel)).astype(dtype)
        bias = random.standard_normal(groups * out_each).astype(dtype)
        settings = stride, padding, dilation, groups
        out = forward(x, weight, bias, *settings)
        np.testing.assert_allclose(out, numpys.convolution(x, weight, bias, *settings), **compare)
        grad = random.standard_normal(out.shape).astype(dtype)
        found = of_weight(grad, x, kernel, *settings)
        np.testing.assert_allclose(found, numpys.convolution_weight_grad(grad, x, kernel, *settings), **compare)
        if math.prod(stride) > 1 and math.prod(dilation) > 1:
            continue
        found = turned(grad, weight, None, size, *settings)
        np.testing.assert_allclose(found, numpys.convolution_transposed(grad, weight, None, size, *settings), **compare)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 3, 4, 5])
def test_few_queries_attend_as_many_do(dtype, rows) -> None:
    """To a part of a cache, several heads of queries to a head of keys, with a mask that leaves a row nothing."""
    random = np.random.default_rng(rows)
    query = random.standard_normal((2, 6, rows, 19)).astype(dtype)
    key, value = (random.standard_normal((2, 3, 80, 19)).astype(dtype)[:, :, 5:66] for _ in range(2))
    mask = random.random((rows, 61)) < 0.7
    mask[-1] = False
    weights = np.exp(query.reshape(2, 3, 2, rows, 19) @ key.swapaxes(-1, -2)[:, :, None] / math.sqrt(19)) * mask
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-9)
    wanted = (weights @ value[:, :, None]).reshape(query.shape)
    q, k, v, m = map(polyad.from_numpy, (query, key, value, mask))
    found = functional.scaled_dot_product_attention(q, k, v, m, enable_gqa=True).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert not found[:, :, -1].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_without_python_leave_what_they_do_not_take_to_others(dtype) -> None:
    name = getattr(polyad, np.dtype(dtype).name)
    taken = []

    def other(*args, **given):
        taken.append((args, given))

    product = GEMM.module(name).direct_product(np.empty, np.dtype(dtype), other)
    rectified = RECTIFIERS.module(name).direct_relu(np.empty, np.dtype(dtype), other)
    a, b = (np.random.default_rng(2).standard_normal(shape).astype(dtype) for shape in ((5, 7), (7, 3)))
    rows = np.stack([a, a + 1])
    for turned, right in ((False, b), (True, np.ascontiguousarray(b.T))):
        np.testing.assert_allclose(product(a, right, False, turned), a @ b, rtol=1e-5)
        np.testing.assert_allclose(product(np.asfortranarray(a.T), right, True, turned), a @ b, rtol=1e-5)
        np.testing.assert_allclose(product(rows, right, False, turned), rows @ b, rtol=1e-5)
    np.testing.assert_allclose(product(rows, b.T, b[0]), rows @ b + b[0], rtol=1e-5)
    np.testing.assert_array_equal(rectified(a), np.maximum(a, 0))
    np.testing.assert_array_equal(rectified(a + 2, np.maximum(a, 0)), np.where(a > 0, a + 2, 0))
    assert np.isnan(rectified(a * np.nan)).all()
    assert not taken
    product(a, rows, False, False)
    product(rows.swapaxes(0, 1), b, False, False)
    product(rows, b, True, False)
    product(a, b[:5], False, False)
    product(a[:0], b, False, False)
    product(a, b, False, False, out=None)
    product(rows, b.T, b[0, ::2])
    product(rows, b.T, b[:, 0])
    product(None, b, False, False)
    rectified(a.T)
    rectified(a, b)
    rectified(a, None)
    rectified(np.zeros(1 << 12, dtype))
    rectified(a, out=a)
    assert len(taken) == 14


def test_nan_and_infinity_stay_where_they_belong() -> None:
    x = polyad.zeros(4, 8, 40, 40)
    x[1, 2, 3, 4] = math.inf
    x[2, 0, 39, 39] = math.nan
    result = functional.conv2d(x, polyad.ones(16, 8, 3, 3), padding=1)
    assert not result[0].any()
    assert result[1].isinf().sum() == 9 * 16
    assert result[2].isnan().sum() == 4 * 16
    scores = polyad.zeros(2, 64, 16)
    scores[0, 5] = math.nan
    seen = functional.scaled_dot_product_attention(scores, polyad.ones(2, 64, 16), polyad.ones(2, 64, 16))
    assert seen.isnan().any(-1).nonzero().tolist() == [[0, 5]]


def run(text):
    quiet = "-Wignore:This process:DeprecationWarning"  # Python 3.12 says it of every fork beside threads
    return subprocess.run(
        [sys.executable, quiet, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120
    )


def test_forked_processes_compute_and_end() -> None:
    done = run(
        """
        import os, random, signal, time
        import polyad
        polyad.set_num_threads(3)
        a = polyad.ones(300, 300)
        a @ a
        for turn in range(12):
            child = os.fork()
            if not child:
                polyad.nn.functional.gelu(a @ a).sum()
                os._exit(7 if ((a @ a) == 300).all() else 1)
            if turn % 3 == 2:
                os.kill(child, signal.SIGKILL)
            a @ a
            ended, status = os.waitpid(child, 0)
            assert turn % 3 == 2 or os.waitstatus_to_exitcode(status) == 7, status
        print("done")
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_threads_of_a_program_share_the_pool() -> None:
    done = run(
        """
        import threading, polyad
        a = polyad.ones(300, 300)
        def work():
            for _ in range(20):
                assert ((a @ a) == 300).all() and (polyad.exp(a * 0) == 1).all()
            ends.append(1)
        ends = []
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(len(ends))
        """
    )
    assert (done.stdout, done.stderr) == ("4\n", "")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_idle_threads_sleep() -> None:
    done = run(
        """
        import time, polyad
        a = polyad.ones(500, 500)
        a @ a
        time.sleep(0.2)
        before = time.process_time()
        time.sleep(1)
        print(time.process_time() - before < 0.1)
        """
    )
    assert done.stdout == "True\n"


def test_many_runs_leave_nothing_behind() -> None:
    """Three here; for minutes of them set POLYAD_MANY_RUNS=200."""
    import random
    import time

    for _ in range(int(os.environ.get("POLYAD_MANY_RUNS", "3"))):
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import os, polyad; a = polyad.ones(400, 400); a @ a; os.fork(); [a @ a for _ in range(20)]",
            ]
        )
        if random.random() < 0.3:
            time.sleep(random.random())
            process.kill()
        assert process.wait(60) in (0, -signal.SIGKILL)
