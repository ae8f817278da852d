"""The path at which PyTorch has `polyad._higher_order_ops.cond`."""

from ..ops.control_flow import cond

__all__ = ["cond"]
