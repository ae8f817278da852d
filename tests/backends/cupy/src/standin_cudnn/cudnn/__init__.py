"""A stand-in for cuDNN's Python frontend, on the simulated devices of the stand-in for CuPy; for tests alone.

It has what `polyad_cupy` uses, under the frontend's names, and is stricter: tensors have to be described whole, before
they are planned; calls have to come in the frontend's order; each address that is given has to lie, aligned and as long
as its tensor reaches, in live memory of the handle's device; a workspace is written over. What it computes is put off
like a kernel, and computed by NumPy as the definition says.

It is installed with the stand-in for CuPy, and is there only with STANDIN_CUDNN=1: without it the safe ways are tested.
`cudnn.simulation` makes it fail, or compute wrongly.

    simulation.py    what tests ask it for
    graphs.py        handles, tensors, graphs
    convolutions.py  convolutions by their definition
    attention.py     attention and its gradient by theirs
"""

import os

if os.environ.get("STANDIN_CUDNN", "") in ("", "0"):
    raise ImportError("the stand-in for cuDNN's frontend is there with STANDIN_CUDNN=1")

__version__ = "1.24.1"

from . import simulation as simulation
from .graphs import (
    build_plan_policy as build_plan_policy,
    create_handle as create_handle,
    cudnnGraphNotSupportedError as cudnnGraphNotSupportedError,
    data_type as data_type,
    diagonal_alignment as diagonal_alignment,
    heur_mode as heur_mode,
    numerical_note as numerical_note,
    pygraph as pygraph,
    set_stream as set_stream,
    tensor as tensor,
)


def backend_version():
    return simulation.asked().version


def backend_version_string():
    version = backend_version()
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"
