"""Modules that have been elsewhere: importing a module by its old path says where it is now.

Nothing is loaded in their place: a program that uses an old path fails, once, with the line that mends it. `find` is
asked only about modules that nobody has found. The paths in `FORWARDED` still work, with a warning: backends were
written by them, and an installed backend must load with every polyad of its interface.

To move a module that others may import, move it and add a row; when the old path is used again, delete the row. A name
that leaves a module has a row in `NAMES`, and the module a ``__getattr__`` that raises `missing`.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..errors import PolyadError

__all__ = ["FORWARDED", "MOVED", "NAMES", "ModuleMoved", "NameMoved", "missing"]

MOVED: dict[str, str] = {
    "polyad.backend.accelerators": "polyad.devices.accelerators",
    "polyad.backend.entry_points": "polyad.devices.entry_points",
    "polyad.backend.fallback": "polyad.devices.fallback",
    "polyad.backend.plugins": "polyad.devices.plugins",
    "polyad.backend.registry": "polyad.devices.registry",
    "polyad.batching": "polyad.transforms.batching",
    "polyad.diagnosis": "polyad.inspection.diagnosis",
    "polyad.dispatch.levels": "polyad.transforms.levels",
    "polyad.dispatch.tracing": "polyad.inspection.tracing",
    "polyad.dispatch.wrapped": "polyad.transforms.wrapped",
    "polyad.extras": "polyad.base.extras",
    "polyad.kinds": "polyad.base.kinds",
    "polyad.legacy_types": "polyad.tensor.legacy_types",
    "polyad.locks": "polyad.base.locks",
    "polyad.memory_formats": "polyad.base.memory_formats",
    "polyad.nn.model_summary": "polyad.inspection.summary",
    "polyad.provided": "polyad.base.provided",
    "polyad.state": "polyad.base.state",
    "polyad.streams": "polyad.devices.streams",
    "polyad.subclasses": "polyad.tensor.subclasses",
    "polyad.tensor_methods": "polyad.tensor.methods",
    "polyad.trees": "polyad.base.trees",
    "polyad.autograd.levels": "polyad.autograd.entries",
    "polyad.autograd.node": "polyad.history.node",
    "polyad.backends.doctor": "polyad.inspection.diagnosis.doctor",
    "polyad.backends.listing": "polyad.inspection.diagnosis.listing",
    "polyad.backends.screen": "polyad.inspection.diagnosis.screen",
    "polyad.codegen.teams": "polyad.codegen.workgroups",
    "polyad.lowering.steps": "polyad.lowering.loops",
    "polyad_kernels.kept": "polyad_kernels.memo",
    "polyad.datasets.images": "polyad.datasets.folders",
    "polyad.func.trees": "polyad.base.trees",
    "polyad.expansions": "polyad.tables.special",
    "polyad.ops.autocast": "polyad.amp.autocast_policies",
    **{
        f"polyad.nn.{name}": f"polyad.nn.modules.{name}"
        for name in (
            "activation",
            "batchnorm",
            "container",
            "conv",
            "dropout",
            "flatten",
            "linear",
            "loss",
            "module",
            "normalization",
            "pooling",
            "sparse",
        )
    },
    **{f"polyad.ops.{name}": f"polyad.ops.creation.{name}" for name in ("sequences",)},
    **{
        f"polyad.ops.{name}": f"polyad.ops.declaring.{name}"
        for name in ("attach", "half_types", "shape_rules", "stubs", "windows")
    },
    **{
        f"polyad.ops.{name}": f"polyad.ops.indexing.{name}"
        for name in ("masking", "slicing", "subscript", "view_scatter")
    },
    **{f"polyad.ops.{name}": f"polyad.ops.memory.{name}" for name in ("conversion", "interchange", "placement")},
    **{
        f"polyad.ops.{name}": f"polyad.ops.nn.{name}"
        for name in (
            "activation",
            "attention",
            "convolution",
            "distance",
            "dropout",
            "embedding",
            "grid_sampling",
            "losses",
            "normalization",
            "padding",
            "pooling",
        )
    },
    **{
        f"polyad.ops.{name}": f"polyad.ops.pointwise.{name}"
        for name in (
            "arithmetic",
            "bitwise",
            "comparison",
            "divisors",
            "exponential",
            "float_parts",
            "powers",
            "rounding",
            "trigonometry",
        )
    },
    **{f"polyad.ops.{name}": f"polyad.ops.products.{name}" for name in ("einsum",)},
    **{f"polyad.ops.{name}": f"polyad.ops.reductions.{name}" for name in ("covariance", "cumulative", "histogram")},
    **{f"polyad.ops.{name}": f"polyad.ops.shaping.{name}" for name in ("combinatorics", "joining", "strided")},
    "polyad.ops.added_products": "polyad.ops.products.addmm",
    "polyad.ops.advanced_indexing": "polyad.ops.indexing.index_put",
    "polyad.ops.complex_parts": "polyad.ops.pointwise.complex_numbers",
    "polyad.ops.contraction": "polyad.ops.products.tensordot",
    "polyad.ops.coordinates": "polyad.ops.shaping.triangles",
    "polyad.ops.distinct": "polyad.ops.sorting.unique",
    "polyad.ops.fft.spectrograms": "polyad.ops.fft.stft",
    "polyad.ops.linalg.functions": "polyad.ops.linalg.matrix_functions",
    "polyad.ops.linalg.singular": "polyad.ops.linalg.svd",
    "polyad.ops.linalg.spectra": "polyad.ops.linalg.eigenvalues",
    "polyad.ops.linear_algebra": "polyad.ops.products.matmul",
    "polyad.ops.numerical": "polyad.ops.reductions.diff",
    "polyad.ops.optimizer": "polyad.ops.optim",
    "polyad.ops.order_statistics": "polyad.ops.reductions.median",
    "polyad.ops.patches": "polyad.ops.nn.fold",
    "polyad.ops.random_counts": "polyad.ops.random.poisson",
    "polyad.ops.random_inplace": "polyad.ops.random.inplace",
    "polyad.ops.reduction": "polyad.ops.reductions.sums",
    "polyad.ops.resampling": "polyad.ops.nn.interpolate",
    "polyad.ops.scattering": "polyad.ops.indexing.gather_scatter",
    "polyad.ops.searching": "polyad.ops.sorting.searchsorted",
    "polyad.ops.selection": "polyad.ops.pointwise.where",
    "polyad.ops.shape": "polyad.ops.shaping.reshape",
    "polyad.ops.statistics": "polyad.ops.reductions.variance",
    "polyad.ops.truth": "polyad.ops.reductions.any_all",
    "polyad.ops.undifferentiable": "polyad.ops.declaring.no_derivative",
}
"""The path of today by the path of before; of a package that moved as a whole, the package alone."""


FORWARDED = {
    "polyad.device": "polyad.base.device",
    "polyad.dtypes": "polyad.base.dtypes",
    "polyad.layout": "polyad.base.shapes_and_strides",
    "polyad.linting": "polyad.inspection.linting",
}
"""Old paths whose names are still found there: what documentation told authors of backends and users to import."""

NAMES: dict[str, str] = {
    "polyad.autograd.hooks.NodeHooks": "polyad.history.hooks.NodeHooks",
    "polyad.autograd.hooks.RemovableHandle": "polyad.history.hooks.RemovableHandle",
    "polyad.autograd.hooks.add_hook": "polyad.history.node.add_hook",
    "polyad.autograd.hooks.hooks_of": "polyad.history.node.hooks_of",
    "polyad.autograd.hooks.register": "polyad.history.hooks.register",
    "polyad.codegen.Place": "polyad.codegen.Iota",
    "polyad.dispatch.forward.elementwise": "polyad.dispatch.forward.symmetric",
}
"""Names that have left a module which is still there, or have another name in it."""


class ModuleMoved(PolyadError, ModuleNotFoundError):
    """A module that is not at this path any more. Has no ``name``, since then ``from package import module`` would
    leave it out and say only that it cannot import the name.
    """


class _Forwarded(ModuleType):
    """What stands at an old path: looks each name up where the module is now."""

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(FORWARDED[self.__name__])
        value = getattr(module, name)
        if not name.startswith("_"):
            message = f"{self.__name__} moved: import {name} from {module.__name__}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        return value


def find(fullname: str) -> ModuleSpec | None:
    """Nothing; raises for a path that is in `MOVED`."""
    if fullname in MOVED:
        raise ModuleMoved(f"{fullname} moved: import it from {MOVED[fullname]}")
    return None


class NameMoved(PolyadError, ImportError):
    """A name that is in another module, or is another name, today. An ImportError, since ``from module import name``
    would not show an AttributeError.
    """


def missing(module: str, name: str) -> Exception:
    """What a module's ``__getattr__`` raises for *name*, which the module does not have."""
    path = f"{module}.{name}"
    if path in NAMES:
        return NameMoved(f"{path} moved: it is {NAMES[path]}")
    message = f"module {module!r} has no attribute {name!r}"
    return AttributeError(f"{message}: it moved to {MOVED[path]}" if path in MOVED else message)


def forward() -> None:
    """Let the paths in `FORWARDED` be imported."""
    for path in FORWARDED:
        sys.modules[path] = _Forwarded(path)
