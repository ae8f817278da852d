"""What tests send to other processes, which import it by name."""

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
