"""What a worker knows of itself, at PyTorch's path."""

from polyad.utils.data.workers.info import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
