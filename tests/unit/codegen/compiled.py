"""Running generated kernels: the C dialect compiled by the C compiler, CUDA C by the same behind shims, OpenCL C on
every OpenCL device there is.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyad import codegen
from polyad.codegen import CUDA_C, GPU, OPENCL_C, C, DeviceDescription

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler on PATH to run generated C with")

SHIMS = (
    # One instance that walks everything: enough to run CUDA C on the host.
    "#include <math.h>\n#define __global__\n#define __device__\nstruct dim { int x; };\n"
    "static const struct dim blockIdx = {0}, threadIdx = {0}, blockDim = {1}, gridDim = {1};\n"
)


def opencl_devices() -> list[Any]:
    """The devices, or none without pyopencl or a driver."""
    try:
        import pyopencl as cl

        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except Exception:
        return []


def targets() -> list[Any]:
    """What tests run on: (dialect, device) with a readable name."""
    made = [
        pytest.param((C, None), id="C", marks=needs_compiler),
        pytest.param((CUDA_C, None), id="CUDA C", marks=needs_compiler),
    ]
    return made + [pytest.param((OPENCL_C, device), id=f"OpenCL {device.name[:12]}") for device in opencl_devices()]


def description_for(dialect: codegen.Dialect, **hardware: Any) -> DeviceDescription:
    """Two cores, or a small GPU where the dialect is CUDA's."""
    return DeviceDescription(GPU, 2, 64) if dialect is CUDA_C else DeviceDescription(compute_units=2, **hardware)


def launch(
    source: codegen.KernelSource,
    target: Any,
    folder: Path,
    arrays: Sequence[np.ndarray],
    numbers: Sequence[Any],
    geometry: bytes,
    instances: int,
) -> None:
    """Run *source*; *arrays* are whole memories, the results' changed in place."""  # fmt: skip
    dialect, device = target
    values = [np.dtype(dtype.name).type(number) for dtype, number in zip(source.scalars, numbers, strict=True)]
    if dialect is OPENCL_C:
        _launch_opencl(source, device, arrays, values, geometry, instances)
    else:
        _launch_c(source, dialect, folder, arrays, values, geometry, instances)


def compiled_c(source: codegen.KernelSource, dialect: codegen.Dialect, folder: Path) -> ctypes.CDLL:
    """*source* as a library of the host."""
    text = source.text if dialect is C else SHIMS + source.text.replace('extern "C" ', "")
    number = len(list(folder.glob("*.so")))  # a library that is loaded must not be overwritten
    path, library = folder / f"kernel{number}.c", folder / f"kernel{number}.so"
    path.write_text(text)
    assert CC is not None
    flags = ["-O1", "-fwrapv", "-Wall", "-Werror=implicit", "-Wno-unused-function", "-Wno-unused-variable"]
    subprocess.run([CC, *flags, "-shared", "-fPIC", "-o", library, path, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def _launch_c(source: Any, dialect: Any, folder: Path, arrays: Any, values: Any, geometry: bytes, workers: int) -> None:
    library = compiled_c(source, dialect, folder)
    if dialect is C:
        call_entry(library[source.entry], arrays, values, geometry, workers)
        return
    kernel = library[source.name]
    kinds = {"f": ctypes.c_float, "d": ctypes.c_double, "q": ctypes.c_longlong, "l": ctypes.c_longlong}
    struct = type("Geometry", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_longlong * (len(geometry) // 8))]})
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    kernel.argtypes = [ctypes.c_void_p] * len(pointers) + [kinds[value.dtype.char] for value in values] + [struct]
    kernel(*pointers, *[value.item() for value in values], struct.from_buffer_copy(geometry))


def call_entry(entry: Any, arrays: Any, values: Any, geometry: bytes, workers: int) -> None:
    """Call the entry point of a C kernel for each of *workers*, the last first: they may come in any order."""
    numbers = [np.array(value) for value in values]
    pointers = (ctypes.c_void_p * max(1, len(arrays)))(*[array.ctypes.data for array in arrays])
    places = (ctypes.c_void_p * max(1, len(numbers)))(*[number.ctypes.data for number in numbers])
    entry.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_longlong] * 2
    for worker in reversed(range(workers)):
        entry(pointers, places, geometry, worker, workers)


def _launch_opencl(source: Any, device: Any, arrays: Any, values: Any, geometry: bytes, instances: int) -> None:
    import pyopencl as cl

    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=array) for array in arrays]
    kernel = cl.Kernel(cl.Program(context, source.text).build(["-w"]), source.name)
    kernel.set_args(*buffers, *values, geometry)
    cl.enqueue_nd_range_kernel(queue, kernel, (instances,), (1,))
    for array, buffer in zip(arrays, buffers, strict=True):
        cl.enqueue_copy(queue, array, buffer)
    queue.finish()


def memory_of(array: np.ndarray) -> tuple[np.ndarray, int]:
    """The whole memory behind a view, and at which element the view begins."""
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    begin = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return whole, begin // array.itemsize


def strides_of(array: np.ndarray) -> tuple[int, ...]:
    """In elements."""
    return tuple(step // array.itemsize for step in array.strides)


def run_elementwise(
    expressions: Sequence[codegen.Expression],
    arrays: Sequence[np.ndarray],
    outs: Sequence[np.ndarray],
    target: Any,
    folder: Path,
    numbers: Sequence[Any] = (),
    **hardware: Any,
) -> None:
    """Write *expressions* of *arrays*, broadcast to the shape of *outs*, into them."""  # fmt: skip
    from polyad.codegen.elementwise import lanes_for

    dialect, device = target[0], description_for(target[0], **hardware)
    shape = outs[0].shape
    spread = [codegen.broadcast_strides(array.shape, strides_of(array), shape) for array in arrays]
    memories, offsets = zip(*[memory_of(array) for array in (*outs, *arrays)], strict=True)
    lanes = lanes_for(expressions, dialect, device)
    strides = [*(strides_of(out) for out in outs), *spread]
    plan = codegen.elementwise_plan(lanes, device, shape, strides, offsets, len(outs))
    if plan.instances:
        source = codegen.elementwise(expressions, dialect, device, plan.rank, plan.inner, plan.stream)
        assert source.lanes == lanes
        launch(source, target, folder, memories, numbers, plan.geometry, plan.instances)


def run_reduction(
    expression: codegen.Expression,
    reducer: str,
    arrays: Sequence[np.ndarray],
    dims: tuple[int, ...],
    target: Any,
    folder: Path,
    result: Any = None,
) -> np.ndarray:
    """The reduction over *dims* of an expression of *arrays*."""  # fmt: skip
    from polyad.codegen.elementwise import lanes_for
    from polyad.codegen.reduction import unroll_for
    from polyad.interop.numpy import numpy_dtype

    dialect, device = target[0], description_for(target[0])
    result = result or expression.dtype
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    kept = tuple(size for dim, size in enumerate(shape) if dim not in dims)
    spread = [codegen.broadcast_strides(array.shape, strides_of(array), shape) for array in arrays]
    memories, offsets = zip(*[memory_of(array) for array in arrays], strict=True)
    lanes = lanes_for([expression, codegen.cast(expression, result)], dialect, device)
    out = np.zeros(kept, numpy_dtype(result))
    unroll = unroll_for(expression)
    plan = codegen.reduction_plan(lanes, device, shape, dims, spread, offsets, result=strides_of(out), unroll=unroll)
    written = expression.dtype if plan.splits > 1 else result
    source = codegen.reduction(
        expression, reducer, dialect, device, result=written, across=plan.across, kept_rank=plan.kept_rank,
        reduced_rank=plan.reduced_rank, inner=plan.inner, unroll=plan.unroll,
    )  # fmt: skip
    if plan.splits > 1:
        out = np.zeros((plan.splits, *kept), numpy_dtype(written))
    launch(source, target, folder, [out, *memories], (), plan.geometry, plan.instances)
    if plan.splits == 1:
        return out
    return run_reduction(codegen.Operand(0, written), reducer, [out], (0,), target, folder, result)
