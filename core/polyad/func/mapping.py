"""vmap: from a function of single samples to the function that works on batches of them.

The function is called once, with tensors that hide their batch dimension (`polyad.transforms.batching`), so what it
does to one sample is done to all of them by the ops themselves. Everything that a function may do is allowed, other
transforms included, but for what no op can do to all samples at once: to decide by their data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any

from ..base.shapes_and_strides import normalize_dim
from ..base.trees import LEAF, Tree, flatten, map_leaves
from ..errors import ArgumentError, ArgumentTypeError, OptionError, safe_repr
from ..ops.shaping.joining import cat
from ..random import fork_rng
from ..tensor import Tensor
from ..transforms.batching import Batched, VmapLevel

__all__ = ["vmap"]

Dims = Any
"""An int, None, or these in the structure of what they are for."""

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that maps *func* over a dimension of its arguments, all at once.

    Args:
        func: takes and returns tensors, alone or in nested dicts, lists and tuples, without their batch dimension.
        in_dims: which dimension of each positional argument is the batch: an int for all, or a tuple with an entry an
            argument, nested as far as wanted like the argument. None: the same for all samples. Keyword arguments are
            the same for all samples.
        out_dims: where the batch dimension of each result goes; None for a result that does not depend on the samples.
        randomness: whether samples draw "different" random numbers, or the "same"; "error" forbids drawing any.
        chunk_size: how many samples at a time, to save memory; all by default.

    Maps nest, and go with all other transforms in any order. The function returned raises ValueError for in_dims or
    out_dims that do not fit, for batches of different sizes and for results that are no tensors, RuntimeError where
    *func* decides by the data of a sample.

    >>> import polyad
    >>> from polyad.func import grad, vmap
    >>> rows, vector = polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), polyad.tensor([1.0, 10.0])
    >>> vmap(polyad.dot, in_dims=(0, None))(rows, vector)
    tensor([21., 43.])
    >>> vmap(grad(lambda x: (x**3).sum()))(rows)
    tensor([[ 3., 12.],
            [27., 48.]])
    """
    if not callable(func):
        raise ArgumentTypeError(f"vmap: {type(func).__name__} cannot be called", fix="pass a function or a module")
    check_randomness("vmap", randomness)
    check_chunk("vmap", chunk_size)

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten(args)
        dims = _fit_in_dims(in_dims, leaves, tree, args)
        size = _batch_size(leaves, dims)
        return map_flat(func, name_of(func), leaves, dims, tree, size, out_dims, randomness, chunk_size, kwargs)

    return mapped


def name_of(func: Callable[..., Any]) -> str:
    """What messages call the function."""
    return getattr(func, "__name__", None) or type(func).__name__


def check_randomness(op: str, randomness: Any) -> None:
    """Raise RuntimeError unless *randomness* is in `RANDOMNESS`."""
    if not isinstance(randomness, str) or randomness not in RANDOMNESS:
        raise OptionError(f"{op}: randomness is {safe_repr(randomness)}", fix="pass 'error', 'different' or 'same'")


def check_chunk(op: str, chunk_size: Any) -> None:
    """Raise ValueError unless *chunk_size* is None or a positive int."""
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ArgumentError(
            f"{op}: chunk_size must be at least 1", operands={"chunk_size": chunk_size}, fix="pass None, or 1 or more"
        )


def map_flat(
    func: Callable[..., Any],
    name: str,
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    tree: Tree,
    size: int,
    out_dims: Dims = 0,
    randomness: str = "error",
    chunk_size: int | None = None,
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """*func* of the arguments in *tree*, mapped over the dimensions *dims* of their *leaves*, in chunks."""
    fronted = [leaf if dim is None else _move_to_front(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
    given = kwargs or {}

    def run(part: Sequence[Any], count: int) -> tuple[list[Any], list[int | None], Tree]:
        level = VmapLevel(name, count, randomness)
        entered = [leaf if dim is None else _entered(level, leaf, dim) for leaf, dim in zip(part, dims, strict=True)]
        try:
            with level:
                result = func(*tree.build(entered), **given)
            outputs, out_tree = flatten(result)
            places = _fit_out_dims(name, out_dims, outputs, out_tree)
            return (
                [_left(level, output, at, part) for output, at in zip(outputs, places, strict=True)],
                places,
                out_tree,
            )
        finally:
            level.end()

    if chunk_size is None or chunk_size >= size:
        outputs, places, out_tree = run(fronted, size)
        return out_tree.build([_placed(output, at) for output, at in zip(outputs, places, strict=True)])
    parts = []
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        taken = [leaf if dim is None else leaf.narrow(0, start, count) for leaf, dim in zip(fronted, dims, strict=True)]
        # What is the same for all samples is the same for all chunks.
        last = start + count == size
        with fork_rng() if randomness == "same" and not last else nullcontext():
            outputs, places, out_tree = run(taken, count)
        parts.append(outputs)
    joined = [
        several[0] if at is None else _placed(cat(list(several)), at)
        for several, at in zip(zip(*parts, strict=True), places, strict=True)
    ]
    return out_tree.build(joined)


def _move_to_front(tensor: Tensor, dim: int) -> Tensor:
    return tensor if dim == 0 else tensor.movedim(dim, 0)


def _entered(level: VmapLevel, tensor: Tensor, dim: int) -> Batched:
    batch = level.wrap(tensor)
    batch._given_dim = dim
    return batch


def _placed(tensor: Tensor, dim: int | None) -> Tensor:
    if dim is None or dim == 0:
        return tensor
    return tensor.movedim(0, normalize_dim(dim, tensor.ndim, "vmap: out_dims"))


def _left(level: VmapLevel, value: Any, dim: int | None, given: Sequence[Any]) -> Any:
    """A result as those outside see it, the batch in front; of an argument that came back, a view. What is no tensor
    is itself: `_fit_out_dims` has seen that it has no batch.
    """
    if not isinstance(value, Tensor):
        return value
    own: Batched = level.lifted(value)
    if dim is not None:
        result = level.spread(own)
        return result.expand(result.shape) if any(result is argument for argument in given) else result
    if own._batched:
        raise ArgumentError(
            f"vmap: {level.function} returned a batched tensor where out_dims is None",
            operands={"result": value},
            fix="say in out_dims where its batch dimension goes",
        )
    return own._inner


def constants(value: Any) -> Any:
    """*value*, which a mapped function hands out by another way than by returning it: its tensors, the same for all
    samples, as those outside see them.
    """
    return map_leaves(lambda leaf: leaf._inner if isinstance(leaf, Batched) and not leaf._batched else leaf, value)


# ------------------------------------------------------------------------------------------------- in_dims, out_dims


def _spread_dims(dims: Dims, tree: Tree) -> list[Any] | None:
    """The entries of *dims* for each leaf of *tree*, None if dims is not the beginning of its structure."""
    structure = flatten(dims)[1] if dims is not None else LEAF
    found: list[Any] = []
    return found if _broadcast_prefix(dims, structure, tree, found) else None


def _broadcast_prefix(dims: Any, structure: Tree, tree: Tree, found: list[Any]) -> bool:
    if structure.container is None:
        found += [dims] * tree.count
        return True
    if structure.container is not tree.container and not {structure.container, tree.container} <= {list, tuple}:
        return False
    if tree.keys:
        if set(structure.keys) != set(tree.keys):
            return False
        order = [structure.keys.index(key) for key in tree.keys]
        pairs = [(dims[key], structure.children[at]) for key, at in zip(tree.keys, order, strict=True)]
    else:
        pairs = list(zip(dims, structure.children, strict=True))
    if len(pairs) != len(tree.children):
        return False
    return all(
        _broadcast_prefix(entry, part, child, found) for (entry, part), child in zip(pairs, tree.children, strict=True)
    )


def _fit_in_dims(in_dims: Any, leaves: Sequence[Any], tree: Tree, args: tuple[Any, ...]) -> list[int | None]:
    if not isinstance(in_dims, (int, tuple, list)) or isinstance(in_dims, bool):
        raise ArgumentError(
            f"vmap: in_dims is {safe_repr(in_dims)}, neither an int nor a tuple",
            fix="pass 0, or a tuple with an entry an argument",
        )
    if not leaves:
        raise ArgumentError(
            "vmap: the mapped function was called without inputs", fix="map over positional arguments that hold tensors"
        )
    spread = _spread_dims(tuple(in_dims) if isinstance(in_dims, list) else in_dims, tree)
    if spread is None:
        raise ArgumentError(
            f"vmap: in_dims {safe_repr(in_dims)} have not the structure of the {len(args)} arguments",
            notes={"arguments": str(tree)},
            fix="pass one int, or a tuple with an entry an argument, nested at most like it",
        )
    found: list[int | None] = []
    for number, (leaf, dim) in enumerate(zip(leaves, spread, strict=True)):
        if dim is None:
            found.append(None)
            continue
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise ArgumentError(
                f"vmap: in_dims has {safe_repr(dim)}, neither an int nor None", fix="name dimensions by ints"
            )
        if not isinstance(leaf, Tensor):
            raise ArgumentError(
                f"vmap: input {number} is {type(leaf).__name__}, not a tensor, and cannot be mapped over",
                operands={f"input {number}": leaf},
                fix="say None for it in in_dims",
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ArgumentError(
                f"vmap: in_dims names dimension {dim} of input {number}, which has {leaf.ndim}",
                operands={f"input {number}": leaf},
                fix="name one of its dimensions, or None" if leaf.ndim else "say None for a 0-d tensor in in_dims",
            )
        found.append(dim % leaf.ndim)
    return found


def _batch_size(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = {
        f"input {number}": leaf for number, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)) if dim is not None
    }
    if not sizes:
        raise ArgumentError("vmap: in_dims maps over none of the inputs", fix="name a dimension of at least one input")
    found = [leaf._array.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if len(set(found)) > 1:
        raise ArgumentError(
            f"vmap: the mapped dimensions differ in size: {', '.join(map(str, found))}",
            operands=sizes,
            fix="map over dimensions of the same size, or say None in in_dims",
        )
    size: int = found[0]
    return size


def _fit_out_dims(name: str, out_dims: Any, outputs: Sequence[Any], tree: Tree) -> list[int | None]:
    spread = _spread_dims(tuple(out_dims) if isinstance(out_dims, list) else out_dims, tree)
    if spread is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and tree.container is None:
        spread = [out_dims[0]]
    if spread is None:
        raise ArgumentError(
            f"vmap: out_dims {safe_repr(out_dims)} have not the structure of what {name} returns",
            notes={"returned": str(tree)},
            fix="pass one int, or entries nested at most like the result",
        )
    for dim, output in zip(spread, outputs, strict=True):
        if dim is None:
            continue
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise ArgumentError(
                f"vmap: out_dims has {safe_repr(dim)}, neither an int nor None", fix="name dimensions by ints"
            )
        if not isinstance(output, Tensor):
            raise ArgumentError(
                f"vmap: {name} returned {type(output).__name__}, not only tensors",
                operands={"result": output},
                fix="return nested dicts, lists and tuples of tensors, or say None for it in out_dims",
            )
    return spread
