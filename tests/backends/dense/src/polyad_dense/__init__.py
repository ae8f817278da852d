"""Device "dense": arrays that are whole, row-major and never written to, as those of a tensor compiler are.

plugin.py    hooks
backend.py   the three methods that `polyad.backend.dense` asks for, and some kernels
"""
