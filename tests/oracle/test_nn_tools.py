"""``nn.utils`` against PyTorch's: the same program with both libraries, from the same weights.

A program is a function of the library that returns what is compared: tensors, numbers, strings and lists of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.utils.prune

import polyad

Program = Callable[[Any], Any]


def layer(lib: Any, kind: str, *sizes: Any, **settings: Any) -> Any:
    """A layer in float64 with weights that do not depend on the library."""
    made = getattr(lib.nn, kind)(*sizes, **settings).to(lib.float64)
    random = np.random.default_rng(0)
    with lib.no_grad():
        for one in (*made.parameters(), *made.buffers()):
            if one.is_floating_point():
                one.copy_(lib.tensor(random.uniform(0.2, 2, tuple(one.shape))))
    return made


def value(lib: Any, *shape: int, seed: int = 1) -> Any:
    return lib.tensor(np.random.default_rng(seed).normal(size=shape))


def with_gradients(lib: Any, *gradients: Any) -> list[Any]:
    parameters = [lib.nn.Parameter(lib.zeros(len(one), dtype=lib.float64)) for one in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = lib.tensor(gradient, dtype=lib.float64)
    return parameters


def clipped(norm_type: float, max_norm: float) -> Program:
    def program(lib: Any) -> Any:
        parameters = [*with_gradients(lib, [3.0, 4.0], [-12.0]), lib.nn.Parameter(lib.zeros(2))]
        total = lib.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
        return [total, [one.grad for one in parameters[:2]]]

    return program


def clipped_nan(lib: Any) -> Any:
    parameters = with_gradients(lib, [3.0, float("nan")], [1.0])
    total = lib.nn.utils.clip_grad_norm_(parameters, 1.0)
    return [total, [one.grad for one in parameters]]


def clipped_values(lib: Any) -> Any:
    (parameter,) = with_gradients(lib, [3.0, -0.5, float("nan"), float("-inf")])
    lib.nn.utils.clip_grad_value_(parameter, 1)
    return parameter.grad


def vectors(lib: Any) -> Any:
    made = layer(lib, "Linear", 2, 3)
    vector = lib.nn.utils.parameters_to_vector(made.parameters())
    lib.nn.utils.vector_to_parameters(vector.detach() * 2, made.parameters())
    return [vector, made.weight, made.bias]


def fused(kind: str, norm: str, sizes: tuple[int, ...], shape: tuple[int, ...], **settings: Any) -> Program:
    def program(lib: Any) -> Any:
        first, second = layer(lib, kind, *sizes, **settings).eval(), layer(lib, norm, 4).eval()
        if kind == "Linear":
            one = lib.nn.utils.fuse_linear_bn_eval(first, second)
        else:
            one = lib.nn.utils.fuse_conv_bn_eval(first, second, kind.startswith("ConvTranspose"))
        x = value(lib, *shape)
        return [one(x), second(first(x)), one.weight.requires_grad, repr(one)]

    return program


def parametrized(name: str, kind: str, sizes: tuple[int, ...], *args: Any, **settings: Any) -> Program:
    def program(lib: Any) -> Any:
        made = getattr(lib.nn.utils.parametrizations, name)(layer(lib, kind, *sizes), *args, **settings)
        for key, one in made.named_buffers():
            if key.endswith(("_u", "_v")):
                one.copy_(lib.nn.functional.normalize(value(lib, *one.shape), dim=0))
        for key, one in made.named_parameters():
            if "original" in key and name == "orthogonal":
                with lib.no_grad():
                    one.add_(value(lib, *one.shape).tril(-1) * 0.1)
                one.grad = None
        # The base of a tall matrix is completed at random; of a square one it is not.
        made.weight.pow(2).mul(value(lib, *made.weight.shape, seed=4)).sum().backward()
        gradients = [one.grad for _, one in made.named_parameters() if one.grad is not None]
        names = [key for key, _ in made.named_parameters()], list(made.state_dict())
        text = repr(made)
        lib.nn.utils.parametrize.remove_parametrizations(made, "weight")
        return [gradients, *names, text, made.weight, repr(made), type(made).__name__, list(made.state_dict())]

    return program


def own_parametrization(lib: Any) -> Any:
    class Exponential(lib.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x.exp()

        def right_inverse(self, x: Any) -> Any:
            return x.log()

    class Double(lib.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return 2 * x

        def right_inverse(self, x: Any) -> Any:
            return x / 2

    made = layer(lib, "Linear", 2, 3)
    tools = lib.nn.utils.parametrize
    tools.register_parametrization(made, "weight", Exponential())
    tools.register_parametrization(made, "weight", Double())
    tools.register_parametrization(made, "bias", Exponential())
    first = made(value(lib, 4, 2))
    made.weight = lib.full((3, 2), 5.0, dtype=lib.float64)
    stored = made.parametrizations.weight.original
    with tools.cached():
        same = made.weight is made.weight
    other = tools.transfer_parametrizations_and_params(made, layer(lib, "Linear", 2, 3))
    results = [first, made.weight, stored, same, made.weight is made.weight, other.weight, repr(other)]
    tools.remove_parametrizations(made, "weight", leave_parametrized=False)
    return [
        *results,
        made.weight,
        repr(made),
        tools.type_before_parametrizations(made).__name__,
        list(made.state_dict()),
    ]


def older_weight_norm(lib: Any) -> Any:
    made = lib.nn.utils.weight_norm(layer(lib, "Conv1d", 2, 3, 2), dim=1)
    made(value(lib, 1, 2, 4)).sum().backward()
    found = [made.weight_g, made.weight_v, made.weight_g.grad, made.weight_v.grad, list(made.state_dict())]
    newer = lib.nn.utils.parametrizations.weight_norm(layer(lib, "Conv1d", 2, 3, 2), dim=1)
    newer.load_state_dict(made.state_dict())
    lib.nn.utils.remove_weight_norm(made)
    return [*found, newer.weight, made.weight, list(made.state_dict())]


def older_spectral_norm(lib: Any) -> Any:
    made = lib.nn.utils.spectral_norm(layer(lib, "Linear", 2, 3))
    made.weight_u.copy_(lib.tensor([0.6, 0.8, 0.0]))
    x = value(lib, 4, 2)
    made(x).sum().backward()
    found = [made.weight, made.weight_orig.grad, made.weight_u, made.weight_v, list(made.state_dict()), made.eval()(x)]
    lib.nn.utils.remove_spectral_norm(made)
    return [*found, made.weight, list(made.state_dict()), made(x)]


def pruned(lib: Any) -> Any:
    prune = lib.nn.utils.prune
    made = layer(lib, "Conv2d", 4, 6, 3)
    prune.l1_unstructured(made, "weight", 0.3)
    found = [made.weight_mask, list(made.state_dict()), [name for name, _ in made.named_parameters()]]
    prune.ln_structured(made, "weight", 2, n=2, dim=0)
    prune.ln_structured(made, "weight", 0.25, n=float("inf"), dim=1)
    prune.l1_unstructured(made, "bias", 2, importance_scores=lib.arange(6))
    prune.identity(layer(lib, "Linear", 2, 2), "weight")
    made(value(lib, 1, 4, 3, 3)).sum().backward()
    found += [made.weight_mask, made.bias, made.weight_orig.grad, prune.is_pruned(lib.nn.Sequential(made))]
    prune.custom_from_mask(made, "weight", value(lib, 6, 4, 3, 3) > 0)
    found.append(made.weight_mask)
    prune.remove(made, "weight")
    return [*found, made.weight, list(made.state_dict()), prune.is_pruned(made)]


def pruned_together(lib: Any) -> Any:
    prune = lib.nn.utils.prune
    one, two = layer(lib, "Linear", 3, 4), layer(lib, "Linear", 4, 2)
    for amount in (5, 0.25):
        prune.global_unstructured([(one, "weight"), (two, "weight")], prune.L1Unstructured, amount=amount)
    return [one.weight_mask, two.weight_mask, prune.L1Unstructured(2).prune(value(lib, 3, 2))]


def lazily(kind: str, settings: tuple[Any, ...], *shape: int) -> Program:
    def program(lib: Any) -> Any:
        made = getattr(lib.nn, kind)(*settings)
        texts = [
            repr(made),
            list(made.state_dict()),
            repr(next(made.parameters(), None)),
            made.has_uninitialized_params(),
        ]
        made.to(lib.float64)
        known = layer(lib, kind.removeprefix("Lazy"), shape[-1 if kind == "LazyLinear" else 1], *settings)
        made.load_state_dict(known.state_dict())
        result = made(value(lib, *shape))
        return [
            *texts,
            result,
            type(made).__name__,
            list(made.state_dict()),
            made.weight.dtype == lib.float64,
        ]

    return program


def split_over_devices(lib: Any) -> Any:
    made = lib.nn.DataParallel(layer(lib, "Linear", 2, 3))
    return [repr(made), list(made.state_dict()), made(value(lib, 4, 2)), made.device_ids]


def containers(lib: Any) -> Any:
    one = lib.nn.Parameter(lib.ones(2))
    made = lib.nn.ParameterDict({"a": one, "b": 3})
    made["c"] = lib.zeros(2, 3)
    made.update(lib.nn.ParameterDict([("d", one)]))
    joined = made | lib.nn.ParameterDict({"e": one})
    found = [repr(made), list(made), len(list(made.parameters())), list(joined), made.get("q", 7), "a" in made]
    found += [made.pop("b"), made.popitem()[0], list(reversed(made)), list(made.keys()), list(made.state_dict())]
    found += [made.setdefault("z", one) is one, list(made.copy()), list(made.fromkeys(["x"], one))]
    return [*found, repr(lib.nn.ParameterList([one, 3])), repr(lib.nn.ParameterDict())]


PROGRAMS: dict[str, Program] = {
    "clip_grad_norm_": clipped(2.0, 6.5),
    "clip_grad_norm_ 1": clipped(1, 100),
    "clip_grad_norm_ infinite": clipped(float("inf"), 6),
    "clip_grad_norm_ nan": clipped_nan,
    "clip_grad_value_": clipped_values,
    "vectors": vectors,
    "fuse conv": fused("Conv2d", "BatchNorm2d", (2, 4, 3), (1, 2, 4, 4)),
    "fuse conv without bias": fused("Conv1d", "BatchNorm1d", (2, 4, 3), (1, 2, 4), bias=False),
    "fuse transposed": fused("ConvTranspose2d", "BatchNorm2d", (2, 4, 3), (1, 2, 4, 4)),
    "fuse linear": fused("Linear", "BatchNorm1d", (3, 4), (2, 3)),
    "weight_norm": parametrized("weight_norm", "Linear", (2, 3)),
    "weight_norm dim": parametrized("weight_norm", "Conv1d", (2, 3, 2), dim=1),
    "weight_norm whole": parametrized("weight_norm", "Linear", (2, 3), "weight", None),
    "spectral_norm": parametrized("spectral_norm", "Linear", (2, 3), n_power_iterations=2),
    "spectral_norm transposed": parametrized("spectral_norm", "ConvTranspose1d", (2, 3, 2)),
    "orthogonal": parametrized("orthogonal", "Linear", (3, 3)),
    "orthogonal cayley": parametrized("orthogonal", "Linear", (3, 3), orthogonal_map="cayley"),
    "orthogonal householder": parametrized("orthogonal", "Linear", (3, 3), orthogonal_map="householder"),
    "orthogonal tall": parametrized("orthogonal", "Linear", (2, 4), use_trivialization=False),
    "orthogonal wide": parametrized("orthogonal", "Linear", (4, 2), use_trivialization=False),
    "orthogonal exponential": parametrized(
        "orthogonal", "Linear", (2, 4), orthogonal_map="matrix_exp", use_trivialization=False
    ),
    "own parametrization": own_parametrization,
    "older weight_norm": older_weight_norm,
    "older spectral_norm": older_spectral_norm,
    "prune": pruned,
    "prune together": pruned_together,
    "LazyLinear": lazily("LazyLinear", (3,), 2, 5),
    "LazyConv2d": lazily("LazyConv2d", (3, 2), 1, 4, 3, 3),
    "LazyConvTranspose1d": lazily("LazyConvTranspose1d", (3, 2), 1, 4, 3),
    "LazyBatchNorm2d": lazily("LazyBatchNorm2d", (), 2, 4, 3, 3),
    "DataParallel": split_over_devices,
    "containers": containers,
}  # fmt: skip


def plain(found: Any) -> Any:
    """Tensors as arrays, and the libraries' names as one."""
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    if isinstance(found, str):
        return found.replace("torch.", "polyad.")
    return found.detach().numpy() if hasattr(found, "detach") else found


def compare(ours: Any, theirs: Any, place: str) -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), f"{place}: {ours}, PyTorch gives {theirs}"
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            compare(*pair, f"{place}[{number}]")
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, f"{place}: {ours.dtype}, PyTorch gives {theirs.dtype}"
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=place)
    else:
        assert ours == theirs, place


@pytest.mark.parametrize("name", PROGRAMS)
def test_tool(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(plain(PROGRAMS[name](polyad)), plain(PROGRAMS[name](torch)), name)
