"""`cupy.cuda.runtime`."""

from __future__ import annotations

import functools

from .. import simulation

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice = range(4)
memoryTypeUnregistered, memoryTypeHost, memoryTypeDevice = range(3)


class CUDARuntimeError(RuntimeError):
    """An error of the runtime."""

    def __init__(self, name: str) -> None:
        super().__init__(f"cudaError{name}: simulated")
        self.status = 999


def failing(function):
    """*function*, whose failures are the runtime's errors."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except simulation.Failure as error:
            raise CUDARuntimeError(str(error)) from None

    return wrapped


@failing
def getDeviceCount():
    if not simulation.COUNT:
        raise simulation.Failure("InsufficientDriver")
    return simulation.COUNT


@failing
def setDevice(number):
    simulation.select(number)


@failing
def getDevice():
    return simulation.current()


def driverGetVersion():
    return 12090


def runtimeGetVersion():
    return 12090


def getDeviceProperties(number):
    return {
        "name": b"Stand-in", "totalGlobalMem": simulation.MEMORY, "major": 9, "minor": 0,
        "multiProcessorCount": simulation.MULTIPROCESSORS,
        "maxThreadsPerBlock": 1024, "sharedMemPerBlock": 49152, "sharedMemPerMultiprocessor": 233472, "warpSize": 32,
        "maxThreadsPerMultiProcessor": 2048, "regsPerMultiprocessor": 65536, "l2CacheSize": 1 << 22,
        "pciBusID": number, "pciDeviceID": 0, "pciDomainID": 0, "integrated": 0, "isMultiGpuBoard": 0,
        "clockRate": 1000000, "memoryClockRate": 1000000, "memoryBusWidth": 512, "uuid": bytes(16),
    }  # fmt: skip


@failing
def memGetInfo():
    device = simulation.devices[simulation.current()]
    device.check()
    used = device.used
    return simulation.MEMORY - used, simulation.MEMORY


def deviceCanAccessPeer(number, other):
    return number != other


@failing
def deviceSynchronize():
    simulation.devices[simulation.current()].finish()


@failing
def memcpyAsync(target, source, size, kind, stream):
    queue = simulation.queue_of(stream)
    if kind == memcpyHostToDevice:
        to = simulation.owner_of(target, size)
        at = target - to.address
        data = simulation.host(source, size)
        if not _pinned(source):
            data = data.copy()
        queue.put(lambda: to.contents.__setitem__(slice(at, at + size), data))
    elif kind == memcpyDeviceToHost:
        of = simulation.owner_of(source, size)
        at, data = source - of.address, simulation.host(target, size)
        queue.put(lambda: data.__setitem__(slice(None), of.contents[at : at + size]))
    elif kind == memcpyDeviceToDevice:
        to, of = simulation.owner_of(target, size), simulation.owner_of(source, size)
        begin, at = target - to.address, source - of.address
        if to is of and begin < at + size and at < begin + size:
            raise simulation.Failure("InvalidValue")
        queue.put(lambda: to.contents.__setitem__(slice(begin, begin + size), of.contents[at : at + size]))
    else:
        raise simulation.Failure("InvalidMemcpyDirection")


def profilerStart():
    simulation.told.append(("collect", True))


def profilerStop():
    simulation.told.append(("collect", False))


class PointerAttributes:
    """What the driver knows of an address."""

    def __init__(self, device, devicePointer, hostPointer, type):
        self.device, self.devicePointer, self.hostPointer, self.type = device, devicePointer, hostPointer, type


@failing
def pointerGetAttributes(ptr):
    simulation.devices[simulation.current()].check()
    for device in simulation.devices:
        found = device.owner(ptr)
        if found is not None and found.live:
            return PointerAttributes(device.number, ptr, 0, memoryTypeDevice)
    if _pinned(ptr):
        return PointerAttributes(simulation.current(), ptr, ptr, memoryTypeHost)
    return PointerAttributes(-2, 0, ptr, memoryTypeUnregistered)


def _pinned(address):
    from .pinned_memory import pinned

    return any(begin <= address < begin + size for begin, size in pinned.items())


@failing
def memsetAsync(address, value, size, stream):
    to = simulation.owner_of(address, size)
    at = address - to.address
    simulation.queue_of(stream).put(lambda: to.contents.__setitem__(slice(at, at + size), value))
