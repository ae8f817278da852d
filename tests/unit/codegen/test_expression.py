"""Expressions as keys: what is equal, and how long it takes to say so."""

import polyad
from polyad.codegen import Operand
from polyad.codegen.expression import leaves_of, substituted


def test_a_graph_of_shared_nodes_is_one_key():
    x, y = Operand(0, polyad.float32), Operand(1, polyad.float32)

    def doubled(times):
        found = x
        for _ in range(times):
            found = found + found
        return found

    # Along every path there are 2**100 nodes.
    assert doubled(100) == doubled(100)
    assert doubled(100) != doubled(99)
    assert leaves_of(doubled(100)) == (x,)
    assert leaves_of(*substituted([doubled(100)], {x: y})) == (y,)
