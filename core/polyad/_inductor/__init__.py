"""Switches of a compiler of PyTorch's, at its path ``polyad._inductor.config``: kept, and not read."""

import sys

from ..compiler.settings import inductor as config

__all__ = ["config"]

sys.modules[f"{__name__}.config"] = config  # type: ignore[assignment]  # programs import it, as the module it is there
