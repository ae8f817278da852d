"""Linear algebra under PyTorch's path ``polyad.linalg``; the functions are declared in ``polyad.ops.linalg``."""

from .dispatch.catalogue import functions_of
from .errors import LinAlgError as LinAlgError

__getattr__, __dir__ = functions_of("linalg", globals())
