"""Which version this is, at PyTorch's path ``polyad.version``.

`__version__`, which is ``polyad.__version__`` too, begins with the version of PyTorch's interface, because programs
that ``import polyad as torch`` compare it, cut it and parse it; polyad's own version follows as the local label, as
"cpu" and "cu130" do in PyTorch's. To ask for polyad's own version, use `polyad`. `cuda` is the version of the CUDA
runtime that device type "cuda" uses, "12.9", and None where there is no such device.
"""

from __future__ import annotations

from typing import Any

from ._version import __version__ as polyad, torch_api_version
from .devices import registry
from .torch_version import TorchVersion

__all__ = ["__version__", "debug", "hip", "polyad", "rocm", "xpu"]

__version__ = TorchVersion(f"{torch_api_version}+polyad.{polyad}")

debug = False

# With which version of other vendors' libraries it was built: with none.
hip: str | None = None
rocm: str | None = None
xpu: str | None = None


def __getattr__(name: str) -> Any:
    if name == "cuda":  # asked for when it is wanted: that loads the backend
        number = registry.get("cuda").library_version("cuda") if registry.is_available("cuda") else None
        return None if number is None else f"{number // 1000}.{number % 1000 // 10}"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
