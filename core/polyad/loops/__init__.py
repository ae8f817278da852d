"""Loops: what a kernel does, between expressions and source text.

    nodes.py        loops, loads, stores, accumulators: a kernel's statements as plain data
    verify.py       what must hold of them
    elements.py     how results at each place are computed, and those of many arrays in a single launch
    reductions.py   how many elements are made few
    rows.py         how several stages go over the same rows
    groups.py       how work items of a GPU share a row

A schedule (`elements.py` and on) makes loops of expressions for a class of devices: CPUs walk neighbouring units in
vectors, work items of GPUs take units in turn or share them. `polyad.codegen.printer` writes loops in any dialect.
"""

# Expressions, of which loops are made, are part of the package that prints loops: it goes first.
from .. import codegen as codegen
