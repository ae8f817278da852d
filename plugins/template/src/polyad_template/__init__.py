"""Device "template": memory in byte arrays, some fifty kernels, the rest on the host.

plugin.py    who the backend is; cheap to import
backend.py   memory: allocate, copy, fill (tier 0)
kernels.py   what is computed on the device (tier 1)
"""
