"""What a plug-in that computes beside these kernels shares with them: threads, BLAS, freed memory, random words.

It is the door for plug-ins, which import nothing else of this package. Kernels that they outrank they ask the registry
for (`polyad.devices.registry.get`).
"""

from .allocator import SWITCH as KEEP_FREED_MEMORY
from .kernels.random.sampling import Words, words_from
from .workers import num_threads, on_change, one_thread

__all__ = ["KEEP_FREED_MEMORY", "Words", "num_threads", "on_change", "one_thread", "words_from"]
