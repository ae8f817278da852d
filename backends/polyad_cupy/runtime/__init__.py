"""What runs on a GPU and how: everything that calls CuPy's driver interface is here.

discovery.py  which devices there are, or why there are none
device.py     launches, transfers, waiting, failures
memory.py     the memory pool and its account
programs.py   compiling by NVRTC, and what is kept on disk
cupy_arrays.py  arrays as CuPy's functions want them, and back
generated.py  `polyad.backend.runtime` on a device
recording.py  capturing work into graphs
queues.py     `polyad.backend.streams` on a device
"""
