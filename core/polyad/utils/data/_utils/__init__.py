"""Names at paths of PyTorch's that are not public and that scripts use all the same; each is defined elsewhere."""

from polyad.utils.data._utils import collate, pin_memory, worker

__all__ = ["collate", "pin_memory", "worker"]
