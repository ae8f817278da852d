"""Tools around training that are not tensors.

checkpoint  forgetting what a part of a network saves for backward, and computing it again
data        datasets, samplers, loaders
dlpack      tensors of other libraries
viz         pictures of graphs

Keeps PyTorch's import paths (``polyad.utils.data.DataLoader``). To add a tool, add a module under the path it has in
PyTorch; nothing is defined in this file.
"""

from polyad.utils import checkpoint, data, dlpack, viz

__all__ = ["checkpoint", "data", "dlpack", "viz"]
