"""The history that a tensor carries: which calls made it, for backward to go back through.

node.py       the graph: one node an op call, and recording it
hooks.py      functions that see gradients on their way, kept at the nodes
grad_mode.py  whether calls are recorded: no_grad and its kin

Histories are made by dispatch as it carries out calls, and used by `polyad.autograd`.
"""
