"""Modules in transforms: their parameters as arguments, and those of several models as one set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dispatch.arguments import explaining
from ..errors import ArgumentError, AutogradError, wrong_type
from ..nn.modules.module import Module
from ..nn.utils import stateless
from ..ops.shaping.joining import stack
from ..tensor import Tensor

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call *module* with other parameters and buffers, given in one dict or several.

    As `polyad.nn.utils.stateless.functional_call`, which says what the arguments mean. Raises ValueError for what is no
    dict or sequence of dicts, and for a name that several dicts have.

    >>> import polyad
    >>> from polyad import nn
    >>> from polyad.func import functional_call, grad
    >>> layer = nn.Linear(2, 1)
    >>> weights = {"weight": polyad.ones(1, 2), "bias": polyad.zeros(1)}
    >>> x = polyad.tensor([[1.0, 2.0]])
    >>> grad(lambda weights: functional_call(layer, weights, x).sum())(weights)
    {'weight': tensor([[1., 2.]]), 'bias': tensor([1.])}
    """
    if isinstance(parameter_and_buffer_dicts, Mapping):
        merged: Mapping[str, Tensor] = parameter_and_buffer_dicts
    else:
        merged = _merged(parameter_and_buffer_dicts)
    return stateless.functional_call(module, merged, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merged(dicts: Any) -> dict[str, Tensor]:
    if not isinstance(dicts, (list, tuple)) or not all(isinstance(mapping, Mapping) for mapping in dicts):
        raise ArgumentError(
            "functional_call: parameter_and_buffer_dicts is neither a dict nor a list or tuple of dicts",
            operands={"parameter_and_buffer_dicts": dicts},
            fix="pass dict(module.named_parameters()), or (parameters, buffers)",
        )
    merged: dict[str, Tensor] = {}
    for mapping in dicts:
        twice = [name for name in mapping if name in merged]
        if twice:
            raise ArgumentError(
                f"functional_call: several dicts have {', '.join(map(repr, twice))}", fix="give each name once"
            )
        merged.update(mapping)
    return merged


@explaining
def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of *models* of one class, each stacked along a new first dimension.

    The stacked parameters are leaves that require a gradient if the models' own do. Raises RuntimeError for no models,
    for models of different classes or in different modes, and for parameters that differ in shape or requires_grad.

    >>> from polyad import nn
    >>> from polyad.func import stack_module_state
    >>> parameters, buffers = stack_module_state([nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape, buffers
    (polyad.Size([4, 3, 2]), {})
    """
    several = list(models)
    if not several:
        raise AutogradError("stack_module_state: there are no models", fix="pass at least one model")
    for position, model in enumerate(several):
        if not isinstance(model, Module):
            raise wrong_type("stack_module_state", f"models[{position}]", model, "a module")
    if len({model.training for model in several}) > 1:
        raise AutogradError(
            "stack_module_state: some models are in training mode and some are not",
            fix="call train() or eval() on all of them",
        )
    if len({type(model) for model in several}) > 1:
        raise AutogradError(
            "stack_module_state: the models are of different classes",
            notes={"classes": ", ".join(sorted({type(model).__name__ for model in several}))},
            fix="stack models of one class",
        )
    parameters = [dict(model.named_parameters()) for model in several]
    buffers = [dict(model.named_buffers()) for model in several]
    return (
        {name: _stacked(name, [state[name] for state in parameters]) for name in parameters[0]},
        {name: _stacked(name, [state[name] for state in buffers]) for name in buffers[0]},
    )


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    if len({tensor.requires_grad for tensor in tensors}) > 1:
        raise AutogradError(
            f"stack_module_state: {name} requires a gradient in some models and not in others",
            fix="set requires_grad alike in all of them",
        )
    return stack([tensor.detach() for tensor in tensors]).requires_grad_(tensors[0].requires_grad)
