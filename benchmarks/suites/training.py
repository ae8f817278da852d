"""Whole training steps."""

from __future__ import annotations

import polyad as torch
from polyad import nn

from .backends import PerBackend


class DemoStep(PerBackend):
    """One step of ``polyad demo``: its model and optimizer on a batch of 64 digits."""

    def setup(self, device: str) -> None:
        from polyad.demo.model import DigitClassifier

        torch.manual_seed(0)
        self.model = DigitClassifier(size=8).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.loss = nn.CrossEntropyLoss()
        self.images = torch.randn(64, 1, 8, 8, device=device)
        self.labels = torch.randint(0, 10, (64,), device=device)

    def time_step(self, device: str) -> None:
        self.optimizer.zero_grad()
        self.loss(self.model(self.images), self.labels).backward()
        self.optimizer.step()
        self.wait(device)


class PerceptronStep(PerBackend):
    """A 784-256-256-10 perceptron, batch 64, Adam."""

    def setup(self, device: str) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
        ).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.loss = nn.CrossEntropyLoss()
        self.images = torch.randn(64, 784, device=device)
        self.labels = torch.randint(0, 10, (64,), device=device)

    def time_step(self, device: str) -> None:
        self.optimizer.zero_grad()
        self.loss(self.model(self.images), self.labels).backward()
        self.optimizer.step()
        self.wait(device)
