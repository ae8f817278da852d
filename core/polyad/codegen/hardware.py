"""What the generator asks of a device: enough to choose a kernel's shape, nothing that names a driver.

CPU devices get few work-items that each walk long stretches in vectors; GPUs get many that each do little. That, and
not the op, decides geometry.
"""

from __future__ import annotations

from dataclasses import dataclass

CPU, GPU = "cpu", "gpu"


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """One device.

    Attributes:
        kind: `CPU` or `GPU`.
        compute_units: cores or multiprocessors.
        max_local_size: work-items that may share local memory.
        has_fp64, has_fp16: whether it computes in float64 and float16; float16 in memory needs neither.
        vector_bytes: the size of a CPU's vectors. 32, not 64: PoCL 3.0 compiles 64-byte vectors for machines that
            have them and that its LLVM does not know (AMD Zen 4) into code that never ends, or dies itself. 8 or fewer:
            the compiler makes no vectors.
        cache_bytes: what a CPU's caches hold. Results of work that exceeds them are written past them, which spares
            reading what they overwrite.

    >>> DeviceDescription(CPU, compute_units=2).workers
    8
    """

    kind: str = CPU
    compute_units: int = 1
    max_local_size: int = 1
    has_fp64: bool = True
    has_fp16: bool = False
    vector_bytes: int = 32
    cache_bytes: int = 1 << 25

    @property
    def workers(self) -> int:
        """Work-items that keep the whole device busy: a few a core, so that uneven ones even out, or very many."""
        return 4 * self.compute_units if self.kind == CPU else 2048 * self.compute_units

    @property
    def has_vectors(self) -> bool:
        """Whether several numbers are added up at once."""
        return self.vector_bytes > 8

    @property
    def local_size(self) -> int:
        """Work-items a group: barriers and groups cost CPUs more than they bring."""
        return 1 if self.kind == CPU else min(128, self.max_local_size)
