"""`cupy.cuda.nvtx`: what the profiler would be told is noted in `cupy.simulation.told`."""

from __future__ import annotations

import itertools

from .. import simulation

_numbers = itertools.count(1)


def _text(message: str) -> str:
    return message.encode().decode()


def RangePush(message, id_color=-1):
    simulation.told.append(("push", _text(message)))


def RangePop():
    simulation.told.append(("pop",))


def RangeStart(message, color):
    number = next(_numbers)
    simulation.told.append(("start", _text(message), number))
    return number


def RangeEnd(range_id):
    simulation.told.append(("end", int(range_id)))


def Mark(message, id_color=-1):
    simulation.told.append(("mark", _text(message)))
