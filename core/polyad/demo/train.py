"""How a network learns: this is all of it.

A *loader* hands out batches of images with the labels they should get. For each batch the network is asked, its
answers are compared with the labels, and every parameter is moved a little in the direction that would have made the
answers better. One pass over all the images is an *epoch*. After a few epochs the network also reads digits that it
has never seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polyad
from polyad import Tensor, nn
from polyad.optim import Optimizer

__all__ = ["accuracy", "predict", "train_one_epoch"]


def train_one_epoch(
    model: nn.Module,
    loader: Iterable[tuple[Tensor, Tensor]],
    optimizer: Optimizer,
    device: polyad.device,
    after_batch: Callable[[], None] = lambda: None,
) -> tuple[float, float]:
    """Show the model every image once; return the mean loss and the share of images it got right on the way."""
    loss_function = nn.CrossEntropyLoss()
    total_loss, right, seen = 0.0, 0, 0

    model.train()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)

        optimizer.zero_grad()  #                    1. forget the gradients of the last batch
        scores = model(images)  #                   2. let the model judge the images
        loss = loss_function(scores, labels)  #     3. measure how wrong it is
        loss.backward()  #                          4. find out which way each parameter should go
        optimizer.step()  #                         5. go a small step that way

        total_loss += loss.item() * len(labels)
        right += int((scores.argmax(1) == labels).sum().item())
        seen += len(labels)
        after_batch()

    return total_loss / seen, right / seen


@polyad.no_grad()
def predict(model: nn.Module, images: Tensor, device: polyad.device, batch_size: int = 500) -> Tensor:
    """The class that the model gives each image, int64 (n,) on the CPU. Nothing is learned here."""
    model.eval()
    batches = [images[start : start + batch_size] for start in range(0, len(images), batch_size)]
    return polyad.cat([model(batch.to(device)).argmax(1).cpu() for batch in batches])


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """The share of predictions that are right."""
    return float((predictions == labels).sum().item()) / len(labels)
