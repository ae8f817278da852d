"""The network of the demo."""

from __future__ import annotations

from polyad import Tensor, nn

__all__ = ["DigitClassifier"]


class DigitClassifier(nn.Module):
    """Two convolutions and a linear layer that tell ten classes of small grey pictures apart.

    Takes images (batch, 1, size, size), float32; returns one score a class, (batch, 10). The class with the highest
    score is the prediction.

    >>> import polyad
    >>> DigitClassifier(size=8)(polyad.zeros(5, 1, 8, 8)).shape
    polyad.Size([5, 10])
    """

    def __init__(self, size: int = 8) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            # Larger pictures are halved twice; of 8 x 8 pixels each counts.
            *([nn.MaxPool2d(2)] if size > 8 else []),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        side = size // 4 if size > 8 else size // 2
        self.classifier = nn.Linear(32 * side * side, 10)

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.classifier(self.features(images))
        return scores
