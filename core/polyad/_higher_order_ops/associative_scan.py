"""The path at which PyTorch has `polyad._higher_order_ops.associative_scan`."""

from ..ops.control_flow import associative_scan

__all__ = ["associative_scan"]
