"""PyTorch's path to the classes of its ops as objects; `polyad.aten.overloads` has them."""

from __future__ import annotations

from .aten.overloads import OpNamespace as _OpNamespace, OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace"]
