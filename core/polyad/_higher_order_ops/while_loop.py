"""The path at which PyTorch has `polyad._higher_order_ops.while_loop`."""

from ..ops.control_flow import while_loop

__all__ = ["while_loop"]
