"""Which version this is, at PyTorch's path ``polyad.version``.

`__version__`, which is ``polyad.__version__`` too, begins with the version of PyTorch's interface, because programs
that ``import polyad as torch`` compare it, cut it and parse it; polyad's own version follows as the local label, as
"cpu" and "cu130" do in PyTorch's. To ask for polyad's own version, use `polyad`.
"""

from __future__ import annotations

from ._version import __version__ as polyad, torch_api_version
from .torch_version import TorchVersion

__all__ = ["__version__", "cuda", "debug", "hip", "polyad", "rocm", "xpu"]

__version__ = TorchVersion(f"{torch_api_version}+polyad.{polyad}")

debug = False

# With which version of a vendor's library it was built: with none, backends bring theirs.
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
