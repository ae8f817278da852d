"""All parameters as a single vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...arguments import explain
from ...errors import ArgumentTypeError, DeviceError, ShapeError
from ...functions import cat
from ...tensor import Tensor
from ...tensor.tensor import check_tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _on_one_device(op: str, parameters: Iterable[Tensor]) -> list[Tensor]:
    if not isinstance(parameters, Iterable):
        raise ArgumentTypeError(
            f"{op}: parameters is {type(parameters).__name__}, not tensors in an order",
            operands={"parameters": parameters},
            fix="pass module.parameters()",
        )
    listed = [check_tensor(one, op, "parameters") for one in parameters]
    for one in listed:
        if one.device != listed[0].device:
            raise DeviceError(
                f"{op}: the parameters are on several devices",
                operands={"first": listed[0], "other": one},
                fix="move them to a single device",
            )
    return listed


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of *parameters*, joined into a vector, with their history.

    Raises RuntimeError for parameters on several devices.

    >>> import polyad
    >>> polyad.nn.utils.parameters_to_vector(polyad.nn.Linear(2, 3).parameters()).shape
    polyad.Size([9])
    """
    return cat([one.reshape(-1) for one in _on_one_device("parameters_to_vector", parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make *parameters* show parts of *vec*, as `parameters_to_vector` joined them.

    Raises TypeError for a *vec* that is no tensor, RuntimeError for one that is too short or parameters on several
    devices; they are then as they were.

    >>> import polyad
    >>> layer = polyad.nn.Linear(2, 1)
    >>> polyad.nn.utils.vector_to_parameters(polyad.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.weight.tolist(), layer.bias.tolist()
    ([[1.0, 2.0]], [3.0])
    """
    if not isinstance(vec, Tensor):
        raise ArgumentTypeError(
            f"vector_to_parameters: vec must be a Tensor, not {type(vec).__name__}",
            operands={"vec": vec},
            fix="pass a tensor",
        )
    listed = _on_one_device("vector_to_parameters", parameters)
    needed = sum(one.numel() for one in listed)
    if vec.numel() < needed:
        raise ShapeError(
            f"vector_to_parameters: the parameters have {needed} elements, vec has {vec.numel()}",
            operands={"vec": vec},
            fix="pass what parameters_to_vector gave for these parameters",
        )
    begin = 0
    for one in listed:
        one.data = vec[begin : begin + one.numel()].view_as(one).data
        begin += one.numel()


explain(globals())
