"""Programs as graphs with blocks, to look at and to count in: ``scripted.graph``.

graph.py      `Graph`, `Block`, `Node`, `Value`, under PyTorch's names, and how they print
exits.py      the tree without return, break and continue, which a graph has not
lowering.py   a graph of a checked function
"""
