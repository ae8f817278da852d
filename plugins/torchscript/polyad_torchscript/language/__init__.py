"""Programs: the typed tree, where it is from, and its text.

tree.py       the typed tree
source.py     places in sources, and errors that show them
printing.py   the tree as TorchScript's text
"""
