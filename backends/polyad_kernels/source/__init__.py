"""OpenCL C in pieces, from which the families' kernels are built.

elements.py   what an element is in memory, and what is computed with it
walking.py    loops over strided operands
keys.py       unsigned numbers in the order of elements
pairs.py      stable sorts of (key, place)
"""
