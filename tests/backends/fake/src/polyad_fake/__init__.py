"""The fake device: everything that a real accelerator may do to a program, without the accelerator.

    plugin.py    hooks: who it is, what the environment makes of it
    backend.py   tier 0
    kernels.py   tier 1: every primitive, and nothing else
    device.py    one device: its memory, its limit, its faults
    memory.py    what is inside the memory, and the handles that programs hold
    queue.py     a stream: the thread that does its work
    order.py     which work comes before which, and races
    streams.py   several streams, and events between them
    pinning.py   host memory that the device copies from and to, and transfers under way

Programs hold handles, which know an address and a layout and cannot be read. Work is put in a queue and done later, in
order, by another thread; `to_host` and `synchronize` wait for it and raise what went wrong in it. A device has as many
queues as a program creates streams; work of two that touches the same bytes, with no event between, is a failure. A
command names
memory by its address, as a launch on a real device does: one that reads memory freed before it, or memory that nobody
has written, fails. New memory and freed memory are filled with patterns.

Faults are asked for from tests:

    device = registry.get("fake").devices[0]
    device.limit = 1 << 20        # bytes
    device.fail_allocation(3)     # the third from now
    device.lose("unplugged")      # from now on every call on it raises
    with device.paused(): ...     # nothing is done meanwhile; device.streams[1].paused() for one stream

and from the environment, when the backend is created: POLYAD_FAKE_FP64=0 and POLYAD_FAKE_FP16=0 (a device without these
dtypes), POLYAD_FAKE_MEMORY (bytes a device), POLYAD_FAKE_DEVICES (how many).
"""
