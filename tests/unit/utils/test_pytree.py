"""Nested containers by PyTorch's names."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import polyad
from polyad.utils import _pytree as pytree

Point = namedtuple("Point", "x y")
TREES = [
    3,
    None,
    [1, (2, [3, {}])],
    {"b": 1, "a": Point(2, [None])},
    OrderedDict(b=1, a=2),
    defaultdict(list, {"x": [1]}),
    deque([1, [2]], maxlen=5),
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_taken_apart_and_built_again(tree) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    built = pytree.tree_unflatten(leaves, spec)
    assert (type(built), built) == (type(tree), tree)
    assert spec == pytree.tree_structure(built)
    assert spec.num_leaves == len(leaves)
    if isinstance(tree, deque):
        assert built.maxlen == 5


class Box:
    def __init__(self, item, label):
        self.item, self.label = item, label


@pytest.fixture(scope="module")
def box():
    pytree.register_pytree_node(Box, lambda box: ([box.item], box.label), lambda items, label: Box(items[0], label))
    return Box({"a": polyad.ones(2)}, "label")


def test_registered_classes(box) -> None:
    doubled = pytree.tree_map(lambda x: x * 2, box)
    assert (doubled.item["a"].tolist(), doubled.label) == ([2, 2], "label")
    assert polyad.vmap(lambda box: pytree.tree_map(lambda x: x + 1, box))(box).item["a"].tolist() == [2, 2]
    assert pytree.tree_structure(box) != pytree.tree_structure(Box(box.item, "other"))
    assert pytree.tree_map(lambda a, b: a + b, box, doubled).item["a"].tolist() == [3, 3]
    with pytest.raises(ValueError, match="registered already"):
        pytree.register_pytree_node(Box, None, None)
    with pytest.raises(ValueError, match="registered already"):
        pytree.register_pytree_node(dict, None, None)


def test_several_trees() -> None:
    assert pytree.tree_map(lambda a, b: a + b, {"x": 1, "y": 2}, {"y": 20, "x": 10}) == {"x": 11, "y": 22}
    with pytest.raises(ValueError, match="a further tree"):
        pytree.tree_map(lambda a, b: a, [1], [1, 2])
    with pytest.raises(ValueError, match="2 leaves for a structure with 1"):
        pytree.tree_unflatten([1, 2], pytree.tree_structure([1]))
    with pytest.raises(TypeError, match="treespec"):
        pytree.tree_unflatten([1], [1])


def test_leaves_that_are_chosen() -> None:
    assert pytree.tree_leaves([(1, 2), [3]], is_leaf=lambda node: isinstance(node, tuple)) == [(1, 2), 3]
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", (2.5,)]) == [-1, "a", (2.5,)]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: 5, [1, 2]) == [5, 2]
    assert (pytree.tree_is_leaf(1), pytree.tree_is_leaf([])) == (True, False)
    assert (pytree.tree_all(bool, [1, (0,)]), pytree.tree_any(bool, [1, (0,)])) == (False, True)
    seen = []
    tree = [1, (2,)]
    assert pytree.tree_map_(seen.append, tree) is tree
    assert seen == [1, 2]


def test_paths_lead_to_the_leaves() -> None:
    tree = {"a": [1, (2, Point(3, 4))], "b": OrderedDict(c=5), 3: deque([6])}
    found, structure = pytree.tree_flatten_with_path(tree)
    said = ["['a'][0]", "['a'][1][0]", "['a'][1][1].x", "['a'][1][1].y", "['b']['c']", "[3][0]"]
    assert [pytree.keystr(path) for path, _ in found] == said
    assert [pytree.key_get(tree, path) for path, _ in found] == [1, 2, 3, 4, 5, 6]
    assert structure == pytree.tree_structure(tree)
    mapped = pytree.tree_map_with_path(lambda path, a, b: (pytree.keystr(path), a + b), tree, tree)
    assert mapped["a"][1][1] == Point(("['a'][1][1].x", 6), ("['a'][1][1].y", 8))
    whole = pytree.tree_leaves_with_path(tree, lambda one: type(one) is list)
    assert [pytree.keystr(path) for path, _ in whole][:2] == ["['a']", "['b']['c']"]


def test_paths_through_a_registered_class() -> None:
    class Keyed(dict[str, int]):
        pass

    pytree.register_pytree_node(
        Keyed,
        pytree._dict_flatten,
        lambda items, keys: Keyed(zip(keys, items, strict=True)),
        flatten_with_keys_fn=pytree._dict_flatten_with_keys,
    )
    found = pytree.tree_map_with_path(lambda path, leaf: (path, leaf), Keyed(one=1))
    assert found == {"one": ((pytree.MappingKey("one"),), 1)}

    class Keyless:
        pass

    pytree.register_pytree_node(Keyless, lambda _: ([1], None), lambda *_: Keyless())
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_leaves_with_path(Keyless())


def test_structures_are_built_from_what_nodes_give() -> None:
    value = [Point(1, {"b": 2, "a": 3}), OrderedDict(c=4), defaultdict(int, d=5), deque([6], 3), (7,)]

    def rebuilt(one: object) -> tuple[list[object], pytree.TreeSpec]:
        kind = pytree._get_node_type(one)
        if kind not in pytree.SUPPORTED_NODES:
            return [one], pytree.LeafSpec()
        items, context = pytree.SUPPORTED_NODES[kind].flatten_fn(one)
        assert pytree.SUPPORTED_NODES[kind].unflatten_fn(items, context) == one
        parts = [rebuilt(item) for item in items]
        return [leaf for leaves, _ in parts for leaf in leaves], pytree.TreeSpec(
            kind, context, [spec for _, spec in parts]
        )

    leaves, spec = rebuilt(value)
    assert leaves == [1, 2, 3, 4, 5, 6, 7]
    assert spec == pytree.tree_flatten(value)[1]
    assert pytree.tree_unflatten(leaves, spec) == value
    assert spec.children_specs[0].type is namedtuple


def test_registered_classes_leave_and_return() -> None:
    class Box:
        def __init__(self, held: object) -> None:
            self.held = held

    pytree.register_pytree_node(Box, lambda box: ([box.held], None), lambda items, context: Box(*items))
    node = pytree.SUPPORTED_NODES.pop(Box)
    box = Box(1)
    assert pytree.tree_leaves(box) == [box]
    pytree.SUPPORTED_NODES[Box] = node
    assert pytree.tree_leaves(box) == [1]
    assert Box in list(pytree.SUPPORTED_NODES)
