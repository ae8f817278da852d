"""The public functions of tensors, one import a name. Written by ``python -m polyad.ops.stubs``; do not edit."""

from .ops.arithmetic import add as add
from .ops.arithmetic import mul as mul
from .ops.arithmetic import sub as sub
from .ops.conversion import clone as clone
from .ops.conversion import contiguous as contiguous
from .ops.conversion import to as to
from .ops.creation import arange as arange
from .ops.creation import empty as empty
from .ops.creation import empty_like as empty_like
from .ops.creation import full as full
from .ops.creation import full_like as full_like
from .ops.creation import ones as ones
from .ops.creation import ones_like as ones_like
from .ops.creation import tensor as tensor
from .ops.creation import zeros as zeros
from .ops.creation import zeros_like as zeros_like
from .ops.linear_algebra import linear as linear
from .ops.linear_algebra import matmul as matmul
from .ops.reduction import sum as sum
from .ops.shape import expand as expand
from .ops.shape import permute as permute
from .ops.shape import reshape as reshape
from .ops.shape import transpose as transpose
