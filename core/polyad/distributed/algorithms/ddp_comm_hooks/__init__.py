"""Hooks for `DistributedDataParallel.register_comm_hook`."""

from ....compatibility.absent import lacking

__getattr__ = lacking(__name__)
