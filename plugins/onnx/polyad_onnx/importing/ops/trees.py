"""Ensembles of decision trees, of the domain ai.onnx.ml.

All trees walk at once: a table of nodes holds what each compares and where it leads, and a tensor (samples, trees)
says at which node each walk is. Leaves lead to themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polyad
from polyad import Tensor

from ..elements import array_of
from ..operators import ML, REQUIRED, Compute, Node, operator
from .scores import labelled, transformed

__all__: list[str] = []

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
MEMBER, LEAF = 6, 7
COMPARISONS: list[Any] = [polyad.le, polyad.lt, polyad.ge, polyad.gt, polyad.eq, polyad.ne]
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass
class Forest:
    """The table of nodes; every array has an entry for each."""

    feature: np.ndarray
    mode: np.ndarray
    split: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    missing: np.ndarray
    """Whether NaN is taken as true."""
    roots: np.ndarray
    weight: np.ndarray
    """(nodes, targets): what a leaf adds."""
    counts: np.ndarray
    """(nodes, targets): whether it does."""
    members: np.ndarray | None = None
    """(nodes, most): the sets of nodes that ask for membership, filled up with NaN."""
    depth: int = 0
    tensors: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        at, self.depth = set(self.roots.tolist()), 0
        while any(self.mode[each] != LEAF for each in at) and self.depth <= len(self.mode):
            at = {int(to[each]) for each in at if self.mode[each] != LEAF for to in (self.yes, self.no)}
            self.depth += 1

    def on(self, x: Tensor) -> Any:
        """The table on the device of *x*."""
        key = x.device, x.dtype
        if key not in self.tensors:
            whole = [self.feature, self.yes, self.no, self.roots]
            numbers = [self.split, self.weight]
            self.tensors[key] = (
                *(polyad.from_numpy(each.astype(np.int64)).to(x.device) for each in whole),
                *(polyad.from_numpy(np.ascontiguousarray(each)).to(device=x.device, dtype=x.dtype) for each in numbers),
                polyad.from_numpy(self.mode.astype(np.int64)).to(x.device),
                polyad.from_numpy(self.missing.astype(bool)).to(x.device),
                None if self.members is None else polyad.from_numpy(self.members).to(device=x.device, dtype=x.dtype),
                polyad.from_numpy(self.counts).to(x.device),
            )
        return self.tensors[key]

    def leaves(self, x: Tensor) -> Tensor:
        """At which leaf each sample ends in each tree, (samples, trees)."""
        feature, yes, no, roots, split, _, mode, missing, members, _ = self.on(x)
        at = roots.expand(x.shape[0], -1)
        kinds = [int(each) for each in np.unique(self.mode) if each != LEAF]
        for _ in range(self.depth):
            value, bound = x.gather(1, feature[at]), split[at]
            passed = polyad.zeros_like(value, dtype=polyad.bool)
            for kind in kinds:
                if kind == MEMBER:
                    holds = (members[at] == value.unsqueeze(-1)).any(-1)
                else:
                    holds = COMPARISONS[kind](value, bound)
                passed = holds if len(kinds) == 1 else polyad.where(mode[at] == kind, holds, passed)
            passed = passed | (value.isnan() & missing[at])
            at = polyad.where(passed, yes[at], no[at])
        return at

    def __call__(self, x: Tensor, aggregate: str) -> Tensor:
        """What the leaves say, put together over the trees: (samples, targets)."""
        x = x if x.dtype.is_floating_point else x.to(polyad.float32)
        table = self.on(x)
        at = self.leaves(x)
        said = table[5][at]
        if aggregate in ("SUM", "AVERAGE"):
            total = said.sum(1)
            return total / at.shape[1] if aggregate == "AVERAGE" else total
        counted = table[9][at]
        fill = float("inf") if aggregate == "MIN" else float("-inf")
        masked = polyad.where(counted, said, fill)
        found = masked.amin(1) if aggregate == "MIN" else masked.amax(1)
        return polyad.where(counted.any(1), found, 0.0)


def _numbers(node: Node, name: str, default: Any = REQUIRED) -> np.ndarray:
    """An attribute of numbers, which newer versions have as a tensor too."""
    tensor = node.tensor(f"{name}_as_tensor", None)
    return array_of(tensor).reshape(-1) if tensor is not None else np.asarray(node.numbers(name, default), np.float32)


def _forest(node: Node, prefix: str, targets: int) -> Forest:
    """The table of the older operators, which name nodes by tree and number."""
    trees, numbers = node.integers("nodes_treeids", REQUIRED), node.integers("nodes_nodeids", REQUIRED)
    place = {key: index for index, key in enumerate(zip(trees, numbers, strict=True))}
    names = node.texts("nodes_modes", REQUIRED)
    if any(name not in MODES for name in names):
        raise node.wrong("attribute nodes_modes has a mode that is unknown", "use " + ", ".join(MODES))
    mode = np.array([MODES.index(name) for name in names], np.int64)
    count = len(mode)
    own = np.arange(count)

    def leads(name: str) -> np.ndarray:
        to = node.integers(name, REQUIRED)
        made = [place.get((tree, each), -1) for tree, each in zip(trees, to, strict=True)]
        found = np.where(mode == LEAF, own, np.array(made, np.int64))
        if (found < 0).any():
            raise node.wrong(f"attribute {name} leads to nodes that there are none of")
        return found

    weight, counts = np.zeros((count, targets), np.float64), np.zeros((count, targets), bool)
    keys = zip(
        node.integers(f"{prefix}_treeids", REQUIRED),
        node.integers(f"{prefix}_nodeids", REQUIRED),
        node.integers(f"{prefix}_ids", REQUIRED),
        _numbers(node, f"{prefix}_weights").tolist(),
        strict=True,
    )
    for tree, number, target, value in keys:
        if (tree, number) not in place or not 0 <= target < targets:
            raise node.wrong(f"attributes {prefix}_* name a node or a target that there is none of")
        weight[place[tree, number], target] += value
        counts[place[tree, number], target] = True
    first: dict[int, int] = {}
    for index, tree in enumerate(trees):
        first.setdefault(tree, index)
    missing = node.integers("nodes_missing_value_tracks_true", None) or [0] * count
    return Forest(
        np.array(node.integers("nodes_featureids", REQUIRED)), mode, _numbers(node, "nodes_values"),
        leads("nodes_truenodeids"), leads("nodes_falsenodeids"), np.array(missing), np.array(list(first.values())),
        weight, counts,
    )  # fmt: skip


@operator("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(node: Node) -> Compute:
    targets = node.integer("n_targets", REQUIRED)
    forest = _forest(node, "target", targets)
    aggregate = node.choice("aggregate_function", "SUM", *AGGREGATES)
    base = _numbers(node, "base_values", [])
    transform = node.choice("post_transform", "NONE", *TRANSFORMS)

    def call(x: Tensor) -> Tensor:
        made = forest(x, aggregate)
        if base.size:
            made = made + polyad.from_numpy(base).to(device=made.device, dtype=made.dtype)
        return transformed(made, transform).to(polyad.float32)

    return call


@operator("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(node: Node) -> Compute:
    labels = labelled(node, "classlabels_int64s", "classlabels_strings")
    kinds = node.integers("class_ids", REQUIRED)
    forest = _forest(node, "class", max(len(labels), max(kinds, default=0) + 1))
    base, transform = _numbers(node, "base_values", []), node.choice("post_transform", "NONE", *TRANSFORMS)
    one = len(labels) == 2 and len(set(kinds)) == 1
    positive = bool((_numbers(node, "class_weights") >= 0).all())

    def call(x: Tensor) -> tuple[Tensor, Tensor]:
        made = forest(x, "SUM")
        if one:
            # The trees speak of one class alone; the other has what is left.
            score = made[:, kinds[0]]
            if base.size:
                score = score + float(base[-1])
            plain = positive and transform == "NONE"
            chosen = score > (0.5 if plain else 0.0)
            other = 1 - score if plain else -score
            if transform == "LOGISTIC":
                score = score.sigmoid()
                other = 1 - score
                made = polyad.stack([other, score], 1)
            else:
                made = transformed(polyad.stack([other, score], 1), transform)
            place = chosen.to(polyad.int64)
        else:
            if base.size:
                made = made + polyad.from_numpy(base).to(device=made.device, dtype=made.dtype)
            place = made.argmax(1)
            made = transformed(made, transform)
        return polyad.tensor(labels, device=made.device)[place], made.to(polyad.float32)

    return call


@operator("TreeEnsemble", domain=ML)
def tree_ensemble(node: Node) -> Compute:
    inner = array_of(node.tensor("nodes_modes", REQUIRED)).astype(np.int64)
    splits = array_of(node.tensor("nodes_splits", REQUIRED))
    targets, weights = node.integers("leaf_targetids", REQUIRED), array_of(node.tensor("leaf_weights", REQUIRED))
    count, leaves, many = len(inner), len(targets), node.integer("n_targets", REQUIRED)
    total = count + leaves
    own = np.arange(total)

    def leads(to: str, leaf: str) -> np.ndarray:
        ends = np.array(node.integers(leaf, REQUIRED), bool)
        made = np.array(node.integers(to, REQUIRED), np.int64) + np.where(ends, count, 0)
        if len(made) != count or (made < 0).any() or (made >= total).any():
            raise node.wrong(f"attributes {to} and {leaf} lead to nodes that there are none of")
        return np.concatenate([made, own[count:]])

    weight, counts = np.zeros((total, many), weights.dtype), np.zeros((total, many), bool)
    if leaves and not (min(targets) >= 0 and max(targets) < many):
        raise node.wrong("attribute leaf_targetids names a target that there is none of")
    weight[own[count:], targets], counts[own[count:], targets] = weights, True
    rest = np.zeros(leaves, np.int64)
    missing = node.integers("nodes_missing_value_tracks_true", None) or [0] * count
    forest = Forest(
        np.concatenate([np.array(node.integers("nodes_featureids", REQUIRED), np.int64), rest]),
        np.concatenate([inner, rest + LEAF]), np.concatenate([splits, rest.astype(splits.dtype)]),
        leads("nodes_truenodeids", "nodes_trueleafs"), leads("nodes_falsenodeids", "nodes_falseleafs"),
        np.concatenate([np.array(missing, np.int64), rest]), np.array(node.integers("tree_roots", REQUIRED)),
        weight, counts, _sets(node, inner, total),
    )  # fmt: skip
    aggregate = AGGREGATES[node.integer("aggregate_function", 1)]
    transform = TRANSFORMS[node.integer("post_transform", 0)]
    return lambda x: transformed(forest(x, aggregate), transform).to(x.dtype)


def _sets(node: Node, modes: np.ndarray, total: int) -> np.ndarray | None:
    """The sets of the nodes that ask for membership, which the file has one after the other, with NaN after each."""
    tensor = node.tensor("membership_values", None)
    if tensor is None:
        return None
    sets: list[list[float]] = [[]]
    for value in array_of(tensor).reshape(-1).tolist():
        if value == value:
            sets[-1].append(value)
        else:
            sets.append([])
    made = np.full((total, max(map(len, sets))), np.nan)
    for place, values in zip(np.flatnonzero(modes == MEMBER), sets, strict=False):
        made[place, : len(values)] = values
    return made
