"""Ops under PyTorch's names: what ``__torch_dispatch__`` is told, and what ``polyad.ops.aten`` shows.

overloads.py     `OpOverload`: an op of PyTorch's to call, to compare and to use as a key
table.py         which of PyTorch's overloads a call of an op of polyad's is
dispatching.py   the modes that give calls to ``__torch_dispatch__``, of a mode or of a class

polyad's ops are what its modes see. Where one does what an op of PyTorch's does, it is told under that name; any other
is told as ``polyad.ops.polyad.<name>``, so nothing is missed.
"""

from __future__ import annotations
