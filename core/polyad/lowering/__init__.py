"""Lowering: from an op's own body to the expressions that a generated kernel computes.

A composite says what it means by its body. Lowering runs that body once on tensors that carry expressions
(`polyad.codegen.Expression`) instead of numbers, and a device that runs generated code makes a kernel of the result:
nothing is written a second time.

    numbers    parameters, as the body sees them: numbers that only a call knows
    tensors    the level that runs bodies, and its tensors
    loops      what a lowered body computes: a few loops over memory
    rows       loops over the same rows, as one kernel of several stages
    running    the kernels of loops, with their arrays and numbers
    kernels    the kernel of a call signature, with a variant for each way that a body takes
"""

from __future__ import annotations

from ..base import provided

provided.why_composed.fill_later(f"{__name__}.kernels", "why_composed")
provided.lowered_kernel.fill_later(f"{__name__}.kernels", "lowered_kernel")
provided.generated_call.fill_later(f"{__name__}.kernels", "generated_call")
