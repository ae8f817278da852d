"""What the layers compute, as functions. They are declared in polyad/ops and exported here under PyTorch's names.

To add a function, declare it in its family in polyad/ops and import it here.
"""

from ..ops.linear_algebra import linear as linear

__all__ = ["linear"]
