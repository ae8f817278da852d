"""What this polyad consists of, as text, at PyTorch's path ``polyad.__config__``: for reports of defects."""

from __future__ import annotations

import platform
from importlib.metadata import version

from ._version import __version__, torch_api_version
from .devices.entry_points import BACKEND_GROUP, PLUGIN_GROUP, declared
from .settings import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Versions, and the names of the backends and plug-ins that are installed. Loads none of them.

    >>> import polyad
    >>> print(polyad.__config__.show())
    polyad ...
    """
    lines = [
        f"polyad {__version__}, with the API of PyTorch {torch_api_version}",
        f"Python {platform.python_version()} on {platform.platform()}",
        *(f"{name} {version(name)}" for name in ("numpy", "scipy")),
        f"backends: {', '.join(sorted(declared(BACKEND_GROUP)))}",
        f"plug-ins: {', '.join(sorted(declared(PLUGIN_GROUP))) or 'none'}",
        "python -m polyad.backends says more of them",
    ]
    return "\n".join(lines) + "\n"


def parallel_info() -> str:
    """How many threads ops use on the cpu.

    >>> import polyad
    >>> "threads" in polyad.__config__.parallel_info()
    True
    """
    return f"threads of an op: {get_num_threads()}\nops side by side: {get_num_interop_threads()}\n"
