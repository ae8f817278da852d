"""`cupy.cuda.driver`: modules and launches."""

from __future__ import annotations

import ctypes
import functools
import itertools

from polyad_cuda_on_host import SCHEDULES as _SCHEDULES, KernelFault, LaunchRefused

from .. import simulation
from .nvrtc import MAGIC, built

_modules: dict[int, tuple] = {}
_functions: dict[int, tuple] = {}
_numbers = itertools.count(0x7000)
launches = itertools.count()
_POINTER, _SIZE, _END = 1, 2, 0


class CUDADriverError(RuntimeError):
    """An error of the driver."""


def failing(function):
    """*function*, whose failures are the driver's errors."""

    @functools.wraps(function)
    def wrapped(*args):
        try:
            return function(*args)
        except simulation.Failure as error:
            raise CUDADriverError(f"CUDA_ERROR_{error}: simulated") from None

    return wrapped


@failing
def moduleLoadData(image):
    if not image.startswith(MAGIC):
        raise simulation.Failure("INVALID_IMAGE")
    number = next(_numbers)
    _modules[number] = built(image[len(MAGIC) :].decode()), simulation.current()
    return number


@failing
def moduleGetFunction(module, name):
    program, device = _modules[module]
    if program is not None and name not in program.kernels:
        raise simulation.Failure("NOT_FOUND")
    number = next(_numbers)
    _functions[number] = program, name, device
    return number


@failing
def launchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, kernel_params, extra):
    program, name, device = _functions[function]
    if program is None:
        return
    if device != simulation.current():
        raise simulation.Failure("INVALID_CONTEXT")
    queue = simulation.queue_of(stream)
    if kernel_params or not extra:
        raise simulation.Failure("INVALID_VALUE")
    words = (ctypes.c_uint64 * 5).from_address(extra)
    if list(words)[0::2] != [_POINTER, _SIZE, _END]:
        raise simulation.Failure("INVALID_VALUE")
    given = ctypes.string_at(words[1], ctypes.c_size_t.from_address(words[3]).value)
    arguments, at = [], 0
    for parameter in program.kernels[name]:
        at += -at % min(8, parameter.size)
        value = given[at : at + parameter.size]
        at += parameter.size
        if len(value) != parameter.size:
            raise simulation.Failure("INVALID_VALUE")
        if parameter.is_pointer:
            address = int.from_bytes(value, "little")
            if address:
                simulation.owner_of(address, 1)
            arguments.append(address)
        else:
            arguments.append(value)
    if at != len(given):
        raise simulation.Failure("INVALID_VALUE")
    grid, block = (gx, gy, gz), (bx, by, bz)
    try:
        program._check(name, grid, block, shared)
    except LaunchRefused:
        raise simulation.Failure("INVALID_VALUE") from None
    schedule = _SCHEDULES[next(launches) % len(_SCHEDULES)]

    def work():
        try:
            program.launch(name, grid, block, arguments, shared=shared, schedule=schedule)
        except KernelFault as error:
            raise simulation.Failure(f"LAUNCH_FAILED ({error})") from None

    queue.put(work)
