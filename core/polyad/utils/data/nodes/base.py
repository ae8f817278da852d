"""What all nodes are: an iterator over items that can say where it is, and go on from there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from polyad import errors
from polyad.random.generator import Generator, drawing_from
from polyad.utils.data.fetching import SkipSample, note
from polyad.utils.data.seeding import mixed

__all__ = ["BaseNode", "beginning_at", "checked_fn", "checked_source", "seeded_call"]

T = TypeVar("T")


class _OfThread(threading.local):
    epoch: int | None = None


_of_thread = _OfThread()


@contextmanager
def beginning_at(epoch: int) -> Iterator[None]:
    """Inside, nodes that are reset begin the pass of that number, whatever theirs was."""
    _of_thread.epoch = epoch
    try:
        yield
    finally:
        _of_thread.epoch = None


class BaseNode(Iterator[T]):
    """A part of a pipeline: an iterator over items, with a state from which an equal one goes on.

    To write one, derive from this class and define `next`, `reset` and `get_state`. A node that reads another calls
    ``next(source)``, ``source.reset(...)`` and ``source.state_dict()``.

    >>> from polyad.utils.data.nodes import BaseNode, IterableWrapper
    >>> class Pairs(BaseNode):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def reset(self, initial_state=None):
    ...         super().reset(initial_state)
    ...         self.source.reset(initial_state and initial_state["source"])
    ...     def next(self):
    ...         return next(self.source), next(self.source)
    ...     def get_state(self):
    ...         return {"source": self.source.state_dict()}
    >>> pairs = Pairs(IterableWrapper(range(6)))
    >>> next(pairs)
    (0, 1)
    >>> state = pairs.state_dict()
    >>> again = Pairs(IterableWrapper(range(6)))
    >>> again.load_state_dict(state)
    >>> list(again)
    [(2, 3), (4, 5)]
    """

    epoch: int = -1
    """Which pass this is, from 0; random numbers follow from it."""
    _begun: bool = False
    _ended: bool = False

    def __iter__(self) -> BaseNode[T]:
        return self

    def __next__(self) -> T:
        if not self._begun:
            self.reset()
        if self._ended:
            raise StopIteration
        try:
            return self.next()
        except StopIteration:
            self._ended = True
            raise

    def next(self) -> T:
        """The next item; raises StopIteration where there is none. A node defines it; who reads it calls ``next()``."""
        raise errors.NotSupported(
            f"{type(self).__name__}.next: a node must say what its items are",
            fix=f"define next(self) in {type(self).__name__}",
        )

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        """Begin the next pass, or go on from a state. A node that defines it calls ``super().reset(initial_state)``
        first.

        Raises:
            TypeError: what is no state of a node.
            ValueError: a state of a node of another class.
        """
        if initial_state is None:
            self.epoch = self.epoch + 1 if _of_thread.epoch is None else _of_thread.epoch
            self._begun, self._ended = True, False
            return
        epoch = initial_state.get("epoch") if isinstance(initial_state, Mapping) else None
        if type(epoch) is not int or epoch < 0:
            raise errors.wrong_type(
                f"{type(self).__name__}.reset", "initial_state", initial_state, "what state_dict() gave"
            )
        if initial_state.get("node") != type(self).__name__:
            raise errors.ArgumentError(
                f"{type(self).__name__}.reset: the state is of a {initial_state.get('node')}",
                fix="make the pipeline as it was when the state was taken",
            )
        self.epoch, self._begun, self._ended = epoch, True, bool(initial_state.get("ended"))

    def get_state(self) -> dict[str, Any]:
        """What `reset` needs to go on. A node defines it; who reads one calls `state_dict`."""
        raise errors.NotSupported(
            f"{type(self).__name__}.get_state: a node must say where it is",
            fix=f"define get_state(self) in {type(self).__name__}",
        )

    def state_dict(self) -> dict[str, Any]:
        """Where it is: plain data and, of a `Shuffler`, items."""
        if not self._begun:
            self.reset()
        return {**self.get_state(), "node": type(self).__name__, "epoch": self.epoch, "ended": self._ended}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state; the same as ``reset(state_dict)``, and raises as that does."""
        if state_dict is None:
            raise errors.wrong_type(
                f"{type(self).__name__}.load_state_dict", "state_dict", state_dict, "what state_dict() gave"
            )
        self.reset(state_dict)


def checked_source(owner: str, source: Any) -> Any:
    """The source, if it is a node."""
    if not isinstance(source, BaseNode):
        raise errors.ArgumentTypeError(
            f"{owner}: source is {errors.describe(source)}, not a node",
            fix="wrap it: IterableWrapper(...) for what can be iterated, MapStyleWrapper(...) for a dataset",
        )
    return source


def checked_fn(owner: str, name: str, fn: Any) -> Any:
    """The function, if it can be called."""
    if not callable(fn):
        raise errors.wrong_type(owner, name, fn, "a function of an item")
    return fn


class _Skipped:
    """What stands for an item that is left out."""


SKIPPED = _Skipped()


def seeded_call(fn: Callable[[Any], Any], item: Any, owner: str, seed: int, epoch: int, position: int) -> Any:
    """*fn* of the item, its random numbers those of (seed, epoch, position); SKIPPED if it raises `SkipSample`."""
    with drawing_from(Generator().manual_seed(mixed(seed, epoch, position))):
        try:
            return fn(item)
        except SkipSample:
            return SKIPPED
        except Exception as error:
            note(error, f"item {position} of epoch {epoch}", owner)
            raise
