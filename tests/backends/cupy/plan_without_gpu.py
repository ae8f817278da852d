"""Ask cuDNN itself for plans of the works that `polyad_cupy` gives it, for GPUs that are not there.

    python plan_without_gpu.py

Run it where CuPy, cuDNN, its frontend and NVIDIA's runtime and compiler packages are installed, and gcc is. cuDNN plans
for a device that is described to it. What the frontend and cuDNN look up of driver and runtime before that is answered
by two libraries of a few lines, which stand before the real ones; where there is a driver, they are not needed, and
harm nothing. Nothing is run: whether the plans compute what they should only a GPU can tell.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

_RUNTIME = """
#include <driver_types.h>
#include <stdlib.h>
int cudaGetDevice(int *at) { *at = 0; return 0; }
int cudaGetDeviceCount(int *count) { *count = 1; return 0; }
int cudaDriverGetVersion(int *version) { *version = 12090; return 0; }
int cudaRuntimeGetVersion(int *version) { *version = 12090; return 0; }
int cudaGetLastError(void) { return 0; }
int cudaDeviceGetAttribute(int *value, int which, int at) { *value = 0; return 0; }
int cudaGetDeviceProperties(struct cudaDeviceProp *told, int at)
{
    const int version = atoi(getenv("POLYAD_DEVICE_VERSION"));
    told->name[0] = 0;  // the caller's structure may be that of an older CUDA, and end before this one
    told->major = version / 100;
    told->minor = version % 100 / 10;
    return 0;
}
const char *cudaGetErrorString(int error) { return "there is no GPU"; }
const char *cudaGetErrorName(int error) { return "there is no GPU"; }
"""

_COMMON = {
    "maxBlockSize": [1024, 1024, 64], "maxGridSize": [2147483647, 65535, 65535], "regsPerBlock": 65536, "warpSize": 32,
    "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
    "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "memoryBusWidth": 5120,
    "l2CacheSize": 52428800, "cudaDeviceId": 0, "driverVer": 12090, "totalGlobalMem": 80 << 30,
}  # fmt: skip

GPUS = {
    "H100": {"deviceVer": 900, "multiProcessorCount": 132, "maxSharedMemoryPerBlockOptin": 232448},
    "A100": {"deviceVer": 800, "multiProcessorCount": 108, "maxSharedMemoryPerBlockOptin": 166912},
    "T4": {
        "deviceVer": 750, "multiProcessorCount": 40, "maxSharedMemoryPerBlockOptin": 65536, "maxThreadsPerSM": 1024,
        "maxCtasPerSM": 16,
    },
}  # fmt: skip

LACKING = {"T4": ("bfloat16", "attention")}
"""What a GPU has no hardware for."""

RESNET = [
    # channels, results, size, kernel, stride, padding: layers of ResNet-50
    (3, 64, 224, 7, 2, 3), (64, 64, 56, 1, 1, 0), (64, 64, 56, 3, 1, 1), (256, 128, 56, 1, 2, 0),
    (128, 128, 28, 3, 1, 1), (512, 512, 7, 3, 1, 1), (2048, 512, 7, 1, 1, 0),
]  # fmt: skip


ATTENTION = [
    # as `cudnn_attention._TRIED`
    (16, 12, 12, 512, 512, 64, 64, True), (4, 16, 16, 2048, 2048, 128, 128, True), (2, 8, 8, 77, 4096, 64, 64, False),
    (1, 32, 8, 1000, 1000, 128, 128, True), (2, 2, 2, 5, 7, 8, 16, False),
]  # fmt: skip


_LOADING = ("cuLibrary", "cuKernel", "cuModule", "cuFunc")
_GIVING = re.compile(r"cu[A-Z]\w+(Load|Get)")
"""The driver's functions that load kernels, and those of them that give something."""


def _libraries(folder: Path) -> None:
    """Build the two libraries."""
    header = Path(_packages("*/include/cuda.h")[0]).read_text()
    names = {"cuGetErrorString", *re.findall(r"CUDAAPI\s+(cu\w+)\s*\(", header)}
    # Kernels that cuDNN compiles for a plan are taken for loaded; all else says that there is no device.
    driver = "".join(
        f"int {name}({'void **made) { *made = &there' if _GIVING.match(name) else 'void) {'}; return 0; }}\n"
        if name.startswith(_LOADING)
        else f"int {name}(void) {{ return 100; }}\n"
        for name in names
    )
    driver = f"static int there;\n{driver}"
    for name, source in (("libcuda.so.1", driver), ("libcudart.so.12", _RUNTIME)):
        includes = [f"-I{place}" for place in _packages("*/include")]
        command = ["gcc", "-shared", "-fPIC", "-w", *includes, f"-Wl,-soname,{name}", "-x", "c", "-"]
        subprocess.run([*command, "-o", str(folder / name)], input=source, text=True, check=True)
    (folder / "libcudart.so.13").touch()  # not to be found: the frontend wants a single runtime


def _packages(pattern: str) -> list[str]:
    places = [*sys.path, *os.environ.get("POLYAD_NVIDIA", "").split(os.pathsep)]
    return [str(found) for place in places if place for found in Path(place).glob(f"nvidia/{pattern}")]


def works():
    """What is asked for, with words for it."""
    yield from _convolutions()
    yield from _attention()


def _attention():
    from polyad.base.dtypes import bfloat16, float16
    from polyad.base.shapes_and_strides import contiguous_strides
    from polyad_cupy.kernels.nn import cudnn_attention as by_cudnn

    for case, dtype, backward in product((*by_cudnn._TRIED, *ATTENTION), (float16, bfloat16), (False, True)):
        batch, heads, shared, rows, columns, features, of_values, causal = case
        operands = []
        for count, positions, each in (
            (heads, rows, features), (shared, columns, features), (shared, columns, of_values),
        ):  # fmt: skip
            # As a layer has them: the heads are parts of the features of a position.
            outer, inner, middle, one = contiguous_strides((batch, positions, count, each))
            operands.append(((batch, count, positions, each), (outer, middle, inner, one)))
        result = (batch, heads, rows, of_values)
        operands += [(result, contiguous_strides(result))] * (1 + backward)
        work = by_cudnn.Attention(dtype, tuple(operands), causal, 0.125)
        yield f"attention {'backward ' * backward}{dtype.name} {case}", work


def _convolutions():
    from polyad.base.dtypes import bfloat16, float16, float32, float64
    from polyad_cupy.kernels.nn import cudnn_convolution as by_cudnn

    shapes = [(*case[:6], last) for case in by_cudnn._TRIED for last in (False, True)]
    shapes += [((32, c, size, size), (k, c, r, r), (s, s), (p, p), (1, 1), 1, True) for c, k, size, r, s, p in RESNET]
    for shape, kernel, stride, padding, dilation, groups, last in shapes:
        windows = zip(shape[2:], kernel[2:], stride, padding, dilation)
        results = (shape[0], kernel[0], *[by_cudnn._places(*each) for each in windows])
        sizes = {
            "conv_fprop": (shape, kernel, results),
            "conv_dgrad": (results, kernel, shape),
            "conv_wgrad": (shape, results, kernel),
        }
        for (operation, each), dtype, tf32 in product(
            sizes.items(), (float16, bfloat16, float32, float64), (False, True)
        ):
            if tf32 and dtype is not float32:
                continue
            for biased in (False, True) if operation == "conv_fprop" else (False,):
                work = by_cudnn.work(operation, dtype, each, last, stride, padding, dilation, tf32, biased)
                words = f"{operation} {dtype.name}{' TF32' * tf32}{' with a bias' * biased}"
                yield f"{words} {shape} by {kernel} groups {groups} last {last}", work


def main() -> int:
    """Print what has no plan."""
    if "POLYAD_STAND_INS" not in os.environ:
        with tempfile.TemporaryDirectory() as name:
            _libraries(Path(name))
            path = os.pathsep.join([name, *sorted({os.path.dirname(p) for p in _packages("*/lib/*.so*")})])
            environment = {**os.environ, "LD_LIBRARY_PATH": path, "POLYAD_STAND_INS": name}
            return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
    import cudnn

    from polyad_cupy.libraries.cudnn import planned

    lacking = False
    for gpu, own in GPUS.items():
        os.environ["POLYAD_DEVICE_VERSION"] = str(own["deviceVer"])
        described = cudnn.create_device_properties(json.dumps({**_COMMON, **own, "deviceName": gpu}))
        without, count = [], 0
        for words, work in works():
            if any(word in words for word in LACKING.get(gpu, ())):
                continue
            count += 1
            try:
                planned(cudnn, work, device_property=described).get_workspace_size()
            except cudnn.cudnnGraphNotSupportedError as error:
                without.append(f"{words}: {' '.join(str(error).split())[:150]}")
        print(f"{gpu}: cuDNN {cudnn.backend_version_string()} has plans for {count - len(without)} of {count} works")
        print("".join(f"    none for {words}\n" for words in without), end="")
        lacking = lacking or bool(without)
    return int(lacking)


if __name__ == "__main__":
    sys.exit(main())
