"""`cupy.cuda.graph`."""

from __future__ import annotations

from .. import simulation
from .runtime import failing


class Graph:
    """Work that was noted, to be put off as often as it is wanted."""

    def __init__(self, capture):
        self._capture = capture

    @failing
    def launch(self, stream=None):
        from .stream import get_current_stream

        queue = (get_current_stream() if stream is None else stream)._queue()
        device = self._capture.origin.device
        if queue.device is not device:
            raise simulation.Failure("InvalidDevice")
        if any(memory.address not in device.blocks for memory in self._capture.touched):
            device.broken = "IllegalAddress"
            raise simulation.Failure("IllegalAddress")
        for work in self._capture.work:
            queue.put(work)
