"""Special functions under PyTorch's path ``polyad.special``; they are declared in ``polyad.ops.special``."""

from .dispatch.catalogue import functions_of

__getattr__, __dir__ = functions_of("special", globals())
