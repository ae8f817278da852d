"""The path at which PyTorch has `polyad._higher_order_ops.map`."""

from ..ops.control_flow import map_over as map

__all__ = ["map"]
