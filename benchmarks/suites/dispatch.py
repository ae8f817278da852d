"""What Python costs an op: tiny tensors, where arithmetic is nothing."""

from __future__ import annotations

import numpy

import polyad as torch

from .backends import PerBackend


class SmallOps(PerBackend):
    """One op on four elements."""

    def setup(self, device: str) -> None:
        self.a = torch.tensor([1.0, 2.0, 3.0, 4.0], device=device)
        self.b = torch.tensor([4.0, 3.0, 2.0, 1.0], device=device)
        self.leaf = torch.tensor([1.0, 2.0, 3.0, 4.0], device=device, requires_grad=True)
        self.matrix = torch.zeros(8, 16, device=device)

    def time_add(self, device: str) -> None:
        self.a + self.b

    def time_add_scalar(self, device: str) -> None:
        self.a + 2.0

    def time_add_recording(self, device: str) -> None:
        self.leaf + self.b

    def time_add_in_place(self, device: str) -> None:
        self.a.add_(self.b)

    def time_transpose(self, device: str) -> None:
        self.matrix.transpose(0, 1)

    def time_index_row(self, device: str) -> None:
        self.matrix[3]


class BareNumPy:
    """The floor under `SmallOps` on the cpu."""

    def setup(self) -> None:
        self.a = numpy.ones(4, dtype=numpy.float32)

    def time_add(self) -> None:
        self.a + self.a


class Chain(PerBackend):
    """Ten times (8x16 @ 16x16, relu), sum, backward."""

    def setup(self, device: str) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(8, 16, device=device)
        self.weights = [torch.randn(16, 16, device=device, requires_grad=True) for _ in range(10)]

    def time_forward(self, device: str) -> None:
        hidden = self.x
        for weight in self.weights:
            hidden = (hidden @ weight).relu()
        self.wait(device)

    def time_forward_backward(self, device: str) -> None:
        hidden = self.x
        for weight in self.weights:
            hidden = (hidden @ weight).relu()
        hidden.sum().backward()
        for weight in self.weights:
            weight.grad = None
        self.wait(device)
