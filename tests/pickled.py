"""What tests send to other processes, which import it by name."""

import os
import time

import polyad
from polyad import nn


class Marked(polyad.Tensor):
    """A subclass with an attribute."""


class Weight(nn.Parameter):
    """A subclass of Parameter."""


class Tied(nn.Module):
    """Two layers with one weight, and a buffer."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.register_buffer("count", polyad.arange(3))

    def forward(self, x):
        return self.second(self.first(x)) + self.count


def described(value):
    """What another process sees of a tensor."""
    return {
        "class": type(value).__name__,
        "dtype": value.dtype,
        "shape": tuple(value.shape),
        "requires_grad": value.requires_grad,
        "is_leaf": value.is_leaf,
        "attributes": dict(vars(value)),
        "elements": value.tolist(),
    }


def echo(connection):
    """Send back what comes, described if it is a tensor, until None comes."""
    while (value := connection.recv()) is not None:
        connection.send((described(value) if isinstance(value, polyad.Tensor) else None, value))


def write_and_report(index, model, results, done):
    """Add to a row of the weight, and say how the model arrived."""
    with polyad.no_grad():
        model.weight[index] += 1 + index
    results.put((index, model.weight.is_shared(), type(model.weight).__name__, model.bias, polyad.ones(2)))
    done.wait(30)


def fail_as_second(index):
    """Raise in process 1; process 0 would sleep."""
    if index == 1:
        raise KeyError("no such key")
    time.sleep(60)


def kill_itself(index):
    """End by a signal."""
    os.kill(os.getpid(), 9)
