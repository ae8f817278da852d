"""Running generated kernels: the C dialect compiled by the C compiler, CUDA C by g++ behind a header that plays its
threads, OpenCL C on every OpenCL device there is.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polyad_cuda_on_host
import pytest

from polyad import codegen
from polyad.codegen import CUDA_C, GPU, OPENCL_C, C, DeviceDescription, Stage
from polyad.codegen.dialects import VECTOR_MATH
from polyad.codegen.packs import pack_for

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler on PATH to run generated C with")

needs_cuda_on_host = pytest.mark.skipif(
    polyad_cuda_on_host.compiler() is None, reason="no g++ on PATH, or the machine is no x86-64 of a Unix"
)


@functools.cache
def fast_flags() -> tuple[str, ...]:
    """The flags that make C fast here: those for vectors of math functions only where the library has them."""
    with tempfile.TemporaryDirectory() as folder:
        source = (
            f"{C.prologue}void f(float *x) {{\n#pragma omp simd\nfor (int i = 0; i < 64; ++i) x[i] = tanhf(x[i]);\n}}\n"
        )
        try:
            compiled_c(source, Path(folder), (*C.fast, *VECTOR_MATH))
        except (OSError, subprocess.CalledProcessError):
            return C.fast
    return (*C.fast, *VECTOR_MATH)


def opencl_devices() -> list[Any]:
    """The devices, or none without pyopencl or a driver."""
    try:
        import pyopencl as cl

        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except Exception:
        return []


def targets() -> list[Any]:
    """What tests run on: (dialect, device, or for C flags) with a readable name."""
    made = [
        pytest.param((C, None), id="C", marks=needs_compiler),
        pytest.param((CUDA_C, None), id="CUDA C", marks=needs_cuda_on_host),
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
    shared: bool = False,
) -> None:
    """Run *source*; *arrays* are whole memories, the results' changed in place, all the same one if it is *shared*."""
    dialect, device = target
    size = re.search(r"long at\[(\d+)\]", source.text)
    assert size, "the kernel has no geometry"
    read = {int(place) for place in re.findall(r"g\.at\[(\d+)\]", source.text)}
    assert max(read) < int(size[1]) == len(geometry) // 8, "the kernel reads beyond its geometry"
    values = [np.dtype(dtype.name).type(number) for dtype, number in zip(source.scalars, numbers, strict=True)]
    if dialect is OPENCL_C:
        _launch_opencl(source, device, arrays, values, geometry, instances, shared)
    elif dialect is CUDA_C:
        _launch_cuda(source, arrays, values, geometry, instances)
    else:
        call_entry(
            compiled_c(source.text, folder, device or ("-O1",))[source.entry], arrays, values, geometry, instances
        )


_LIBRARIES: dict[Any, ctypes.CDLL] = {}


def compiled_c(text: str, folder: Path, flags: Sequence[str] = ("-O1",)) -> ctypes.CDLL:
    """*text* as a library of the host."""
    if (text, flags) in _LIBRARIES:
        return _LIBRARIES[text, flags]
    number = len(list(folder.glob("*.so")))  # a library that is loaded must not be overwritten
    path, library = folder / f"kernel{number}.c", folder / f"kernel{number}.so"
    path.write_text(text)
    assert CC is not None
    warnings = ["-Wall", "-Werror=implicit", "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unknown-pragmas"]
    subprocess.run([CC, *C.flags, *warnings, "-shared", "-fPIC", "-o", library, path, *flags, "-lm"], check=True)
    return _LIBRARIES.setdefault((text, flags), ctypes.CDLL(str(library)))


def _pointers(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * max(1, len(arrays)))(*[array.ctypes.data for array in arrays])


def _launch_cuda(source: Any, arrays: Any, values: Any, geometry: bytes, instances: int) -> None:
    """On every schedule, which must give the same."""
    threads = source.group if source.group > 1 else min(32, instances)
    given = [*(array.ctypes.data for array in arrays), *(np.array(value).tobytes() for value in values), geometry]
    before, found = [array.copy() for array in arrays], []
    for schedule in polyad_cuda_on_host.SCHEDULES:
        for array, content in zip(arrays, before, strict=True):
            array[...] = content
        polyad_cuda_on_host.build(source.text).launch(
            source.name, (-(-instances // threads),), (threads,), given, schedule=schedule
        )
        found.append([array.tobytes() for array in arrays])
    assert all(each == found[0] for each in found), "the order of threads changes the result"


def call_entry(entry: Any, arrays: Any, values: Any, geometry: bytes, workers: int) -> None:
    """Call the entry point of a C kernel for each of *workers*, the last first: they may come in any order."""
    numbers = [np.array(value) for value in values]
    entry.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_longlong] * 2
    for worker in reversed(range(workers)):
        entry(_pointers(arrays), _pointers(numbers), geometry, worker, workers)


@functools.cache
def _context(device: Any) -> Any:
    import pyopencl as cl

    return cl.Context([device])


@functools.cache
def _program(device: Any, text: str) -> tuple[Any, Any]:
    import pyopencl as cl

    return _context(device), cl.Program(_context(device), text).build(["-w"])


def _launch_opencl(
    source: Any, device: Any, arrays: Any, values: Any, geometry: bytes, instances: int, shared: bool
) -> None:
    import pyopencl as cl

    context, program = _program(device, source.text)
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [
        cl.Buffer(context, flags, hostbuf=array) if array.size else cl.Buffer(context, cl.mem_flags.READ_WRITE, 8)
        for array in arrays[: 1 if shared else None]
    ]
    buffers += [buffers[0]] * (len(arrays) - len(buffers))
    kernel = cl.Kernel(program, source.name)
    kernel.set_args(*buffers, *values, geometry)
    cl.enqueue_nd_range_kernel(queue, kernel, (-(-instances // source.group) * source.group,), (source.group,))
    for array, buffer in zip(arrays, buffers, strict=True):
        if array.size:
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
    lanes, pack = lanes_for(expressions, dialect, device), pack_for(expressions, dialect, device)
    strides = [*(strides_of(out) for out in outs), *spread]
    plan = codegen.elementwise_plan(lanes, device, shape, strides, offsets, len(outs), pack)
    if plan.instances:
        source = codegen.elementwise(expressions, dialect, device, plan.rank, plan.inner, plan.stream, plan.pack)
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
    from polyad.codegen.accumulators import unroll_for
    from polyad.codegen.elementwise import lanes_for
    from polyad.interop.numpy import numpy_dtype

    dialect, device = target[0], description_for(target[0])
    result = result or expression.dtype
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    kept = tuple(size for dim, size in enumerate(shape) if dim not in dims)
    spread = [codegen.broadcast_strides(array.shape, strides_of(array), shape) for array in arrays]
    memories, offsets = zip(*[memory_of(array) for array in arrays], strict=True)
    lanes = lanes_for([expression, codegen.cast(expression, result)], dialect, device)
    out = np.zeros(kept, numpy_dtype(result))
    plan = codegen.reduction_plan(
        lanes, device, shape, dims, spread, offsets, result=strides_of(out), unroll=unroll_for(expression),
        pack=pack_for([expression], dialect, device),
    )  # fmt: skip
    written = expression.dtype if plan.splits > 1 else result
    source = codegen.reduction(expression, reducer, dialect, device, result=written, variant=plan.variant)
    if plan.splits > 1:
        out = np.zeros((plan.splits, *kept), numpy_dtype(written))
    launch(source, target, folder, [out, *memories], (), plan.geometry, plan.instances)
    if plan.splits == 1:
        return out
    return run_reduction(codegen.Operand(0, written), reducer, [out], (0,), target, folder, result)


def run_rowwise(
    stages: Sequence[Stage],
    elements: Sequence[codegen.Expression],
    rows: Sequence[codegen.Expression],
    arrays: Sequence[Any],
    dims: tuple[int, ...],
    target: Any,
    folder: Path,
    numbers: Sequence[Any] = (),
    outs: Sequence[np.ndarray] | None = None,
    shared: bool = False,
    change: Any = None,
    description: DeviceDescription | None = None,
) -> list[np.ndarray]:
    """What *elements* and *rows* give, of *arrays* that broadcast; rows keep the reduced *dims* as 1.

    A place is given as strides. The results lie in the memory of the operands if it is *shared*; *change* is done to
    the source's text.
    """
    from polyad.interop.numpy import numpy_dtype

    dialect, device = target[0], description or description_for(target[0])
    held = [array for array in arrays if isinstance(array, np.ndarray)]
    shape = np.broadcast_shapes(*(array.shape for array in held))
    kept = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    if outs is None:
        outs = [np.zeros(shape, numpy_dtype(each.dtype)) for each in elements]
        outs += [np.zeros(kept, numpy_dtype(each.dtype)) for each in rows]
    spread = [
        codegen.broadcast_strides(array.shape, strides_of(array), shape) if isinstance(array, np.ndarray) else array
        for array in (*outs, *arrays)
    ]
    offsets = [memory_of(array)[1] if isinstance(array, np.ndarray) else 0 for array in (*outs, *arrays)]
    memories = [memory_of(array)[0] for array in (*outs, *held)]
    lanes = codegen.rowwise_lanes(stages, elements, rows, dialect, device)
    plan = codegen.rowwise_plan(
        lanes, device, shape, dims, spread, offsets, elements=len(elements), rows=len(rows),
        unroll=codegen.rowwise_unroll(stages), pack=codegen.rowwise_pack(stages, elements, rows, dialect, device),
    )  # fmt: skip
    if not plan.instances:
        return list(outs)
    source = codegen.rowwise(stages, elements, rows, dialect, device, variant=plan.variant)
    group = plan.variant.group
    assert (source.lanes, source.group, plan.instances % group) == (lanes, group, 0)
    if change is not None:
        changed = change(source.text)
        assert changed != source.text, "nothing was changed"
        source = dataclasses.replace(source, text=changed)
    launch(source, target, folder, memories, numbers, plan.geometry, plan.instances, shared)
    return list(outs)
