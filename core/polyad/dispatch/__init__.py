"""From a call to a kernel.

op.py         declaring ops: @primitive, @composite, @view, @function, gradient; and forward.py, their forward rules
declared.py   what is declared, and catalogue.py, where to look it up by name
caller.py     the generated function of each op: the path that every call takes
plan.py       what is decided once a call signature, and how a kernel's failure is explained
abstract.py   device "meta": kernels without data, made from the declarations
promotion.py  dtype rules
views.py      carrying out view ops, and windows.py, what goes back through views of complex numbers
inplace.py    writing into tensors
modes.py      objects that see every op before it runs
wrapped.py    tensors of a transform such as vmap, and levels.py, how the transform carries out what is done with them
"""

from __future__ import annotations

from ..base import provided

provided.abstract_backend.fill_later(f"{__name__}.abstract", "AbstractBackend")
