"""The conformance suite is tested by sabotage: a backend that is wrong in exactly one way has to be caught.

    saboteur.py   the backends that are spoiled, and how a sabotage says what catches it
    memory.py     tier 0: layouts, copies, casts, host memory, declarations
    queueing.py   a device that computes later
    guarding.py   reads and writes beside what a kernel was given
    elementwise.py, reducing.py, moving.py    kernels
    blocks.py, sizes.py    kernels on sizes beyond one vector or block of work
    numbers.py    kernels on numbers that samples seldom have
    generating.py generated kernels, and what core does to have them
    recording.py  gradients, versions, fused kernels, random bits, training

To add a sabotage, write a function that spoils the backend (or, for what core does, patches core), and say by
`caught_by` which check has to catch it and on the samples of which ops.
"""

from . import blocks, elementwise, generating, guarding, memory, moving, numbers, queueing, recording, reducing, sizes
from .saboteur import SABOTAGES, Sabotage

__all__ = ["SABOTAGES", "Sabotage", "blocks", "elementwise", "generating", "guarding", "memory", "moving", "numbers"]
__all__ += ["queueing", "recording", "reducing", "sizes"]
