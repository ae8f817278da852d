"""Functions of single samples, mapped: what a level costs an op, and what it saves against a loop."""

from __future__ import annotations

import polyad as torch
from polyad import nn
from polyad.func import functional_call, grad, hessian, jacrev, vmap

from .backends import PerBackend


class SmallOps(PerBackend):
    """Four ops on 16 samples of 4 elements: the way of an op through a level."""

    def setup(self, device: str) -> None:
        self.x = torch.ones(16, 4, device=device)
        self.mapped = vmap(lambda x: ((x * 2 + 1).sin() * x).sum())

    def time_mapped(self, device: str) -> None:
        self.mapped(self.x)


class SampleGradients(PerBackend):
    """The gradients of each of 64 samples of a perceptron."""

    def setup(self, device: str) -> None:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)).to(device)
        self.parameters = {name: one.detach() for name, one in net.named_parameters()}
        self.x, self.y = torch.randn(64, 32, device=device), torch.randint(0, 10, (64,), device=device)

        def loss(parameters, x, y):  # type: ignore[no-untyped-def]
            return nn.functional.cross_entropy(functional_call(net, parameters, (x.unsqueeze(0),)), y.unsqueeze(0))

        self.gradient = grad(loss)
        self.mapped = vmap(self.gradient, in_dims=(None, 0, 0))

    def time_mapped(self, device: str) -> None:
        self.mapped(self.parameters, self.x, self.y)
        self.wait(device)

    def time_looped(self, device: str) -> None:
        for x, y in zip(self.x, self.y, strict=True):
            self.gradient(self.parameters, x, y)
        self.wait(device)


class Jacobians(PerBackend):
    """Of tanh(W x) with 64 by 64 weights."""

    def setup(self, device: str) -> None:
        torch.manual_seed(0)
        weight, self.x = torch.randn(64, 64, device=device), torch.randn(64, device=device)
        self.by_rows = jacrev(lambda x: (weight @ x).tanh())
        self.second = hessian(lambda x: (weight @ x).tanh().sum())

    def time_jacrev(self, device: str) -> None:
        self.by_rows(self.x)
        self.wait(device)

    def time_hessian(self, device: str) -> None:
        self.second(self.x)
        self.wait(device)
