"""Times of ops on device "cuda" by the device's events, medians, beside PyTorch's where it is installed.

    python benchmarks/gpu_speed.py [--repeat 20] [--small]

Prints a table: microseconds of polyad and of PyTorch, their ratio (above 1 where polyad is faster), and for ops that
only move bytes the rate against that of a plain copy, taken in the same run; then whole training steps, eager; then
what the host does for a small op. The two take turns. With --small the tensors are tiny, to see that it runs.
"""

from __future__ import annotations

import argparse
import statistics
import time

import polyad
from polyad.devices import registry

try:
    import torch

    if not torch.cuda.is_available():
        torch = None
except ImportError:
    torch = None


def cases(t, small):
    """Name, bytes that are moved (0: not told), and the call."""
    count, high, wide, side = (1 << 10, 8, 16, 7) if small else (1 << 26, 8192, 4096, 56)
    x, y = (t.randn(count, device="cuda") for _ in range(2))
    rows = t.randn(high, wide, device="cuda")
    weight, square = t.ones(wide, device="cuda"), t.randn(wide, wide, device="cuda")
    target = t.zeros(high, dtype=t.int64, device="cuda")
    channels = 4 if small else 64
    image, kernel = (
        t.randn(channels, channels, side, side, device="cuda"),
        t.randn(channels, channels, 3, 3, device="cuda"),
    )
    f = t.nn.functional
    half = square.to(t.bfloat16)
    query = t.randn(2, 2, wide // 8, 64, device="cuda", dtype=t.bfloat16)
    size = 4 * count
    yield "copy", 2 * size, lambda: x.clone()
    yield "add", 3 * size, lambda: x + y
    yield "gelu", 2 * size, lambda: f.gelu(x)
    yield "sum", size, lambda: x.sum()
    yield "sum of columns", rows.numel() * 4, lambda: rows.sum(0)
    yield "softmax", 2 * rows.numel() * 4, lambda: rows.softmax(1)
    yield "layer norm", 2 * rows.numel() * 4, lambda: f.layer_norm(rows, (wide,), weight, weight)
    yield "cross entropy", rows.numel() * 4, lambda: f.cross_entropy(rows, target)
    yield "product float32", 0, lambda: square @ square
    yield "product bfloat16", 0, lambda: half @ half
    yield "convolution TF32", 0, lambda: f.conv2d(image, kernel, padding=1)
    yield from convolutions(t, small)
    yield "attention bfloat16", 0, lambda: f.scaled_dot_product_attention(query, query, query, is_causal=True)
    mask = t.ones(wide // 8, wide // 8, dtype=t.bool, device="cuda").tril()
    yield "attention bfloat16, masked", 0, lambda: f.scaled_dot_product_attention(query, query, query, mask)
    full = query.float()
    yield "attention float32", 0, lambda: f.scaled_dot_product_attention(full, full, full, is_causal=True)
    for name, given in (("bfloat16", query), ("float32", full)):
        leaf, grad = given.detach().clone().requires_grad_(), t.ones_like(given)

        def step(leaf=leaf, grad=grad):
            f.scaled_dot_product_attention(leaf, leaf, leaf, is_causal=True).backward(grad)

        yield f"attention {name}, both ways", 0, step
    yield "sort", 0, lambda: rows.sort(1)


LAYERS = [(64, 64, 56, 3, 1), (256, 128, 56, 1, 1), (128, 128, 28, 3, 1), (512, 512, 7, 3, 1), (3, 64, 224, 7, 2)]
"""Layers of ResNet-50: channels, results, size, kernel, stride."""


def convolutions(t, small):
    """The same for layers of ResNet-50 and their gradients, with channels innermost."""
    for channels, results, size, taps, stride in LAYERS[:1] if small else LAYERS:
        for dtype in (t.float32, t.bfloat16):
            batch, side = (2, 8) if small else (64, size)
            layout = {"memory_format": t.channels_last}
            x = t.randn(batch, channels, side, side, device="cuda", dtype=dtype).to(**layout).requires_grad_()
            w = t.randn(results, channels, taps, taps, device="cuda", dtype=dtype).to(**layout).requires_grad_()
            settings = {"stride": stride, "padding": taps // 2}
            grad = t.ones_like(t.nn.functional.conv2d(x, w, **settings))
            name = f"{channels} to {results} of {size}, {taps}x{taps}, {'TF32' if dtype is t.float32 else 'bfloat16'}"
            yield name, 0, lambda x=x, w=w, s=settings: t.nn.functional.conv2d(x, w, **s)
            yield (
                f"{name}, both ways", 0,
                lambda x=x, w=w, s=settings, g=grad: t.nn.functional.conv2d(x, w, **s).backward(g),
            )  # fmt: skip


def captured(t, small):
    """A training step of a small perceptron, eager and as a captured graph."""
    width = 16 if small else 512
    model = t.nn.Sequential(*[t.nn.Linear(width, width) for _ in range(8)]).to("cuda")
    optimizer = t.optim.SGD(model.parameters(), 1e-4)
    x = t.randn(64, width, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        model(x).square().mean().backward()
        optimizer.step()

    side = t.cuda.Stream()
    side.wait_stream(t.cuda.current_stream())
    with t.cuda.stream(side):
        for _ in range(3):
            step()
    t.cuda.synchronize()
    yield "step of 8 layers, eager", step
    graph = t.cuda.CUDAGraph()
    with t.cuda.graph(graph):
        step()
    yield "step of 8 layers, captured", graph.replay


def steps(t, small):
    """Name, and a training step: forward, backward, optimizer."""
    nn = t.nn
    width, batch = (16, 4) if small else (4096, 512)
    perceptron = nn.Sequential(
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )
    yield "perceptron", training(t, perceptron, t.randn(batch, width, device="cuda"), 10)
    side, batch = (32, 2) if small else (224, 128)
    for dtype in (t.float32, t.bfloat16):
        name = f"residual network of 18 layers, {'float32' if dtype is t.float32 else 'bfloat16'}"
        pictures = t.randn(batch, 3, side, side, device="cuda")
        yield name, training(t, residual(nn, 4 if small else 64), pictures, 10, dtype)
    features, heads, layers, length = (16, 2, 1, 4) if small else (768, 12, 8, 512)
    layer = nn.TransformerEncoderLayer(features, heads, 4 * features, 0.0, "gelu", batch_first=True, norm_first=True)
    body = nn.Sequential(nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.Linear(features, 64))
    yield "transformer", training(t, body, t.randn(2 if small else 16, length, features, device="cuda"), 64)


def residual(nn, channels):
    """ResNet-18: convolutions with batch norm, in four stages."""

    class Block(nn.Module):
        def __init__(self, given, made, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(given, made, 3, stride, 1, bias=False), nn.BatchNorm2d(made), nn.ReLU(),
                nn.Conv2d(made, made, 3, 1, 1, bias=False), nn.BatchNorm2d(made),
            )  # fmt: skip
            self.short = nn.Identity() if given == made else nn.Conv2d(given, made, 1, stride, bias=False)

        def forward(self, x):
            return nn.functional.relu(self.body(x) + self.short(x))

    layers, given = [nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels), nn.ReLU()], channels
    layers.append(nn.MaxPool2d(3, 2, 1))
    for stage in range(4):
        made = channels << stage
        layers += [Block(given, made, 1 if given == made else 2), Block(made, made, 1)]
        given = made
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(given, 10))


def training(t, model, inputs, classes, dtype=None):
    """A step of *model* on *inputs*, as a call; computed in *dtype* where it is bfloat16, as autocast chooses."""
    model = model.to("cuda")
    optimizer = t.optim.AdamW(model.parameters(), 1e-4)
    labels = None

    def step():
        nonlocal labels
        optimizer.zero_grad()
        with t.autocast("cuda", t.bfloat16, enabled=dtype is t.bfloat16):
            scores = model(inputs).reshape(-1, classes)
        if labels is None:
            labels = t.zeros(scores.shape[0], dtype=t.int64, device="cuda")
        t.nn.functional.cross_entropy(scores.float(), labels).backward()
        optimizer.step()

    return step


def on_the_host(t, count=200):
    """Microseconds that the host needs for a small op whose result it does not read."""
    x = t.ones(16, device="cuda")
    for _ in range(10):
        x + x
    t.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        x + x
    taken = time.perf_counter() - begin
    t.cuda.synchronize()
    return taken / count * 1e6


def micros(t, call) -> float:
    """What one call takes on the device."""
    start, end = (t.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000


def medians(libraries, calls, repeat):
    """Of each library's call, which take turns."""
    times: list[list[float]] = [[] for _ in libraries]
    for turn in range(repeat + 3):
        for found, library, call in zip(times, libraries, calls):
            taken = micros(library, call)
            if turn >= 3:
                found.append(taken)
    return [statistics.median(found) for found in times]


def line(name, times, rate=""):
    """Print a line of the table."""
    own, *other = times
    shown = f"{other[0]:>12.1f}{other[0] / own:>8.2f}" if other else f"{'':>20}"
    print(f"{name:<44}{own:>12.1f}{shown}{rate:>9}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    libraries = [polyad] if torch is None else [polyad, torch]
    print(f"{'op':<44}{'polyad us':>12}{'torch us':>12}{'ratio':>8}{'of copy':>9}")
    copied = 0.0
    for several in zip(*[cases(library, given.small) for library in libraries]):
        name, moved, _ = several[0]
        times = medians(libraries, [call for _, _, call in several], given.repeat)
        rate = moved / times[0]
        copied = copied or rate
        line(name, times, f"{rate / copied:.2f}" if moved else "")
    print("captured graphs")
    try:
        for several in zip(*[captured(library, given.small) for library in libraries]):
            line(several[0][0], medians(libraries, [step for _, step in several], given.repeat))
    except RuntimeError as error:  # without cuBLASLt products cannot be captured
        print(f"    not captured: {error}")
    for precision in ("highest", "high"):
        for library in libraries:
            library.set_float32_matmul_precision(precision)
        print(f"training steps, float32 products {precision}")
        for several in zip(*[steps(library, given.small) for library in libraries]):
            line(several[0][0], medians(libraries, [step for _, step in several], given.repeat // 2))
    print("the host's time for a small op")
    line("add", [min(on_the_host(library) for _ in range(3)) for library in libraries])
    device = polyad.device("cuda", 0)
    print(f"what was proved: {registry.get('cuda').describe_device(device)}")


if __name__ == "__main__":
    main()
