"""Tools around training that are not tensors.

data        datasets, samplers, loaders
dlpack      tensors of other libraries
viz         pictures of graphs

Keeps PyTorch's import paths (``polyad.utils.data.DataLoader``). To add a tool, add a module under the path it has in
PyTorch; nothing is defined in this file.
"""

from polyad.utils import data, dlpack, viz

__all__ = ["data", "dlpack", "viz"]
