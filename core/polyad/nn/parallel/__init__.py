"""A module on several devices of one process, or in several processes.

data_parallel.py  each device computes a part of the batch: `DataParallel`
distributed.py    each process computes with a batch of its own: `DistributedDataParallel`
reducer.py        how its gradients are collected and reduced
"""

from .data_parallel import DataParallel as DataParallel, data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
