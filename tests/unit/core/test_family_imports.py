"""Families of ops import each other at the top of their modules; what is imported inside a function is listed here."""

from __future__ import annotations

import ast
from pathlib import Path

import polyad.ops

ROOT = Path(polyad.ops.__file__).parent

CIRCLES = {
    ("indexing.gather_scatter", "indexing.scatter_reduce"): "scatter with reduce= is a reduction",
    ("indexing.index_put", "indexing.masking"): "one value at a mask is masked_fill",
    ("indexing.index_select", "indexing.index_put"): "index_fill writes at the indices",
    ("linalg.eigenvalues", "linalg.solving"): "the gradient of eig solves with the eigenvectors",
    ("linalg.svd", "linalg.norms"): "cond of most orders is a norm",
    ("linalg.svd", "linalg.solving"): "and another of the inverse",
    ("memory.conversion", "memory.copying"): "a conversion that must copy",
    ("memory.copying", "creation.factories"): "a number is copied as a tensor; a gradient is zero",
    ("pointwise.arithmetic", "pointwise.rounding"): "division that rounds",
    ("shaping.reshape", "pointwise.arithmetic"): "mH conjugates",
    ("shaping.reshape", "reductions.sums"): "sum_to_size",
    ("shaping.splitting", "shaping.joining"): "the gradient of split joins",
    ("shaping.strided", "creation.factories"): "windows that overlap are added to zeros",
    ("shaping.strided", "indexing.index_select"): "and added at their indices",
    ("shaping.strided", "indexing.slicing"): "the gradient of overlapping windows is windows",
    ("shaping.strided", "nn.padding"): "and padded to whole pieces",
    ("shaping.strided", "reductions.sums"): "the gradient of dimensions that were expanded",
}
"""Two families that need each other: the one on the lower floor imports the other where a formula needs it."""

SELDOM = {
    ("random.sampling", "pointwise.complex_numbers"): "complex normal numbers",
    ("random.sampling", "shaping.joining"): "draws of several words",
    ("random.sampling", "sorting.searchsorted"): "multinomial alone, while nearly every program draws",
    ("reductions.sums", "reductions.cumulative"): "the gradient of a product with zeros",
}
"""Families that would be loaded by nearly every program and are used by few."""


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_module(path): path for path in ROOT.rglob("*.py") if not path.is_relative_to(ROOT / "declaring")}


def _imported(module: str, path: Path, node: ast.ImportFrom) -> set[str]:
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    here = package[: len(package) - node.level + 1] if node.level - 1 <= len(package) else None
    if here is None:
        return set()
    named = ".".join([*here, *([node.module] if node.module else [])])
    return {named, *(f"{named}.{alias.name}" for alias in node.names)} & MODULES.keys()


def test_what_is_imported_inside_functions_is_listed() -> None:
    found = set()
    for module, path in MODULES.items():
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.ImportFrom) and node.level:
                        found |= {(module, name) for name in _imported(module, path, node) if name != module}
    assert found == {*CIRCLES, *SELDOM}
