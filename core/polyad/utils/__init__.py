"""Tools around training that are not tensors: so far :mod:`polyad.utils.data` and
:mod:`polyad.utils.dlpack`.

Keeps PyTorch's import paths (``polyad.utils.data.DataLoader``). To add a tool, add a module under the path it has in
PyTorch; nothing is defined in this file.
"""

from polyad.utils import data, dlpack

__all__ = ["data", "dlpack"]
