"""How a network learns: this is all of it.

A *loader* hands out batches of images with the labels they should get. For each batch the network is asked, its
answers are compared with the labels, and every parameter is moved a little in the direction that would have made the
answers better. One pass over all the images is an *epoch*. After a few epochs the network also reads digits that it
has never seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polyad
from polyad import Tensor, nn
from polyad.errors import NonFiniteError
from polyad.optim import Optimizer

__all__ = ["Tally", "accuracy", "predict", "train_one_epoch"]


@dataclass(slots=True)
class Tally:
    """What an epoch has come to so far: the sum of losses, the images that were right, the images that were seen."""

    loss: float = 0.0
    right: int = 0
    seen: int = 0


def train_one_epoch(
    model: nn.Module,
    loader: Iterable[tuple[Tensor, Tensor]],
    optimizer: Optimizer,
    device: polyad.device,
    after_batch: Callable[[], None] = lambda: None,
    tally: Tally | None = None,
) -> tuple[float, float]:
    """Show the model every image once; return the mean loss and the share of images it got right on the way.

    *tally* counts along; that of an epoch that was stopped in its middle lets it be resumed there.

    Raises NonFiniteError when the loss is no longer a finite number: from then on nothing is learned.
    """
    loss_function = nn.CrossEntropyLoss()
    tally = tally or Tally()

    model.train()
    for number, (images, labels) in enumerate(loader, 1):
        images, labels = images.to(device), labels.to(device)

        optimizer.zero_grad()  #                    1. forget the gradients of the last batch
        scores = model(images)  #                   2. let the model judge the images
        loss = loss_function(scores, labels)  #     3. measure how wrong it is
        loss.backward()  #                          4. find out which way each parameter should go
        optimizer.step()  #                         5. go a small step that way

        value = loss.item()
        if not math.isfinite(value):
            raise NonFiniteError(f"training: the loss of batch {number} is {value}", fix="train with a smaller step")
        tally.loss += value * len(labels)
        tally.right += int((scores.argmax(1) == labels).sum().item())
        tally.seen += len(labels)
        after_batch()

    return tally.loss / tally.seen, tally.right / tally.seen


@polyad.no_grad()
def predict(model: nn.Module, images: Tensor, device: polyad.device, batch_size: int = 500) -> Tensor:
    """The class that the model gives each image, int64 (n,) on the CPU. Nothing is learned here.

    Raises NonFiniteError if a score is NaN or infinite: the largest of such scores means nothing.
    """
    model.eval()
    batches = [images[start : start + batch_size] for start in range(0, len(images), batch_size)]
    scores = polyad.cat([model(batch.to(device)).cpu() for batch in batches])
    if not scores.isfinite().all():
        raise NonFiniteError(
            "predicting: scores of the model are NaN or infinite", fix="train again with a smaller step"
        )
    return scores.argmax(1)


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """The share of predictions that are right."""
    return float((predictions == labels).sum().item()) / len(labels)
