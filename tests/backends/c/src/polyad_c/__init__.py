"""Device "c": memory of the host, and the kernels that core generates, as C for the machine's compiler.

It has no kernel of its own. It shows that the runtime protocol is enough, and how little a device with a C-like
compiler has to bring.

plugin.py    hooks
backend.py   memory: the ten methods that every backend must have
runtime.py   compiling and running generated C: the runtime protocol
"""
