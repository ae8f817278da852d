"""`cupy.cuda.nvtx`: what the profiler would be told is noted in `cupy.simulation.told`."""

from __future__ import annotations

import itertools

from ..simulation import told

_numbers = itertools.count(1)


def _text(message: str) -> str:
    return message.encode().decode()


def RangePush(message, id_color=-1):
    told.append(("push", _text(message)))


def RangePop():
    told.append(("pop",))


def RangeStart(message, color):
    number = next(_numbers)
    told.append(("start", _text(message), number))
    return number


def RangeEnd(range_id):
    told.append(("end", int(range_id)))


def Mark(message, id_color=-1):
    told.append(("mark", _text(message)))
