"""What models import by PyTorch's other paths: the same calls give the same in both libraries."""

from __future__ import annotations

import importlib
import inspect
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
import torch

import polyad

LIBRARIES = {"polyad": polyad, "torch": torch}


def answers(ask: Any) -> list[Any]:
    """What *ask* gives for each library: a value, or the type of an exception."""
    found = []
    for name in LIBRARIES:
        try:
            found.append(ask(lambda path, name=name: importlib.import_module(".".join(filter(None, (name, path))))))
        except Exception as error:
            known = (NotImplementedError, AssertionError, IndexError, ValueError, TypeError, RuntimeError)
            found.append(next(kind for kind in known if isinstance(error, kind)))
    return found


VERSIONS = ["2.13.0", "2.13", "2.9.1", "1!1", "2.13.0rc1", "2.13.0+cpu", "2.13.0.post1", "parrot", "", "2.13.0.dev1"]


@pytest.mark.parametrize("one", VERSIONS)
@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__eq__", "__gt__", "__ge__"])
def test_versions(one, compare) -> None:
    others = [*VERSIONS, (2, 9), (2, 13, 0), [2, 14]]
    ours, theirs = answers(
        lambda module: [getattr(module("torch_version").TorchVersion(one), compare)(other) for other in others]
    )
    assert ours == theirs


TREES = [
    3, None, [1, (2, [3, {}])], {"b": 1, "a": (2, [None])}, OrderedDict(b=1, a=2), defaultdict(list, {"x": [1]}),
    deque([1, [2]], maxlen=5), [[], ()],
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees(tree) -> None:
    def ask(module: Any) -> Any:
        pytree = module("utils._pytree")
        leaves, spec = pytree.tree_flatten(tree)
        return (
            leaves,
            spec.num_leaves,
            pytree.tree_unflatten(leaves, spec),
            pytree.tree_map(lambda leaf: [leaf], tree),
            pytree.tree_map_only(int, lambda leaf: leaf + 1, tree),
            pytree.tree_leaves(tree, is_leaf=lambda node: isinstance(node, tuple)),
            pytree.tree_is_leaf(tree),
            pytree.tree_map(lambda a, b: (a, b), tree, tree),
        )

    ours, theirs = answers(ask)
    assert ours == theirs


CALLS = {
    "pair": lambda module: [module("nn.modules.utils")._pair(x) for x in (3, (1, 2, 3), [4], "ab")],
    "ntuple": lambda module: module("nn.modules.utils")._ntuple(3)(0.5),
    "repeated": lambda module: module("nn.modules.utils")._reverse_repeat_tuple((1, 2, 3), 2),
    "assert": lambda module: module("")._assert(False, "no"),
    "check": lambda module: module("")._check(False, lambda: "no"),
    "check of a number": lambda module: module("")._check(1),
    "check of a text": lambda module: module("")._check(False, "no"),
    "check_index": lambda module: module("")._check_index(False),
    "check_value": lambda module: module("")._check_value(False),
    "check_type": lambda module: module("")._check_type(False),
    "check_is_size": lambda module: module("")._check_is_size(-1),
    "rank": lambda module: module("distributed").get_rank(),
    "all_reduce": lambda module: module("distributed").all_reduce(module("").ones(1)),
    "initialized": lambda module: module("distributed").is_initialized(),
    "launched": lambda module: module("distributed").is_torchelastic_launched(),
    "seed": lambda module: module("cuda").manual_seed_all(1),
    "states": lambda module: module("cuda").get_rng_state_all(),
    "bfloat16": lambda module: module("cuda").is_bf16_supported(),
    "initialized cuda": lambda module: module("cuda").is_initialized(),
    "tracing": lambda module: (module("jit").is_scripting(), module("jit").is_tracing()),
    "compiling": lambda module: (module("compiler").is_compiling(), module("compiler").is_exporting()),
    "annotated": lambda module: module("jit").annotate(list[int], [1]),
    "wrong attention": lambda module: module("nn.attention").sdpa_kernel("math").__enter__(),
    "attention": lambda module: [
        (one.name, int(one)) for one in module("nn.attention").SDPBackend.__members__.values()
    ],
    "shared": lambda module: module("").ones(2).share_memory_().is_shared(),
    "a shared view": lambda module: module("").arange(6.0).reshape(2, 3).t().share_memory_().stride(),
    "a shared module": lambda module: module("nn").Linear(1, 1).share_memory().bias.is_shared(),
    "member": lambda module: module("nn").BatchNorm1d(2).__getattr__("running_var").tolist(),
    "no member": lambda module: hasattr(module("nn").Linear(1, 1), "missing"),
    "hash": lambda module: module("hub").HASH_REGEX.search("net-0123abcd.pth").group(1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls(call) -> None:
    ours, theirs = answers(call)
    assert ours == theirs


def test_seeds_on_cuda_leave_the_cpu_alone_without_a_device() -> None:
    def ask(module: Any) -> bool:
        library = module("")
        library.manual_seed(5)
        before = library.rand(1).item()
        library.manual_seed(5)
        library.cuda.manual_seed_all(9)
        return library.rand(1).item() == before

    assert answers(ask) == [True, True]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("multiprocessing", "spawn"),
        ("multiprocessing", "start_processes"),
        ("hub", "load_state_dict_from_url"),
        ("hub", "download_url_to_file"),
        ("compiler", "disable"),
        ("nn.attention", "sdpa_kernel"),
        ("nn.modules.utils", "consume_prefix_in_state_dict_if_present"),
        ("cuda", "manual_seed"),
        ("cuda", "set_rng_state"),
        ("utils._pytree", "tree_map"),
        ("utils._pytree", "tree_flatten"),
        ("jit", "script"),
        ("jit", "ignore"),
    ],
)
def test_signatures(path, name) -> None:
    ours, theirs = answers(lambda module: list(inspect.signature(getattr(module(path), name)).parameters))
    assert ours == theirs


def test_every_public_name_of_the_modules_is_there() -> None:
    """Of modules that are small enough to be whole."""
    for path in ("torch_version", "nn.common_types", "nn.modules.utils", "multiprocessing"):
        ours, theirs = answers(lambda module, path=path: set(getattr(module(path), "__all__", ())))
        assert theirs <= ours
