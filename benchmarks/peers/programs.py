"""Small programs as users write them, against PyTorch's API: what a first run has to compile is measured on them.

Each trains for two steps. ``python programs.py NAME`` (or ``NAME torch``, or ``NAME polyad DEVICE``) runs one.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

STEPS = 2


def unet(torch: Any, device: str = "cpu") -> None:
    """A UNet with group norm and transposed convolutions for masks of 64x64 images: BCE and Dice loss, AdamW."""
    nn, functional = torch.nn, torch.nn.functional

    def double(inputs: int, outputs: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(),
        )  # fmt: skip

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.bottom = double(3, 16), double(16, 32), double(32, 64)
            self.up_second, self.up_first = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
            self.after_second, self.after_first = double(64, 32), double(32, 16)
            self.head = nn.Conv2d(16, 1, 1)

        def forward(self, x: Any) -> Any:
            first = self.first(x)
            second = self.second(functional.max_pool2d(first, 2))
            bottom = self.bottom(functional.max_pool2d(second, 2))
            up = self.after_second(torch.cat([self.up_second(bottom), second], 1))
            return self.head(self.after_first(torch.cat([self.up_first(up), first], 1)))

    model = UNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    x = torch.rand(2, 3, 64, 64, device=device)
    masks = (torch.rand(2, 1, 64, 64, device=device) > 0.5).float()
    for _ in range(STEPS):
        logits = model(x)
        shares = torch.sigmoid(logits)
        dice = 1 - (2 * (shares * masks).sum() + 1) / (shares.sum() + masks.sum() + 1)
        loss = functional.binary_cross_entropy_with_logits(logits, masks) + dice
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        loss.item()
    model.eval()
    with torch.no_grad():
        found = torch.sigmoid(model(x)) > 0.5
        ((found == (masks > 0.5)).float().mean()).item()


def amp(torch: Any, device: str = "cpu") -> None:
    """A classifier of 32x32 images in bfloat16 by autocast, with a scaler, batch norm, dropout and SGD."""
    nn, functional = torch.nn, torch.nn.functional
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.GELU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Linear(1024, 128), nn.LayerNorm(128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler(device)
    x, labels = torch.randn(32, 3, 32, 32, device=device), torch.randint(0, 10, (32,), device=device)
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = model(x)
            loss = functional.cross_entropy(logits, labels, label_smoothing=0.1)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        (logits.float().argmax(1) == labels).float().mean().item()


def gpt(torch: Any, device: str = "cpu") -> None:
    """A small GPT with causal attention, AdamW, warm-up and clipping, which then writes ten tokens."""
    nn, functional = torch.nn, torch.nn.functional
    width, heads, length, tokens = 64, 4, 32, 65

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            self.drop = nn.Dropout(0.1)

        def forward(self, x: Any) -> Any:
            batch, time, _ = x.shape
            q, k, v = self.project(self.before(x)).split(width, dim=2)
            q, k, v = (part.view(batch, time, heads, width // heads).transpose(1, 2) for part in (q, k, v))
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // heads)
            mask = torch.tril(torch.ones(time, time, device=x.device))
            shares = self.drop(functional.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1))
            x = x + self.out((shares @ v).transpose(1, 2).contiguous().view(batch, time, width))
            return x + self.drop(self.mlp(self.after(x)))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(tokens, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(Block(), Block())
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

        def forward(self, x: Any) -> Any:
            hidden = self.token(x) + self.place(torch.arange(x.shape[1], device=x.device))
            return self.head(self.norm(self.blocks(hidden)))

    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    text = torch.randint(0, tokens, (16, length + 1), device=device)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 3e-4 * (step + 1) / STEPS
        logits = model(text[:, :-1])
        loss = functional.cross_entropy(logits.reshape(-1, tokens), text[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
    model.eval()
    written = text[:1, :4]
    with torch.no_grad():
        for _ in range(10):
            logits = model(written)[:, -1] / 0.8
            best, _ = torch.topk(logits, 10)
            logits[logits < best[:, -1:]] = -float("inf")
            written = torch.cat([written, torch.multinomial(functional.softmax(logits, -1), 1)], 1)


def resnet(torch: Any, device: str = "cpu") -> None:
    """A residual network on 32x32 images, SGD with momentum and a schedule, then its accuracy."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.shortcut = nn.Sequential()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            out = functional.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return functional.relu(out)

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), Block(16, 16, 1),
        Block(16, 32, 2), Block(32, 64, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(64, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    x, labels = torch.rand(16, 3, 32, 32, device=device), torch.randint(0, 10, (16,), device=device)
    x = (x - torch.tensor([0.49, 0.48, 0.45], device=device).view(1, 3, 1, 1)) / 0.25
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x), labels)
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        _, found = model(x).max(1)
        found.eq(labels).sum().item()


def lstm(torch: Any, device: str = "cpu") -> None:
    """An LSTM of two layers that classifies sequences of tokens of several lengths, Adam, clipping."""
    nn, functional = torch.nn, torch.nn.functional

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(1000, 32, padding_idx=0)
            self.lstm = nn.LSTM(32, 64, 2, batch_first=True, dropout=0.2, bidirectional=True)
            self.head = nn.Linear(128, 5)

        def forward(self, tokens: Any, lengths: Any) -> Any:
            packed = nn.utils.rnn.pack_padded_sequence(
                self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False
            )
            hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            return self.head(hidden.mean(1))

    model = Tagger().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tokens, lengths = torch.randint(1, 1000, (16, 20), device=device), torch.randint(5, 21, (16,))
    labels = torch.randint(0, 5, (16,), device=device)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(tokens, lengths), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        loss.item()


def vae(torch: Any, device: str = "cpu") -> None:
    """A variational autoencoder of 28x28 images, Adam, which then draws some."""
    nn, functional = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(784, 128), nn.Linear(128, 16), nn.Linear(128, 16)
            self.fc3, self.fc4 = nn.Linear(16, 128), nn.Linear(128, 784)

        def decode(self, z: Any) -> Any:
            return torch.sigmoid(self.fc4(functional.relu(self.fc3(z))))

        def forward(self, x: Any) -> Any:
            hidden = functional.relu(self.fc1(x))
            mean, logvar = self.fc21(hidden), self.fc22(hidden)
            std = torch.exp(0.5 * logvar)
            return self.decode(mean + torch.randn_like(std) * std), mean, logvar

    model = VAE().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.rand(64, 784, device=device)
    for _ in range(STEPS):
        found, mean, logvar = model(x)
        loss = functional.binary_cross_entropy(found, x, reduction="sum")
        loss = loss - 0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    with torch.no_grad():
        model.decode(torch.randn(8, 16, device=device))


def diffusion(torch: Any, device: str = "cpu") -> None:
    """A denoiser of 16x16 images with an embedding of time, an average of its weights, and ten steps back."""
    nn, functional = torch.nn, torch.nn.functional
    steps = 100
    betas = torch.linspace(1e-4, 0.02, steps, device=device)
    alphas = 1.0 - betas
    kept = torch.cumprod(alphas, 0)

    def embedding(t: Any, width: int = 32) -> Any:
        rates = torch.exp(-math.log(10_000) * torch.arange(width // 2, device=device) / (width // 2))
        angles = t[:, None].float() * rates[None]
        return torch.cat([angles.sin(), angles.cos()], dim=-1)

    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 32))
            self.inside, self.down = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 32, 3, 2, 1)
            self.norm, self.middle = nn.GroupNorm(8, 32), nn.Conv2d(32, 32, 3, padding=1)
            self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
            self.outside = nn.Conv2d(64, 1, 3, padding=1)

        def forward(self, x: Any, t: Any) -> Any:
            first = self.inside(x) + self.time(embedding(t))[:, :, None, None]
            hidden = functional.silu(self.norm(self.down(functional.silu(first))))
            rows = hidden.flatten(2).transpose(1, 2)
            rows = rows + self.attention(rows, rows, rows, need_weights=False)[0]
            hidden = self.middle(rows.transpose(1, 2).reshape(hidden.shape))
            return self.outside(torch.cat([functional.interpolate(hidden, scale_factor=2, mode="nearest"), first], 1))

    model, average = Denoiser().to(device), Denoiser().to(device)
    average.load_state_dict(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    x = torch.rand(8, 1, 16, 16, device=device) * 2 - 1
    for _ in range(STEPS):
        t = torch.randint(0, steps, (8,), device=device)
        noise = torch.randn_like(x)
        share = kept[t].view(-1, 1, 1, 1)
        loss = functional.mse_loss(model(share.sqrt() * x + (1 - share).sqrt() * noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, new in zip(average.parameters(), model.parameters()):
                slow.mul_(0.99).add_(new, alpha=0.01)
    with torch.no_grad():
        drawn = torch.randn(2, 1, 16, 16, device=device)
        for step in reversed(range(10)):
            noise = average(drawn, torch.full((2,), step, device=device))
            drawn = (drawn - betas[step] / (1 - kept[step]).sqrt() * noise) / alphas[step].sqrt()
            if step:
                drawn = drawn + betas[step].sqrt() * torch.randn_like(drawn)
        drawn.clamp(-1, 1)


def cnn(torch: Any, device: str = "cpu") -> None:
    """A small classifier of 28x28 digits, Adam: a tutorial's."""
    nn, functional = torch.nn, torch.nn.functional
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(784, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, labels = torch.rand(32, 1, 28, 28, device=device), torch.randint(0, 10, (32,), device=device)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        loss.item()


PROGRAMS: dict[str, Callable[..., None]] = {f.__name__: f for f in (unet, amp, gpt, resnet, lstm, vae, diffusion, cnn)}
"""By name."""


if __name__ == "__main__":
    name, library, *where = *sys.argv[1:], *["polyad"][len(sys.argv) - 2 :]
    torch = importlib.import_module(library)
    torch.manual_seed(0)
    PROGRAMS[name](torch, *where)
