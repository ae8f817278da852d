"""Large operands, where the kernels and the memory decide."""

from __future__ import annotations

import polyad as torch

from .backends import PerBackend


class Elementwise(PerBackend):
    """2^20 elements."""

    def setup(self, device: str) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(2**20, device=device)
        self.y = torch.randn(2**20, device=device)

    def time_add(self, device: str) -> None:
        self.x + self.y
        self.wait(device)

    def time_exp(self, device: str) -> None:
        self.x.exp()
        self.wait(device)

    def time_sum(self, device: str) -> None:
        self.x.sum()
        self.wait(device)


class Convolution(PerBackend):
    """(64, 32, 28, 28) * (64, 32, 3, 3), padding 1."""

    def setup(self, device: str) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(64, 32, 28, 28, device=device, requires_grad=True)
        self.weight = torch.randn(64, 32, 3, 3, device=device, requires_grad=True)

    def time_forward_backward(self, device: str) -> None:
        torch.nn.functional.conv2d(self.x, self.weight, padding=1).sum().backward()
        self.wait(device)

    def peakmem_forward_backward(self, device: str) -> None:
        torch.nn.functional.conv2d(self.x, self.weight, padding=1).sum().backward()
        self.wait(device)
