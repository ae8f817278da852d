"""The NumPy backend: device "cpu".

plugin.py      hooks: who it is, how to create it
backend.py     tier 0: memory, copies, fill
kernels/       tier 1 and 2: kernels by family, under the family names of ``polyad.ops``
"""
