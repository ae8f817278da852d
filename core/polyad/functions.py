"""The public functions of tensors in ``polyad`` itself, each loaded with its family when it is named.

What editors and type checkers see is functions.pyi, which ``python -m polyad.ops.declaring.stubs`` writes from the
declarations.
"""

from .dispatch.catalogue import functions_of

__getattr__, __dir__ = functions_of("", globals())
