"""Devices and what runs on them; nothing here knows an op.

The parts:

discovery.py  platforms and devices, each once, and why there are none
device.py     a device in use: context, queue, launches, failures, what a kernel's checks found
memory.py     the caching allocator and its account
transfers.py  bytes between the host and a device: plain, mapped, or staged in pinned memory
programs.py   source -> compiled program, kept in memory and on disk
objects.py    what of a program is kept on disk
tuning_cache.py  what was measured to be best, kept on disk
"""
