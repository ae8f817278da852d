"""Training in half precision: `autocast` chooses the dtype of each function, `GradScaler` keeps float16 gradients in
range.

autocast_mode.py has the context and the table of which function runs in which dtype, grad_scaler.py the scaler; what
happens to a call is in ``polyad/dispatch/autocast.py``. The docs have a page on it: "Train models".
"""

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
