"""Single calls on polyad beside PyTorch:
``python benchmarks/peers/calls.py --peer-python PYTHON [--below 0.5] [WORD ...]``.

Each library runs in a process of its own, on one thread; the two take turns at each call. The figure is PyTorch's
processor time for a call divided by ours, the best of all turns of each: above 1 polyad is faster. A call is a line of
`CALLS`, an expression over the names of `operands`; words choose the lines that they are in.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import statistics
import subprocess
import sys
import time
import warnings
from typing import Any

LARGE = """
a + b | a - b | a * b | a / b | a + 1 | 2 * a | 1 - a | 1 / p | a + row | a * column | a.add(b, alpha=2) | -a | a ** 2
a ** 3 | a ** 0.5 | p ** q | a % q | torch.fmod(a, q) | a // q | torch.true_divide(a, b)
torch.div(a, q, rounding_mode="trunc") | i + j | i * j | i // u | i % u | torch.fmod(i, u) | i ** 2 | i & j | i << 1
torch.gcd(i, j) | i32 + j32 | i32 // u32 | h + k | h * k | h.exp() | h.float() | a.half() | w + v | w.float()
a.bfloat16() | d + e | d * e | d.exp() | d.sum() | c + c | c * c | c.abs() | c.exp() | a.abs() | a.sign() | a.exp()
a.exp2() | a.expm1() | p.log() | p.log2() | p.log10() | p.log1p() | p.sqrt() | p.rsqrt() | a.sin() | a.cos() | a.tan()
s.asin() | s.acos() | a.atan() | a.sinh() | a.cosh() | a.tanh() | a.asinh() | (p + 1).acosh() | s.atanh()
torch.atan2(a, b) | torch.hypot(a, b) | a.erf() | a.erfc() | s.erfinv() | p.lgamma() | p.digamma()
torch.polygamma(1, p) | torch.polygamma(2, p) | a.sigmoid() | a.logit(1e-3) | a.floor() | a.ceil() | a.round()
a.trunc() | a.frac() | a.reciprocal() | a.square() | torch.logaddexp(a, b) | torch.xlogy(a, p) | torch.special.i0(a)
torch.special.i1(a) | torch.special.ndtr(a) | torch.special.ndtri(r) | torch.special.log_ndtr(a)
torch.special.entr(p) | torch.special.zeta(p + 1, q) | torch.special.gammainc(p, q) | torch.special.gammaincc(p, q)
torch.special.bessel_j0(a) | torch.sinc(a) | torch.special.multigammaln(p + 2, 2) | torch.ldexp(a, i32)
torch.frexp(a) | torch.copysign(a, b) | torch.nextafter(a, b) | torch.heaviside(a, b) | torch.lerp(a, b, 0.5)
torch.addcmul(a, b, p) | torch.addcdiv(a, b, p) | a.clamp(-1, 1) | a.clamp(min=0) | torch.maximum(a, b)
torch.fmax(a, b) | a.nan_to_num() | a.isnan() | a.isfinite() | a == b | a < b | a > 0 | i == j | m & n | ~m
m.bitwise_or(n) | torch.where(m, a, b) | torch.where(m, a, 0.0) | a.masked_fill(m, 0.0) | a.isclose(b)
torch.allclose(a, a) | torch.equal(a, a) | torch.bucketize(a, edges) | torch.searchsorted(edges, a) | a.sum() | a.sum(0)
a.sum(1)
a.mean() | a.mean(0) | a.mean(1) | a.prod() | a.prod(1) | a.var() | a.var(0) | a.std(1) | torch.var_mean(a, 1)
a.norm() | a.norm(dim=1) | a.norm(1) | a.norm(p=float("inf")) | torch.linalg.vector_norm(a, 3, 1) | a.amax()
a.amax(0) | a.amax(1) | a.amin(1) | torch.aminmax(a) | a.max() | a.max(0) | a.max(1) | a.min(1) | a.argmax()
a.argmax(0) | a.argmax(1) | a.argmin(1) | m.any() | m.all() | m.any(1) | m.sum() | i.sum() | i.sum(1) | i.max()
i.max(1) | h.sum() | h.sum(1) | h.amax(1) | a.logsumexp(1) | a.logsumexp(0) | torch.count_nonzero(a) | a.nansum()
a.nanmean() | a.median() | a.median(1) | a.quantile(0.5, 1) | a.kthvalue(5, 1) | i8.mode(1)
torch.histc(a, 100, -3, 3) | torch.bincount(ids) | i[0].bincount(minlength=1100) | torch.histogram(a.reshape(-1), 100)
a.cumsum(1) | a.cumsum(0) | f.cumsum(0) | a.cumprod(1) | a.cummax(1) | a.cummin(0) | a.logcumsumexp(1) | torch.diff(a)
torch.trapezoid(a) | i.cumsum(1) | torch.cov(a[:64]) | torch.corrcoef(a[:64]) | a.sort(1) | a.sort(0) | f.sort()
f.argsort() | i.sort(1) | f.topk(10) | a.topk(10, 1) | a.topk(10, 0) | ids.unique() | ids.unique(return_counts=True)
torch.unique_consecutive(ids) | torch.isin(ids, ids[:100]) | f.msort() | f[ids] | a[rows] | a[:, rows] | a[rows, rows]
a[m] | f[f > 0] | m.nonzero() | a.masked_select(m) | a.index_select(0, rows) | a.index_select(1, rows)
a.gather(1, g) | a.gather(0, g) | torch.take(a, ids) | torch.take_along_dim(a, g, 1) | z.scatter(1, g, a)
z.scatter(0, g, a) | z.scatter_add(1, g, a) | z.scatter_add(0, g, a) | z.scatter_reduce(1, g, a, "amax")
z.scatter_reduce(1, g, a, "mean") | z.index_add(0, rows, a) | z.index_copy(0, rows, a) | z.index_fill(0, rows, 1.0)
z.index_put((rows,), a) | z.index_put((rows,), a, accumulate=True) | zf.index_put((ids,), f, accumulate=True)
zf.scatter(0, ids, f) | z.masked_scatter(m, a) | put(z, m, 0.0) | put(z, rows, a) | F.one_hot(ids[:65536] % 16, 16)
F.one_hot(i8 % 10, 10) | a.t().contiguous() | a.flip(1) | a.flip(0) | a.roll(1, 1) | a.rot90() | torch.cat([a, b])
torch.cat([a, b], 1) | torch.stack([a, b]) | torch.stack([a, b], 2) | a.repeat(2, 1) | a.tile(1, 2)
a.repeat_interleave(2, 1) | a.tril() | a.triu() | a.diag() | f[:1024].diag() | torch.kron(a[:32, :32], b[:32, :32])
torch.outer(f[:1024], f[:1024]) | torch.meshgrid(f[:1024], f[:1024], indexing="ij") | a.clone()
a.expand(4, 1024, 1024).contiguous() | a[::2, ::2].contiguous() | a.unfold(1, 3, 1).sum(2) | F.pad(a, (1, 1, 1, 1))
F.pad(img, (1, 1, 1, 1), mode="reflect") | F.pixel_shuffle(img[:, :32], 4) | a.double() | a.int() | i.float()
i.int() | m.float() | a.bool() | a.to(torch.uint8) | torch.zeros(1024, 1024) | torch.full((1024, 1024), 2.0)
torch.arange(1 << 20) | torch.eye(1024) | torch.linspace(0, 1, 1 << 20) | torch.tril_indices(1024, 1024)
torch.combinations(f[:500]) | torch.cartesian_prod(f[:500], f[:500]) | torch.rand(1024, 1024)
torch.randn(1024, 1024) | torch.randint(0, 10, (1024, 1024)) | torch.randperm(1 << 20) | torch.bernoulli(r)
torch.normal(a, p) | torch.multinomial(r, 4) | torch.poisson(p) | a.clone().exponential_() | F.dropout(a)
F.gumbel_softmax(a) | a @ b | img.flatten(2) @ img.flatten(2).mT | torch.mv(a, f[:1024]) | torch.dot(f, f)
torch.einsum("ij,kj->ik", a, b) | torch.addmm(row, a[:256], b) | torch.baddbmm(bmm, bmm, bmm)
torch.cross(f3, f3, dim=1) | torch.cdist(a[:256, :64], b[:256, :64]) | torch.tensordot(a, b, 1) | torch.linalg.inv(sq)
torch.linalg.solve(sq, sq) | torch.linalg.cholesky(spd) | torch.linalg.svd(sq) | torch.linalg.qr(sq)
torch.linalg.eigh(spd) | torch.linalg.det(sq) | torch.fft.fft(a) | torch.fft.rfft(a) | torch.fft.fft2(a)
torch.fft.irfft(c) | torch.stft(f, 512, window=hann, return_complex=True) | F.relu(a) | F.gelu(a)
F.gelu(a, approximate="tanh") | F.silu(a) | F.elu(a) | F.leaky_relu(a) | F.softplus(a) | F.mish(a) | F.hardswish(a)
F.glu(a) | F.softmax(a, 1) | F.softmax(a, 0) | F.log_softmax(a, 1) | F.normalize(a) | F.layer_norm(a, (1024,))
F.rms_norm(a, (1024,)) | F.group_norm(img, 8) | F.batch_norm(img, None, None, training=True)
F.batch_norm(img, mu, va) | F.instance_norm(img) | F.local_response_norm(img, 5) | F.cross_entropy(a, rows)
F.nll_loss(a, rows) | F.mse_loss(a, b) | F.l1_loss(a, b) | F.smooth_l1_loss(a, b) | F.huber_loss(a, b)
F.binary_cross_entropy(r, r2) | F.binary_cross_entropy_with_logits(a, r) | F.kl_div(a, r) | F.cosine_similarity(a, b)
F.pairwise_distance(a, b) | F.triplet_margin_loss(a, b, p) | F.margin_ranking_loss(f, f, f)
F.ctc_loss(ctc, labels, lens, tlens) | F.poisson_nll_loss(a, p) | F.gaussian_nll_loss(a, b, p)
F.conv2d(img, k3, padding=1) | F.conv2d(img, k3, stride=2) | F.conv2d(img, dw, padding=1, groups=64)
F.conv2d(img, k1) | F.conv1d(seq, k1d) | F.conv3d(vol, k3d) | F.conv_transpose2d(img, k3) | F.max_pool2d(img, 2)
F.max_pool2d(img, 3, 2, 1) | F.avg_pool2d(img, 2) | F.avg_pool2d(img, 3, 2, 1) | F.max_pool1d(seq, 2)
F.adaptive_avg_pool2d(img, 1) | F.adaptive_avg_pool2d(img, 7) | F.adaptive_max_pool2d(img, 7) | F.lp_pool2d(img, 2, 2)
F.unfold(img, 3) | F.fold(cols, 56, 3) | F.interpolate(img, scale_factor=2)
F.interpolate(img, scale_factor=2, mode="bilinear") | F.interpolate(img, size=28, mode="bicubic")
F.interpolate(img, size=28, mode="area") | F.grid_sample(img, grid) | F.grid_sample(img, grid, mode="nearest")
F.affine_grid(theta, (4, 3, 256, 256)) | F.embedding(ids, table) | F.embedding_bag(bags, table)
F.embedding_bag(bags, table, mode="max") | F.linear(a, b, row) | F.bilinear(a[:64, :64], b[:64, :64], bi)
F.scaled_dot_product_attention(qkv, qkv, qkv) | F.scaled_dot_product_attention(qkv, qkv, qkv, is_causal=True)
back(lambda x: x.prod(1), a) | back(lambda x: x.cumsum(1), a) | back(lambda x: x.sort(1)[0], a)
back(lambda x: x.max(1)[0], a) | back(lambda x: x.amax(1), a) | back(lambda x: x[rows], a) | back(lambda x: x[m], a)
back(lambda x: x.gather(1, g), a) | back(lambda x: x.std(1), a) | back(lambda x: x.norm(dim=1), a)
back(lambda x: x ** 2, a) | back(lambda x: x.exp(), a) | back(lambda x: x.tanh(), a) | back(lambda x: F.gelu(x), a)
back(lambda x: F.softmax(x, 1), a) | back(lambda x: F.layer_norm(x, (1024,)), a)
back(lambda x: F.grid_sample(x, grid), img) | back(lambda x: F.embedding_bag(bags, x), table)
back(lambda x: F.embedding(ids, x), table) | back(lambda x: F.avg_pool2d(x, 2), img)
back(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), img)
back(lambda x: F.conv2d(x, k3, padding=1), img) | back(lambda x: F.unfold(x, 3), img)
back(lambda x: torch.cat([x, x]), a) | back(lambda x: x.var(0), a)
back(lambda x: F.ctc_loss(x.log_softmax(2), labels, lens, tlens), ctc) | back(lambda x: x.logsumexp(1), a)
back(lambda x: x.cumprod(1), p) | back(lambda x: F.max_pool2d(x, 3, 2, 1), img)
back(lambda x: torch.cdist(x, b[:256, :64]), b[256:512, :64])
back(lambda x: F.conv2d(x, dw, padding=1, groups=64), img)
"""
"""Calls on about a million elements, or on what programs have."""

SMALL = """
x + y | x + 1 | x * y | x / y | x - y | x.add_(y) | x.mul_(0.5) | x == y | x > 0 | x.sum() | x.mean() | x.max()
x.argmax() | x.exp() | x.tanh() | x.relu() | x.clamp(0, 1) | x.abs() | x.sqrt() | x.sigmoid() | x[3] | x[3].item()
x[1:5] | x[None] | x.view(8, 8) | x.reshape(8, 8) | x2.t() | x2[0] | x2[:, 0] | x2[2:4, 2:4] | x2.unsqueeze(0)
x2.permute(1, 0) | x2.transpose(0, 1) | x2.flatten() | x2.expand(4, 8, 8) | x2.chunk(2) | x2.split(4) | x.detach()
x.clone() | x.float() | x.double() | x.long() | x.to(torch.float16) | x.tolist() | x.numpy()
torch.tensor([1.0, 2.0]) | torch.zeros(8) | torch.ones(8, 8) | torch.arange(10) | torch.randn(8, 8)
torch.randn(64, 64) | torch.rand(64) | torch.randint(0, 10, (64,)) | torch.randperm(64) | torch.cat([x, y])
torch.stack([x, y]) | x[x > 0] | x2[mk] | put(x, x > 9, 0.0) | x[t] | x2[t] | add_at(x, t, y8) | add_at(x, 5, xs)
put(x, 5, 1.0) | put(x2, 0, y8) | x2.gather(1, t2) | x2.scatter(1, t2, x2) | x2.scatter_add(1, t2, x2)
x.index_select(0, t) | torch.where(mx, x, y) | x.masked_fill(mx, 0.0) | mx.nonzero() | mx.any() | mx.sum() | x.topk(5)
x.sort() | x.argsort() | x.cumsum(0) | x2.sum(0) | x2.max(1) | x2.softmax(1) | x2.log_softmax(1)
x2.mean(1, keepdim=True) | x2.var(1) | x2.norm() | x2 @ x2 | x2 @ y8 | torch.dot(x, y) | F.linear(x2, x2, y8)
F.layer_norm(x2, (8,)) | F.cross_entropy(x2, t8) | F.mse_loss(x, y) | F.gelu(x) | F.dropout(x) | F.embedding(t, x2)
F.one_hot(t, 8) | torch.equal(x, y) | torch.allclose(x, y) | x.norm() | x.std() | x.var() | x.prod() | x ** 2 | x % 2
x // 2 | x.round() | x.floor() | x.flip(0) | x.roll(1) | x2.tril() | torch.eye(8) | torch.linspace(0, 1, 8)
torch.outer(y8, y8) | torch.einsum("ij,jk->ik", x2, x2) | x.unique() | torch.bincount(t) | x2.repeat(2, 2)
torch.full((8,), 1.0) | torch.zeros_like(x) | torch.empty(8) | x.numel() | x.shape | x.any() | x.all() | float(xs)
int(xi) | bool(xs > 0) | xs.item() | xs + 1 | xi + 1 | len(x) | x.is_contiguous() | x.copy_(y) | x.zero_()
x.fill_(1.0) | x.new_zeros(8) | back(lambda v: v * v, x) | back(lambda v: v.exp(), x)
back(lambda v: F.linear(v, x2), x2)
"""
"""Calls on tensors of 64 elements."""


def operands(torch: Any) -> dict[str, Any]:
    """The names that calls use."""
    torch.manual_seed(0)
    randn, rand, randint = torch.randn, torch.rand, torch.randint

    def put(tensor: Any, place: Any, value: Any) -> None:
        tensor[place] = value

    def add_at(tensor: Any, place: Any, value: Any) -> None:
        tensor[place] += value

    def back(function: Any, tensor: Any) -> None:
        leaf = tensor.detach().requires_grad_()
        result = function(leaf)
        result.backward(torch.ones_like(result))

    n, square, a, b = 1024, randn(128, 128), randn(1024, 1024), randn(1024, 1024)
    integers = {"i": randint(0, 1000, (n, n)), "j": randint(0, 1000, (n, n)), "u": randint(1, 100, (n, n))}
    large = {
        "a": a, "b": b, "p": rand(n, n) * 5 + 0.1, "q": rand(n, n) * 5 + 0.1, "row": randn(n), "column": randn(n, 1),
        "s": rand(n, n) * 1.98 - 0.99, "r": rand(n, n) * 0.98 + 0.01, "r2": rand(n, n), "z": torch.zeros(n, n),
        "d": a.double(), "e": b.double(), "h": a.half(), "k": b.half(), "w": a.bfloat16(), "v": b.bfloat16(),
        "c": torch.complex(a, b), "m": randn(n, n) > 0, "n": randn(n, n) > 0, "f": randn(1 << 20),
        "zf": torch.zeros(1 << 20), "ids": randint(0, 10000, (1 << 20,)), "rows": randint(0, n, (n,)),
        "g": randint(0, n, (n, n)), "i8": randint(0, 100, (n, 256)), "edges": torch.linspace(-3, 3, 100),
        **integers, **{name + "32": each.int() for name, each in integers.items()},
    }  # fmt: skip
    layers = {
        "img": randn(4, 64, 56, 56), "k3": randn(64, 64, 3, 3), "dw": randn(64, 1, 3, 3), "k1": randn(64, 64, 1, 1),
        "seq": randn(8, 64, 2048), "k1d": randn(64, 64, 3), "vol": randn(2, 8, 16, 32, 32), "k3d": randn(8, 8, 3, 3, 3),
        "cols": randn(4, 576, 54 * 54), "grid": rand(4, 56, 56, 2) * 2 - 1, "theta": randn(4, 2, 3), "mu": randn(64),
        "va": rand(64) + 0.5, "bi": randn(8, 64, 64), "table": randn(10000, 64), "bags": randint(0, 10000, (1024, 32)),
        "qkv": randn(4, 8, 256, 64), "ctc": randn(100, 16, 30).log_softmax(2), "labels": randint(1, 30, (16, 20)),
        "lens": torch.full((16,), 100), "tlens": torch.full((16,), 20), "bmm": randn(64, 64, 64), "sq": square,
        "spd": square @ square.t() + 128 * torch.eye(128), "hann": torch.hann_window(512), "f3": randn(1 << 18, 3),
    }  # fmt: skip
    x2 = randn(8, 8)
    small = {
        "x": randn(64), "y": randn(64), "x2": x2, "y8": randn(8), "t": randint(0, 8, (8,)), "t8": randint(0, 8, (8,)),
        "t2": randint(0, 8, (8, 8)), "mk": x2 > 0, "mx": randn(64) > 0, "xs": torch.tensor(1.5), "xi": torch.tensor(3),
    }  # fmt: skip
    functions = {"put": put, "add_at": add_at, "back": back, "torch": torch, "F": torch.nn.functional}
    return {**functions, **large, **layers, **small}


def calls(words: list[str]) -> list[str]:
    """The calls in which one of *words* is; all if there are none."""
    found = []
    for group, text in (("large", LARGE), ("small", SMALL)):
        for line in text.strip().splitlines():
            found += [(group, one) for one in line.split(" | ")]
    return [call for group, call in found if not words or group in words or any(word in call for word in words)]


def serve(library: str) -> None:
    """Answer each line of standard input, ``seconds call``, with the best processor time of a call in microseconds."""
    warnings.simplefilter("ignore")
    torch = importlib.import_module(library)
    importlib.import_module(f"{library}.nn.functional")
    torch.set_num_threads(1)
    names = operands(torch)
    print("ready", flush=True)
    for line in sys.stdin:
        seconds, _, text = line.strip().partition(" ")
        try:
            step = eval(f"lambda: {text}", names)
            step()
            step()
        except Exception as error:
            print("nan", type(error).__name__, str(error).splitlines()[:1], file=sys.stderr)
            print("nan", flush=True)
            continue
        print(measure(step, float(seconds)) * 1e6, flush=True)


def measure(step: Any, seconds: float) -> float:
    """The best processor time of a call in seconds, over stretches that are long beside the clock's steps."""
    began = time.process_time()
    step()
    once = max(time.process_time() - began, 1e-7)
    count = max(1, int(seconds / 5 / once))
    gc.disable()
    best, left = float("inf"), 5 if once < seconds else 2
    for _ in range(left):
        began = time.process_time()
        for _ in range(count):
            step()
        best = min(best, (time.process_time() - began) / count)
    gc.enable()
    return best


class Side:
    """A process that times calls with one library."""

    def __init__(self, python: str, library: str) -> None:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLYAD_NUM_THREADS")
        self.process = subprocess.Popen(
            [python, __file__, "--serve", library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **dict.fromkeys(names, "1")},
        )  # fmt: skip
        self.read()

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def time(self, call: str, seconds: float) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds} {call}\n")
        self.process.stdin.flush()
        return float(self.read() or "nan")


def main() -> None:
    """Print a line for each call, the slowest beside PyTorch's last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=sys.executable, help="the interpreter of an environment with PyTorch")
    parser.add_argument("--ours", default=sys.executable, help="the interpreter of an environment with polyad")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.02, help="per call, library and round")
    parser.add_argument("--below", type=float, default=float("inf"), help="print only ratios below this")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help="large, small, or words in calls; default: all")
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve)
        return
    ours, theirs = Side(asked.ours, "polyad"), Side(asked.peer_python, "torch")
    rows = []
    for call in calls(asked.words):
        pairs = [(theirs.time(call, asked.seconds), ours.time(call, asked.seconds)) for _ in range(asked.rounds)]
        their, our = (min(column) for column in zip(*pairs, strict=True))
        rows.append((their / our, our, their, call))
    print("ratio   polyad us     peer us  call")
    for ratio, our, their, call in sorted(rows, reverse=True):
        if not ratio >= asked.below:
            print(f"{ratio:5.2f} {our:11.1f} {their:11.1f}  {call}")
    known = [ratio for ratio, *_ in rows if ratio > 0]
    print(f"{len(rows)} calls, geometric mean {statistics.geometric_mean(known):.2f}")


if __name__ == "__main__":
    main()
