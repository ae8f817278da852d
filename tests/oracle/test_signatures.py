"""Every parameter that PyTorch's functions have, polyad's have, under the same name and in the same order.

PyTorch's signatures are those of its stubs, of its Python functions, or of its documentation.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest
import torch

from polyad.dispatch.op import PUBLIC

from .libraries import twin

UNUSED = frozenset({"names", "self"})
"""Parameters that polyad has no use for: there is no named dimension."""

LACKING: dict[str, str] = {
    "argsort": "out: undocumented",
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), "batch_sizes: given by position, in the packed form"),
    "expand_copy": "implicit: for PyTorch's own use",
    "split_copy": "out: a list",
    "split_with_sizes_copy": "out: a list",
    "unbind_copy": "out: a list",
    "linalg.lu_factor": "its documentation writes a type before the name",
    "rrelu_": "generator: undocumented",
    "nn.functional.rrelu_": "generator: undocumented",
    "slice_scatter": "out: undocumented",
    "mm": "out_dtype: for CUDA alone",
    "bmm": "out_dtype: for CUDA alone",
    "addmm": "out_dtype: for CUDA alone",
    "baddbmm": "out_dtype: for CUDA alone",
    "tril_indices": "requires_grad: integers never do",
    "triu_indices": "requires_grad: integers never do",
    **{
        f"special.{name}": "x in the documentation of its like"
        for name in (
            "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "airy_ai",
            "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
            "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
            "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
            "laguerre_polynomial_l", "legendre_polynomial_p",
        )
    },
}  # fmt: skip
"""Functions that lack a parameter, with the reason."""


@cache
def stubs() -> dict[str, list[ast.arguments]]:
    """The overloads of PyTorch's compiled functions, by name."""
    text = Path(torch.__file__).parent.joinpath("_C", "_VariableFunctions.pyi").read_text()
    found: dict[str, list[ast.arguments]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node.args)
    return found


def overloads(path: str) -> list[list[str]]:
    """The parameters of each form of PyTorch's function for *path*; empty if they are not to be had."""
    function = twin(path)
    name = path.rpartition(".")[2]
    if inspect.isfunction(function):
        parameters = inspect.signature(function).parameters.values()
        if any(one.kind is one.VAR_POSITIONAL for one in parameters):
            return []
        return [[one.name for one in parameters]]
    if function is getattr(torch, name, None) and name in stubs():
        return [[arg.arg for arg in (*one.posonlyargs, *one.args, *one.kwonlyargs)] for one in stubs()[name]]
    described = re.search(rf"(?:^|\n)\s*(?:\w+\.)*{re.escape(name)}\((.*?)\)\s*->", function.__doc__ or "", re.DOTALL)
    if described is None:
        return []
    parts = re.split(r",\s*(?![^()\[\]]*[)\]])", described[1].replace("\n", " "))
    return [[word[0] for part in parts if (word := re.match(r"\w+", part.strip()))]]


def missing(path: str) -> list[str]:
    """PyTorch's parameters that polyad's function does not have."""
    call = PUBLIC[path].call
    ours = inspect.signature(call).parameters
    if any(one.kind is one.VAR_POSITIONAL for one in ours.values()):
        return []
    found = {name for names in overloads(path) for name in names}
    return sorted(found - set(ours) - getattr(call, "__other_names__", frozenset()) - UNUSED)


@pytest.mark.parametrize("path", [path for path in PUBLIC if twin(path) is not None])
def test_parameters(path: str) -> None:
    lacking = missing(path)
    assert not lacking or path in LACKING, f"polyad.{path} has no parameter {', '.join(lacking)}"


@pytest.mark.parametrize("path", [path for path in PUBLIC if twin(path) is not None])
def test_order(path: str) -> None:
    """Where all of PyTorch's parameters are there, those that are given by position come in PyTorch's order."""
    parameters = inspect.signature(PUBLIC[path].call).parameters.values()
    ours = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    forms = [[name for name in names if name in ours] for names in overloads(path)]
    ordered = any(names == [name for name in ours if name in names] for names in forms)
    assert not forms or ordered, f"polyad.{path}{tuple(ours)}, PyTorch's {forms}"


def test_the_list_is_up_to_date() -> None:
    stale = [path for path in LACKING if path not in PUBLIC or not missing(path)]
    assert not stale, f"delete these entries of LACKING: {stale}"
