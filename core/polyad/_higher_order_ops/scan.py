"""The path at which PyTorch has `polyad._higher_order_ops.scan`."""

from ..ops.control_flow import scan

__all__ = ["scan"]
