"""OpenCL C in pieces, from which the families' kernels are built.

elements.py   what an element is in memory, and what is computed with it
walking.py    loops over strided operands
tiles.py      loading, adding up and storing in registers
keys.py       unsigned numbers in the order of elements
pairs.py      stable sorts of (key, place)
generated.py  from an expression of `polyad.codegen` to launches
"""
