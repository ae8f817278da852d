"""A module on several devices of one process.

data_parallel.py  each device computes a part of the batch: `DataParallel`
"""

from .data_parallel import DataParallel as DataParallel, data_parallel as data_parallel

__all__ = ["DataParallel", "data_parallel"]
