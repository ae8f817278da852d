"""Kernels in OpenCL C for every device whose compiler takes it, or takes CUDA C with the definitions of `spelling`.

What core's generator does not cover (indexing, sorting, pooling, running sums, factorizations) is written once, here. A
backend whose arrays are `array.Array` adds `kernels.KERNELS` to its own.

What these kernels ask of a device, the object behind ``array.device``:

    kernel(source, name, parameters, what=, local=)   a launcher, called with (global size, arguments)
    is_cpu, compute_units, has_fp64                    what decides geometry
    generated                                          its `polyad.backend.runtime.Runtime`
    pool.take(nbytes)                                  a block of memory
    copy, fill, read, write                            of bytes, in the order of the calls
    trouble_cell, expect, verify                       wrong indices, see `checks`

array.py      the array handle
checks.py     what kernels note that met a wrong index
memo.py       what is made once
runtime.py    what runs generated kernels, as far as devices share it
spelling.py   the definitions with which CUDA C reads OpenCL C
source/       pieces of source text
kernels/      the families
"""

from polyad.base.state import count_in

count_in(__name__)
