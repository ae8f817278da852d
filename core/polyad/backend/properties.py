"""What hardware a device is, under the names that PyTorch has for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """One device. A number that the backend does not know is 0.

    Attributes:
        name: the hardware's.
        total_memory: bytes.
        major, minor: NVIDIA's compute capability.
        multi_processor_count: how many parts compute side by side.
        warp_size: threads that run in step.
        max_threads_per_block, max_threads_per_multi_processor, regs_per_multiprocessor: what a multiprocessor holds.
        shared_memory_per_block, shared_memory_per_multiprocessor, L2_cache_size: bytes.
        pci_domain_id, pci_bus_id, pci_device_id: where it is plugged in.
        is_integrated, is_multi_gpu_board: 1 if so.
        uuid: a text that tells it from all others.
    """

    name: str
    total_memory: int = 0
    major: int = 0
    minor: int = 0
    multi_processor_count: int = 0
    warp_size: int = 0
    max_threads_per_block: int = 0
    max_threads_per_multi_processor: int = 0
    regs_per_multiprocessor: int = 0
    shared_memory_per_block: int = 0
    shared_memory_per_multiprocessor: int = 0
    L2_cache_size: int = 0
    pci_domain_id: int = 0
    pci_bus_id: int = 0
    pci_device_id: int = 0
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    uuid: str = ""
