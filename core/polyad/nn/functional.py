"""What layers compute, as functions, under PyTorch's path ``polyad.nn.functional``; they are declared in
``polyad.ops``, most of them in ``polyad.ops.nn``.
"""

from ..dispatch.catalogue import functions_of
from ..ops.products.grouped import ScalingType as ScalingType, SwizzleType as SwizzleType

__getattr__, __dir__ = functions_of("nn.functional", globals())
