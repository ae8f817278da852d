"""A module on several devices of one process.

data_parallel.py  each device computes a part of the batch: `DataParallel`
distributed.py    a name for programs that ask after several processes
"""

from .data_parallel import DataParallel as DataParallel, data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
