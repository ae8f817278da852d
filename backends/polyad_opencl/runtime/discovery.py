"""Which OpenCL devices there are, each once, in an order that does not change: GPUs, then accelerators, then CPUs.

A loader may list one driver twice (a system's PoCL and a wheel's): equal names and versions count once. Emulators of
hardware that is not there (Intel's FPGA emulation) are left out, and so are devices whose compiler lacks a program that
it calls: PoCL ends the process when it finds that out.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

# `runtime.programs` keeps binaries, at the right moment; PyOpenCL, which reads this when it is imported, need not.
os.environ.setdefault("PYOPENCL_NO_CACHE", "1")

import pyopencl as cl

from .folder import pocl_cache, pocl_in_a_folder_of_its_own

# A driver's remarks about code that it compiles; what it refuses is an error with the whole log.
warnings.filterwarnings("ignore", category=cl.CompilerWarning)

POCL = "Portable Computing Language"

_ORDER = (cl.device_type.GPU, cl.device_type.ACCELERATOR, cl.device_type.CPU)


def _rank(handle: cl.Device) -> int:
    return next((rank for rank, type_ in enumerate(_ORDER) if handle.type & type_), len(_ORDER))


@cache
def devices() -> tuple[cl.Device, ...]:
    """The devices of all platforms."""
    found: dict[tuple[str, ...], list[cl.Device]] = {}
    with pocl_in_a_folder_of_its_own():
        for platform in _platforms():
            try:
                listed = platform.get_devices()
            except cl.Error:
                continue  # CL_DEVICE_NOT_FOUND: the platform is installed and has none
            for handle in listed:
                if "FPGA Emulation" not in handle.name and handle.available and not missing_tool(handle):
                    key = (platform.name, handle.name, handle.driver_version)
                    found.setdefault(key, []).append(handle)
    distinct = [handle for handles in found.values() for handle in _each_once(handles)]
    return tuple(sorted(distinct, key=_rank))


def _each_once(handles: list[cl.Device]) -> list[cl.Device]:
    """*handles*, equal in name and version, of one platform alone and each once: two equal cards stay two."""
    first = handles[0].platform
    return list(dict.fromkeys(handle for handle in handles if handle.platform == first))


def _platforms() -> list[cl.Platform]:
    try:
        return list(cl.get_platforms())
    except cl.Error:
        return []  # CL_PLATFORM_NOT_FOUND_KHR


def why_none() -> str:
    """Why `devices` is empty, and what to do."""
    platforms = _platforms()
    if not platforms:
        vendors = os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OPENCL_VENDOR_PATH")
        place = f" (looked in {vendors}, by the environment)" if vendors else ""
        return (
            f"no OpenCL platform is installed{place}; pip install pocl-binary-distribution brings one for the CPU, "
            "a GPU's driver brings its own"
        )
    return "; ".join(map(_why_it_has_none, platforms))


def _why_it_has_none(platform: cl.Platform) -> str:
    try:
        lacking = next(filter(None, map(missing_tool, platform.get_devices())), "")
    except cl.Error:
        lacking = ""
    return lacking or ": ".join(filter(None, (f"{platform.name} has no device", unwritable_cache(platform))))


def is_cpu(index: int) -> bool:
    """Whether a device is this machine's processor."""
    return bool(devices()[index].type & cl.device_type.CPU)


def unwritable_cache(platform: cl.Platform) -> str:
    """That PoCL cannot keep what it compiles, without which it can do nothing, and what to do; empty if it can."""
    folder = pocl_cache()
    if platform.name != POCL or _writable(folder):
        return ""
    return f"PoCL cannot write to its cache {folder}: set POCL_CACHE_DIR to a folder that can be written"


def _writable(folder: Path) -> bool:
    """Whether files can be written there. Permissions do not tell: a file system may be full or read-only."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"polyad")
    except OSError:
        return False
    return True


def missing_tool(handle: cl.Device) -> str:
    """What the device's compiler needs and does not find; empty if nothing."""
    if handle.platform.name == POCL and handle.type & cl.device_type.CPU and shutil.which("ld") is None:
        return "PoCL links kernels with the program ld, which is not on PATH: install binutils (apt install binutils)"
    return ""
