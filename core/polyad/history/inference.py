"""Whether any thread has been in ``inference_mode``: before that, no tensor need be asked whether it was made there."""

from __future__ import annotations

seen = False
