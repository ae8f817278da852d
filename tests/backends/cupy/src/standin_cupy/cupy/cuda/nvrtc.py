"""`cupy.cuda.nvrtc`: what it compiles is C++ for the host."""

from __future__ import annotations

import hashlib
import itertools
import re
from pathlib import Path

from polyad_cuda_on_host import BuildError, build

from .. import simulation

_programs: dict[int, list] = {}
_numbers = itertools.count(1)
MAGIC = b"stand-in\0"


class NVRTCError(RuntimeError):
    """An error of the compiler."""


def built(source):
    """*source* as kernels of the host; None where sources are collected."""
    if not simulation.SOURCES:
        return build(source)
    path = Path(simulation.SOURCES, f"{hashlib.sha256(source.encode()).hexdigest()[:24]}.cu")
    if not path.exists():
        path.write_text(source)
    return None


def getVersion():
    simulation.wanted("libnvrtc.so.12")
    return (12, 9)


def createProgram(source, name, headers, include_names):
    number = next(_numbers)
    _programs[number] = [source, b"", ""]
    return number


def compileProgram(number, options):
    if not any(re.fullmatch(r"-arch=sm_\d+", option) for option in options):
        raise NVRTCError("NVRTC_ERROR_INVALID_OPTION: the stand-in wants -arch=sm_..")
    program = _programs[number]
    try:
        built(program[0])
    except BuildError as error:
        program[2] = str(error)
        raise NVRTCError("NVRTC_ERROR_COMPILATION (6)") from None
    program[1] = MAGIC + program[0].encode()


def getCUBIN(number):
    return _programs[number][1]


def getProgramLog(number):
    return _programs[number][2]


def destroyProgram(number):
    del _programs[number]
