"""Models whose TorchScript archives are compared: what PyTorch wrote of them is in ``tests/files/torchscript``.

    python tests/oracle/torchscript_models.py tests/files/torchscript

writes these files again, with PyTorch. Each has examples of inputs and results beside it, as an ``.npz``.
"""

import enum
import io
import sys
import zipfile
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2, bias=False))

    def forward(self, x):
        return self.layers(x.view(x.shape[0], -1)).softmax(-1)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.pool(F.gelu(self.norm(self.conv(x))))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Block(nn.Module):
    def __init__(self, channels: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, groups=2)
        self.down = nn.Conv2d(channels, channels, 1, stride) if stride > 1 else None

    def forward(self, x):
        y = self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True))
        if self.down is not None:
            x = self.down(x)
        return F.relu(x + y)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4, 1), Block(4, 2)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.mean((2, 3))


class Recurrent(nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        self.embed = nn.Embedding(7, 3, padding_idx=0)
        self.rnn = getattr(nn, kind)(3, 4, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(8, 2)

    def forward(self, tokens):
        out, _ = self.rnn(self.embed(tokens))
        return self.head(out[:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.register_buffer("positions", torch.linspace(0, 1, 5)[:, None])

    def forward(self, x):
        return self.layer(x + self.positions[: x.shape[1]])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)
        self.scale = 0.5

    def forward(self, x, mask):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = (q @ k.transpose(-2, -1)) * self.scale
        return scores.masked_fill(mask == 0, float("-inf")).softmax(-1) @ v


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(6, 3, mode="sum")

    def forward(self, tokens, offsets):
        return self.bag(tokens, offsets)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(2, 2, 3, stride=2, padding=1, output_padding=1)
        self.norm = nn.GroupNorm(1, 2)

    def forward(self, x):
        x = F.interpolate(self.norm(self.up(x)), scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.sigmoid(F.pad(x, [1, 0, 0, 1], value=0.5))


class Control(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.5, 2.0]))
        self.limit = 3

    def forward(self, x: Tensor, times: int) -> Tensor:
        total = torch.zeros_like(x)
        for i in range(times):
            if i % 2 == 0:
                total = total + x * self.weight
            elif bool(x.sum() > 0):
                continue
            else:
                total -= 1
            if i > self.limit:
                break
        while float(total.abs().max()) > 10.0:
            total = total / 2
        assert total.dim() == x.dim(), "rank"
        return total


class Boxes(NamedTuple):
    scores: Tensor
    labels: Tensor


class Structured(nn.Module):
    names: list[str]

    def __init__(self):
        super().__init__()
        self.names = ["a", "b"]
        self.scales = {"a": 1.5, "b": -1.0}
        self.shape = (2, 3)

    def forward(self, x: Tensor, extra: dict[str, Tensor] | None = None) -> tuple[Boxes, dict[str, Tensor], list[int]]:
        found: dict[str, Tensor] = {}
        for name in self.names:
            found[name] = x * self.scales[name]
        if extra is not None:
            for key, value in extra.items():
                found[key] = value + 1
        best = Boxes(x.max(1)[0], x.argmax(1))
        return best, found, [len(found), self.shape[1], x.size(0)]


class Mode(enum.Enum):
    ADD = "add"
    MUL = "mul"


class Attributes(nn.Module):
    sizes: list[int]
    note: str | None
    tensors: list[Tensor]

    def __init__(self):
        super().__init__()
        self.sizes = [2, 3]
        self.note = None
        self.tensors = [torch.ones(2), torch.full((2,), 3.0)]
        self.mode = Mode.MUL
        self.where = torch.device("cpu")
        self.kind = torch.float64
        self.register_buffer("counter", torch.tensor(0), persistent=False)

    def forward(self, x):
        note = self.note
        if note is not None:
            x = x + len(note)
        self.counter += 1
        for one in self.tensors:
            x = x * one if self.mode == Mode.MUL else x + one
        y = torch.zeros(self.sizes, dtype=self.kind, device=self.where)
        return x.to(self.kind).sum() + y, self.counter.clone()

    @torch.jit.export
    def scaled(self, x: Tensor, by: float = 2.0) -> Tensor:
        return x * by


@torch.jit.script
class Pair:
    def __init__(self, first: Tensor, second: int):
        self.first = first
        self.second = second

    def total(self) -> Tensor:
        return self.first + self.second


class Classes(nn.Module):
    def forward(self, x: Tensor, items: list[Tensor]) -> Tensor:
        pair = Pair(x, 2)
        pair.second += len(items)
        return pair.total() + torch.cat([item * i for i, item in enumerate(items)]).sum()


class Sorting(nn.Module):
    def forward(self, x):
        values, places = x.topk(2, dim=1)
        order = x.argsort(dim=1, descending=True)
        return values, places, x.gather(1, order), x[x > 0].sum(), x[:, [0, -1]], x.cumsum(0), torch.unique(x)


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1 + 2j, 3 - 1j]))

    def forward(self, x):
        y = torch.fft.fft(torch.view_as_complex(x) * self.weight)
        return y.abs(), torch.view_as_real(y * 2j)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(3, 3, bias=False)
        self.decode = nn.Linear(3, 3, bias=False)
        self.decode.weight = self.encode.weight
        self.register_buffer("table", torch.arange(12.0).reshape(3, 4)[:, 1:3])
        self.register_buffer("row", self.table[1])

    def forward(self, x):
        return self.decode(self.encode(x)) @ self.table + self.row


class Losses(nn.Module):
    def forward(self, x, target):
        return (
            F.cross_entropy(x, target, label_smoothing=0.1),
            F.nll_loss(x.log_softmax(1), target),
            F.mse_loss(x, x * 2),
            F.smooth_l1_loss(x, x + 2),
            F.binary_cross_entropy_with_logits(x, x.sigmoid()),
            F.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean"),
        )


class Einsum(nn.Module):
    def forward(self, x, y):
        return torch.einsum("bij,bjk->bik", x, y), torch.stack([x, x]).sum(0), F.layer_norm(x, [x.size(-1)])


class Integers(nn.Module):
    def forward(self, x):
        return x // 2, x % 3, x << 1, (x > 2) & (x < 5), x.float() / 2, torch.div(x, 2, rounding_mode="trunc")


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2).half()
        self.register_buffer("small", torch.tensor([1, -2], dtype=torch.int8))
        self.register_buffer("brain", torch.tensor([1.5, 2.0], dtype=torch.bfloat16))

    def forward(self, x):
        return self.linear(x.half()).float() * self.small + self.brain.float()


def control_flow(x: Tensor, scale: float, times: int) -> Tensor:
    if x.dim() > 1 and times > 1:
        return x * scale
    return x + scale


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape)


def _tokens(*shape: int) -> Tensor:
    return torch.randint(1, 6, shape)


MODELS: dict[str, tuple[str, Callable, Callable]] = {
    "mlp_traced": ("trace", MLP, lambda: (_random(2, 3),)),
    "mlp_scripted": ("script", MLP, lambda: (_random(2, 3),)),
    "cnn_traced": ("trace", CNN, lambda: (_random(1, 2, 6, 6),)),
    "cnn_scripted": ("script", CNN, lambda: (_random(1, 2, 6, 6),)),
    "resnet_traced": ("trace", ResNet, lambda: (_random(1, 4, 6, 6),)),
    "resnet_scripted": ("script", ResNet, lambda: (_random(1, 4, 6, 6),)),
    "lstm_traced": ("trace", lambda: Recurrent("LSTM"), lambda: (_tokens(2, 4),)),
    "gru_traced": ("trace", lambda: Recurrent("GRU"), lambda: (_tokens(2, 4),)),
    "lstm_scripted": ("script", lambda: Recurrent("LSTM"), lambda: (_tokens(2, 4),)),
    "gru_scripted": ("script", lambda: Recurrent("GRU"), lambda: (_tokens(2, 4),)),
    "encoder_traced": ("trace", Encoder, lambda: (_random(2, 5, 4),)),
    "encoder_scripted": ("script", Encoder, lambda: (_random(2, 5, 4),)),
    "attention_traced": ("trace", Attention, lambda: (_random(2, 3, 4), torch.eye(3) + torch.ones(3, 3).tril())),
    "attention_scripted": ("script", Attention, lambda: (_random(2, 3, 4), torch.eye(3) + torch.ones(3, 3).tril())),
    "bag_traced": ("trace", Bag, lambda: (_tokens(6), torch.tensor([0, 2]))),
    "bag_scripted": ("script", Bag, lambda: (_tokens(6), torch.tensor([0, 2]))),
    "decoder_traced": ("trace", Decoder, lambda: (_random(1, 2, 4, 4),)),
    "decoder_scripted": ("script", Decoder, lambda: (_random(1, 2, 4, 4),)),
    "control_scripted": ("script", Control, lambda: (_random(3, 2), 6)),
    "structured_scripted": ("script", Structured, lambda: (_random(2, 3),)),
    "attributes_scripted": ("script", Attributes, lambda: (_random(2),)),
    "classes_scripted": ("script", Classes, lambda: (_random(2), [_random(2), _random(3)])),
    "sorting_traced": ("trace", Sorting, lambda: (_random(3, 4),)),
    "sorting_scripted": ("script", Sorting, lambda: (_random(3, 4),)),
    "complex_scripted": ("script", Complex, lambda: (_random(3, 2, 2),)),
    "shared_traced": ("trace", Shared, lambda: (_random(2, 3),)),
    "losses_scripted": ("script", Losses, lambda: (_random(3, 4), torch.tensor([0, 2, 1]))),
    "einsum_traced": ("trace", Einsum, lambda: (_random(2, 3, 3), _random(2, 3, 3))),
    "integers_scripted": ("script", Integers, lambda: (torch.arange(8),)),
    "half_traced": ("trace", Half, lambda: (_random(2, 3),)),
    "function_scripted": ("script", lambda: control_flow, lambda: (_random(2, 3), 1.5, 2)),
    "mlp_frozen": ("freeze", MLP, lambda: (_random(2, 3),)),
}
"""By name: how the archive is made, the model, and examples of its inputs."""


def flat(result: object) -> list[np.ndarray]:
    """The tensors and numbers of a result, in order."""
    if hasattr(result, "detach"):
        return [result.detach().numpy()]
    if isinstance(result, dict):
        return [array for key in sorted(result) for array in flat(result[key])]
    if isinstance(result, (list, tuple)):
        return [array for item in result for array in flat(item)]
    return [np.asarray(result)]


def example(inputs: tuple, result: object) -> bytes:
    """Inputs and results as an .npz; lists of inputs are named ``input_1_0``, ``input_1_1``."""
    arrays = {}
    for place, value in enumerate(inputs):
        for inner, one in enumerate(value if isinstance(value, list) else [value]):
            arrays[f"input_{place}_{inner}" if isinstance(value, list) else f"input_{place}"] = np.asarray(one)
    arrays |= {f"result_{place}": array for place, array in enumerate(flat(result))}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def made(name: str) -> tuple[object, tuple]:
    """The program of a model, and inputs."""
    how, model, inputs = MODELS[name]
    torch.manual_seed(0)
    built, given = model(), inputs()
    if isinstance(built, nn.Module):
        built.eval()
    if how == "trace":
        return torch.jit.trace(built, given, check_trace=False), given
    scripted = torch.jit.script(built)
    return torch.jit.freeze(scripted) if how == "freeze" else scripted, given


def write(folder: str) -> None:
    """Write all files."""
    for name in MODELS:
        program, given = made(name)
        beside = {"example.npz": example(given, program(*given))}
        made(name)[0].save(f"{folder}/{name}.pt", _extra_files=beside)  # not run yet
        _without_notes(f"{folder}/{name}.pt")


def _without_notes(path: str) -> None:
    """Take out what is there for debugging alone: lines of sources and traced inputs."""
    with zipfile.ZipFile(path) as archive:
        kept = [(one, archive.read(one)) for one in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for one, data in kept:
            if not one.filename.endswith(".debug_pkl") and "traced_inputs" not in one.filename:
                archive.writestr(one, data, one.compress_type)


if __name__ == "__main__":
    write(sys.argv[1])
