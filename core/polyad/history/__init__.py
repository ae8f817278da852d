"""The history that a tensor carries: the calls that computed it, for backward to go back through.

node.py       the graph: a node for each op call, and recording it
hooks.py      functions that see gradients on their way, kept at the nodes
grad_mode.py  whether calls are recorded: no_grad and its kin

Dispatch records histories as it carries out calls, and `polyad.autograd` uses them.
"""
