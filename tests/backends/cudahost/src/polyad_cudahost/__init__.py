"""Device "cudahost": the kernels that core generates for GPUs, as CUDA C, on the host.

plugin.py    hooks
device.py    memory, and launches on three schedules
"""
