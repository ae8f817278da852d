"""Gradients made shorter before a step: `clip_grad_norm_`, `clip_grad_value_` and what they are made of.

Invariant: with ``error_if_nonfinite``, gradients that are not finite are as they were after the error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import linalg
from ...arguments import explain
from ...base.state import warn_user
from ...errors import ArgumentTypeError, NonFiniteError
from ...functions import stack, tensor
from ...history.grad_mode import no_grad
from ...tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def _listed(op: str, tensors: Any, name: str = "parameters") -> list[Tensor]:
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors) if isinstance(tensors, Iterable) else None
    if given is None or not all(isinstance(one, Tensor) for one in given):
        raise ArgumentTypeError(
            f"{op}: {name} must be a tensor or tensors", operands={name: tensors}, fix="pass model.parameters()"
        )
    return given


def _with_gradients(op: str, parameters: Any) -> list[Tensor]:
    if not isinstance(parameters, Tensor):
        parameters = list(parameters) if isinstance(parameters, Iterable) else parameters
        if parameters == []:
            warn_user(f"{op}: there are no parameters, so that nothing is clipped", UserWarning)
    return [one for one in _listed(op, parameters) if one.grad is not None]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of *tensors*, as if they were joined into a single vector: 0-d, on the device of the first.

    Args:
        tensors: a tensor or several.
        norm_type: the norm's exponent; infinity for the largest magnitude.
        error_if_nonfinite: raise RuntimeError for a norm that is NaN or infinite.
        foreach: PyTorch's choice of an implementation; changes nothing.

    >>> import polyad
    >>> polyad.nn.utils.get_total_norm([polyad.tensor([3.0]), polyad.tensor([4.0])]).item()
    5.0
    """
    given = _listed("get_total_norm", tensors, "tensors")
    norm_type = float(norm_type)  # "inf" is an exponent, too
    if not given:
        return tensor(0.0)
    norms = [linalg.vector_norm(one, norm_type).to(given[0].device) for one in given]
    total: Tensor = norms[0] if len(norms) == 1 else linalg.vector_norm(stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite().item():
        raise NonFiniteError(
            f"get_total_norm: the norm of order {norm_type} of the gradients is {total.item()}, and "
            "error_if_nonfinite=True",
            fix="look for the operation by polyad.autograd.detect_anomaly(), or pass error_if_nonfinite=False",
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients of *parameters*, in place, by ``max_norm / (total_norm + 1e-6)`` if that is less than 1.

    >>> import polyad
    >>> w = polyad.nn.Parameter(polyad.zeros(2))
    >>> w.grad = polyad.tensor([3.0, 4.0])
    >>> polyad.nn.utils.clip_grads_with_norm_(w, 1.0, polyad.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    with no_grad():
        # Also where it is 1: not to wait for the device.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for parameter in _listed("clip_grads_with_norm_", parameters):
            if parameter.grad is not None:
                parameter.grad.mul_(factor.to(parameter.grad.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Shorten the gradients of *parameters*, in place, such that their common norm is *max_norm* at most.

    Args:
        parameters: a tensor or several; those without a gradient are left out.
        max_norm: the greatest norm.
        norm_type: the norm's exponent; infinity for the largest magnitude.
        error_if_nonfinite: raise RuntimeError if the norm is NaN or infinite, before anything is changed. Otherwise NaN
            gradients make all gradients NaN.
        foreach: PyTorch's choice of an implementation; changes nothing.

    Returns:
        The norm before clipping.

    >>> import polyad
    >>> w = polyad.nn.Parameter(polyad.zeros(2))
    >>> w.grad = polyad.tensor([3.0, 4.0])
    >>> polyad.nn.utils.clip_grad_norm_([w], max_norm=1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    with_gradients = _with_gradients("clip_grad_norm_", parameters)
    with no_grad():
        gradients = [one.grad for one in with_gradients if one.grad is not None]
        total = get_total_norm(gradients, norm_type, error_if_nonfinite)
        clip_grads_with_norm_(with_gradients, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated: use `clip_grad_norm_`."""
    warn_user("clip_grad_norm: deprecated; use clip_grad_norm_", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the gradients of *parameters*, in place, to [-clip_value, clip_value].

    >>> import polyad
    >>> w = polyad.nn.Parameter(polyad.zeros(2))
    >>> w.grad = polyad.tensor([3.0, -0.5])
    >>> polyad.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    limit = float(clip_value)
    with no_grad():
        for parameter in _listed("clip_grad_value_", parameters):
            if parameter.grad is not None:
                parameter.grad.clamp_(-limit, limit)


explain(globals())
