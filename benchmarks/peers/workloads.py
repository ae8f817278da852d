"""The workloads that polyad and its peer both run, written once against PyTorch's API.

Run as a worker: ``python workloads.py polyad`` (or ``torch``) reads workload names from standard input and answers each
with the median time of a call in microseconds.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def add(torch: Any) -> Step:
    """Two 4-element tensors, no gradient."""
    a, b = torch.ones(4), torch.ones(4)
    return lambda: a + b


def add_recording(torch: Any) -> Step:
    """Two 4-element tensors, one of which requires a gradient."""
    a, b = torch.ones(4, requires_grad=True), torch.ones(4)
    return lambda: a + b


def chain(torch: Any) -> Step:
    """Ten times (8x16 @ 16x16, relu), sum, backward."""
    x = torch.randn(8, 16)
    weights = [torch.randn(16, 16, requires_grad=True) for _ in range(10)]

    def step() -> None:
        hidden = x
        for weight in weights:
            hidden = (hidden @ weight).relu()
        hidden.sum().backward()
        for weight in weights:
            weight.grad = None

    return step


def perceptron(torch: Any) -> Step:
    """Training step of a 784-256-256-10 perceptron, batch 64, Adam."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    return _training_step(torch, model, torch.randn(64, 784))


def small_convnet(torch: Any) -> Step:
    """Training step of two convolutions with batch norm on 64 images of 8x8, Adam."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    return _training_step(torch, model, torch.randn(64, 1, 8, 8))


def convnet(torch: Any) -> Step:
    """Training step of three convolutions with pooling on 64 images of 3x32x32, SGD with momentum."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return _training_step(torch, model, torch.randn(64, 3, 32, 32), optimizer)


def gpt(torch: Any) -> Step:
    """Training step of a transformer with 4 layers, 128 wide, 4 heads, on 16 sequences of 64 of 65 tokens, AdamW."""
    nn, functional = torch.nn, torch.nn.functional
    width, heads, length, tokens = 128, 4, 64, 65

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            q, k, v = (
                part.reshape(-1, length, heads, width // heads).transpose(1, 2)
                for part in self.project(self.before(x)).chunk(3, -1)
            )
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(-1, length, width))
            return x + self.narrow(functional.gelu(self.widen(self.after(x))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(tokens, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(4)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens)

        def forward(self, x: Any) -> Any:
            hidden = self.token(x) + self.place(torch.arange(length))
            return self.head(self.norm(self.blocks(hidden))).reshape(-1, tokens)

    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, labels = torch.randint(0, tokens, (16, length)), torch.randint(0, tokens, (16 * length,))
    return _training_step(torch, model, inputs, optimizer, labels)


def residual(torch: Any) -> Step:
    """Training step of three residual blocks with batch norm on 32 images of 3x32x32, SGD with momentum."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels: int, out: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
            self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.norm, self.after = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
            self.skip = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x: Any) -> Any:
            hidden = self.norm(self.first(x)).relu()
            return (self.after(self.second(hidden)) + self.skip(x)).relu()

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16, 1), Block(16, 32, 2),
        Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return _training_step(torch, model, torch.randn(32, 3, 32, 32), optimizer, torch.randint(0, 10, (32,)))


def bag(torch: Any) -> Step:
    """Training step of a classifier of bags of embeddings: 64 bags of 32 of 10,000 tokens, 64 wide, SGD."""
    nn = torch.nn
    embedding, head = nn.Embedding(10_000, 64), nn.Linear(64, 4)

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = embedding, head

        def forward(self, x: Any) -> Any:
            return self.head(self.embedding(x).mean(1))

    model = Classifier()
    inputs, labels = torch.randint(0, 10_000, (64, 32)), torch.randint(0, 4, (64,))
    return _training_step(torch, model, inputs, torch.optim.SGD(model.parameters(), lr=0.1), labels)


def convolution(torch: Any) -> Step:
    """(64, 32, 28, 28) * (64, 32, 3, 3), padding 1, sum, backward."""
    x = torch.randn(64, 32, 28, 28, requires_grad=True)
    weight = torch.randn(64, 32, 3, 3, requires_grad=True)

    def step() -> None:
        x.grad = weight.grad = None
        torch.nn.functional.conv2d(x, weight, padding=1).sum().backward()

    return step


def add_large(torch: Any) -> Step:
    """2^20 elements."""
    a, b = torch.randn(2**20), torch.randn(2**20)
    return lambda: a + b


def softmax(torch: Any) -> Step:
    """1024x1024, last dimension."""
    x = torch.randn(1024, 1024)
    return lambda: x.softmax(-1)


def _training_step(torch: Any, model: Any, inputs: Any, optimizer: Any = None, labels: Any = None) -> Step:
    optimizer = optimizer or torch.optim.Adam(model.parameters())
    loss_of = torch.nn.CrossEntropyLoss()
    labels = torch.randint(0, 10, (64,)) if labels is None else labels

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(inputs), labels).backward()
        optimizer.step()

    return step


def lstm(torch: Any) -> Step:
    """Training step of a two-layer LSTM with 128 hidden units on 32 sequences of 64 steps of 32 features, SGD."""
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(32, 128, 2, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return _training_step(torch, model, torch.randn(32, 64, 32), optimizer, torch.randint(0, 10, (32,)))


def encoder(torch: Any) -> Step:
    """Inference of a Transformer encoder layer, 256 wide, 8 heads, on 16 sequences of 128."""
    layer, x = torch.nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True).eval(), torch.randn(16, 128, 256)

    def step() -> None:
        with torch.inference_mode():
            layer(x)

    return step


def encoder_training(torch: Any) -> Step:
    """Forward and backward of a Transformer encoder layer, 256 wide, 8 heads, on 16 sequences of 128."""
    layer, x = torch.nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), torch.randn(16, 128, 256)

    def step() -> None:
        layer.zero_grad()
        layer(x).square().mean().backward()

    return step


def _op(name: str, size: int) -> Callable[[Any], Step]:
    def workload(torch: Any) -> Step:
        functional = torch.nn.functional
        x, y, rows = torch.randn(size), torch.randn(size), torch.randn(max(1, size // 1024), min(size, 1024))
        side = int(size**0.5)
        square = torch.randn(side, side)
        steps: dict[str, Step] = {
            "add": lambda: x + y,
            "exp": lambda: x.exp(),
            "tanh": lambda: x.tanh(),
            "gelu": lambda: functional.gelu(x),
            "softmax": lambda: rows.softmax(-1),
            "layer_norm": lambda: functional.layer_norm(rows, rows.shape[1:]),
            "sum": lambda: x.sum(),
            "product": lambda: square @ square,
            "transpose": lambda: square.t().contiguous(),
            "cast": lambda: x.to(torch.bfloat16),
            "where": lambda: torch.where(x > 0, x, y),
            "cumsum": lambda: x.cumsum(0),
            "sort": lambda: x.sort(),
        }
        return steps[name]

    return workload


def _convolution_of(channels: int, side: int, images: int = 8) -> Callable[[Any], Step]:
    def workload(torch: Any) -> Step:
        x, weight = torch.randn(images, channels, side, side), torch.randn(channels, channels, 3, 3)
        return lambda: torch.nn.functional.conv2d(x, weight, padding=1)

    return workload


def _optimizer(name: str, count: int, size: int) -> Callable[[Any], Step]:
    def workload(torch: Any) -> Step:
        parameters = [torch.nn.Parameter(torch.randn(size)) for _ in range(count)]
        for parameter in parameters:
            parameter.grad = torch.randn(size)
        options = {"momentum": 0.9} if name == "SGD" else {}
        return getattr(torch.optim, name)(parameters, lr=1e-4, **options).step

    return workload


TRAINING = {f.__name__: f for f in (chain, perceptron, small_convnet, convnet, residual, gpt, lstm, bag)}
"""Whole steps, over which the geometric mean is taken."""

OPS = {
    f"{name} 2^{power}": _op(name, 1 << power)
    for name in (
        "add", "exp", "tanh", "gelu", "softmax", "layer_norm", "sum", "product", "transpose", "cast", "where", "cumsum",
        "sort",
    )
    for power in (0, 6, 12, 16, 20, 22)
}  # fmt: skip
OPS |= {f"conv {c}x{side}x{side}": _convolution_of(c, side) for c, side in ((64, 56), (128, 28), (256, 14), (512, 7))}

OPTIMIZERS = {
    f"{name} {count}x{size}": _optimizer(name, count, size)
    for name in ("SGD", "Adam", "AdamW")
    for count, size in ((200, 1_000), (10, 1_000_000))
}

WORKLOADS = (
    TRAINING
    | {f.__name__: f for f in (add, add_recording, convolution, add_large, softmax, encoder, encoder_training)}
    | OPS
    | OPTIMIZERS
)
GROUPS = {"training": TRAINING, "ops": OPS, "optimizers": OPTIMIZERS}


def median_time(step: Step, seconds: float) -> float:
    """The median time of a call in microseconds over about *seconds*, in batches long enough for the clock."""
    step()
    start = time.perf_counter()
    step()
    once = max(time.perf_counter() - start, 1e-7)
    batch = max(1, int(0.002 / once))
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        for _ in range(batch):
            step()
        times.append((time.perf_counter() - start) / batch)
    return sorted(times)[len(times) // 2] * 1e6


def peak_memory() -> float:
    """The most megabytes that this process has had in memory."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def serve(library: str) -> None:
    """Answer workload names on standard input with times."""
    torch = importlib.import_module(library)
    torch.manual_seed(0)
    steps: dict[str, Step] = {}
    print(torch.__version__, flush=True)
    for line in sys.stdin:
        name, seconds = line.rsplit(maxsplit=1)
        if name not in steps:
            steps[name] = WORKLOADS[name](torch)
            median_time(steps[name], 0.2)
        print(median_time(steps[name], float(seconds)), peak_memory(), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
