"""Compile CUDA sources by NVRTC for several architectures, without a GPU; errors, spills and many registers fail.

    python compile_sources.py FOLDER [--architectures 75 80 90 100 120] [--registers 128] [--kept FILE] [--jobs 2]

FOLDER holds ``*.cu``. Needs cupy and the wheels of NVRTC, 12.8 or later; no driver. What was compiled once is kept in
FILE, by source, options and compiler.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ARCHITECTURES = (75, 80, 90, 100, 120)
REGISTERS = 128
"""Above, fewer than 512 of a multiprocessor's 2048 threads run at once, and memory is not kept busy."""

OPTIONS = ("-std=c++17", "-default-device", "--fmad=false", "--ptxas-options=-v")
"""The backend's, and what makes the log tell of registers."""

_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def compiled(architecture: int, path: Path) -> dict[str, Any]:
    """What NVRTC says of a source: its log on errors, else registers and bytes of spills and stack, the most of all
    kernels in it.
    """
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(path.read_text(), path.name, (), ())
    try:
        nvrtc.compileProgram(program, (*OPTIONS, f"-arch=sm_{architecture}"))
        size = len(nvrtc.getCUBIN(program))
        log = nvrtc.getProgramLog(program)
    except nvrtc.NVRTCError as error:
        return {"error": nvrtc.getProgramLog(program) or str(error)}
    finally:
        nvrtc.destroyProgram(program)
    frames = [[int(number) for number in found] for found in _SPILLED.findall(log)]
    return {
        "registers": max(map(int, _USED.findall(log)), default=0),
        "stack": max((frame[0] for frame in frames), default=0),
        "spills": max((frame[1] + frame[2] for frame in frames), default=0),
        "bytes": size,
    }


def _key(architecture: int, path: Path) -> str:
    from cupy.cuda import nvrtc

    said = f"{path.read_text()}\0{OPTIONS}\0{architecture}\0{nvrtc.getVersion()}"
    return hashlib.sha256(said.encode()).hexdigest()


def main() -> int:
    """The number of kernels that are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--architectures", type=int, nargs="+", default=ARCHITECTURES)
    parser.add_argument("--registers", type=int, default=REGISTERS, help="the most that a kernel may use")
    parser.add_argument("--kept", type=Path, default=Path("compiled.json"), help="what earlier runs found")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    kept: dict[str, Any] = json.loads(given.kept.read_text()) if given.kept.exists() else {}
    paths = sorted(given.folder.glob("*.cu"))
    if not paths:
        parser.error(f"there is no source in {given.folder}")
    wrong = 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for architecture in given.architectures:
            keys = {path: _key(architecture, path) for path in paths}
            new = [path for path in paths if keys[path] not in kept]
            for begin in range(0, len(new), 256):
                part = new[begin : begin + 256]
                for path, found in zip(part, pool.map(partial(compiled, architecture), part), strict=True):
                    kept[keys[path]] = found
                given.kept.write_text(json.dumps(kept))
            results = {path: kept[key] for path, key in keys.items()}
            for path, found in results.items():
                if "error" in found or found["spills"] or found["registers"] > given.registers:
                    wrong += 1
                    print(f"sm_{architecture} {path.name} {path.open().readline().strip()}: {found}")
            right = [found for found in results.values() if "error" not in found]
            used = sorted(found["registers"] for found in right)
            print(
                f"sm_{architecture}: {len(results)} sources, {len(results) - len(right)} errors, "
                f"{sum(found['spills'] > 0 for found in right)} spill, registers: median "
                f"{used[len(used) // 2] if used else 0}, most {used[-1] if used else 0}",
                flush=True,
            )
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
