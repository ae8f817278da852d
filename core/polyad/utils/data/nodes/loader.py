"""A pipeline as something to loop over, epoch after epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from polyad import errors
from polyad.random.generator import Generator
from polyad.utils.data.dataset import IterableDataset
from polyad.utils.data.seeding import mixed

from .base import BaseNode, beginning_at, checked_source

__all__ = ["Loader"]

T = TypeVar("T")
VERSION = 1
_OWN_SEED = 0


class Loader(IterableDataset[T]):
    """The items of a node, a pass for each ``iter()``; with a state from which an equal loader goes on exactly.

    It is an `IterableDataset`: a `DataLoader` runs the pipeline in worker processes, each its own copy. A `Sharder` in
    the pipeline divides the items among them.

    Args:
        restart_on_stop_iteration: after a state that was taken behind the last item of a pass, begin the next pass; or,
            if False, end that pass first, which has no further item.

    Raises:
        TypeError: a root that is no node.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> loader = Loader(IterableWrapper(range(4)))
    >>> iterator = iter(loader)
    >>> next(iterator), next(iterator)
    (0, 1)
    >>> again = Loader(IterableWrapper(range(4)))
    >>> again.load_state_dict(loader.state_dict())
    >>> list(again), list(again)
    ([2, 3], [0, 1, 2, 3])
    """

    def __init__(self, root: BaseNode[T], restart_on_stop_iteration: bool = True) -> None:
        self.root: BaseNode[T] = checked_source("Loader", root)
        self.restart_on_stop_iteration = restart_on_stop_iteration
        self._loaded: dict[str, Any] | None = None
        self._is_at_begin = False
        self._passes = 0
        self._of_data_loader = Generator().manual_seed(_OWN_SEED)
        """Has another seed under a `DataLoader`, where each epoch has its own, and a worker may know one epoch only."""

    def __iter__(self) -> Iterator[T]:
        self._passes += 1
        resumed = self._loaded is not None
        if self._loaded is not None:
            loaded, self._loaded = self._loaded, None
            self.root.reset(loaded)
        elif (seed := self._of_data_loader.initial_seed()) != _OWN_SEED:
            with beginning_at(mixed(seed) % 2**31):
                self.root.reset()
        elif not self._is_at_begin:
            self.root.reset()
        self._is_at_begin = False
        return _Pass(self, resumed and self.restart_on_stop_iteration)

    def state_dict(self) -> dict[str, Any]:
        """Where the loop is: plain data that :func:`polyad.save` takes, and items of a `Shuffler`."""
        if self._loaded is not None:
            return {"version": VERSION, "root": self._loaded}
        if not self._passes and not self._is_at_begin:
            self.root.reset()
            self._is_at_begin = True
        return {"version": VERSION, "root": self.root.state_dict()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Have the next ``iter()`` go on where `state_dict` was taken.

        Raises:
            TypeError: it is no such state.
            ValueError: a state of a newer polyad. One of another pipeline is refused by ``iter()``.
        """
        if not isinstance(state_dict, Mapping) or not isinstance(state_dict.get("root"), dict):
            raise errors.wrong_type("Loader.load_state_dict", "state_dict", state_dict, "what state_dict() gave")
        if state_dict.get("version") != VERSION:
            raise errors.ArgumentError(
                f"Loader.load_state_dict: the state has version {state_dict.get('version')}, and this polyad reads "
                f"{VERSION}",
                fix="install a newer polyad: pip install --upgrade polyad",
            )
        self._loaded = state_dict["root"]


class _Pass(Iterator[T]):
    """What ``iter(loader)`` gives."""

    def __init__(self, loader: Loader[T], restart: bool) -> None:
        self._loader = loader
        self._number = loader._passes
        self._restart = restart

    def __next__(self) -> T:
        loader = self._loader
        if loader._passes != self._number:
            raise errors.ArgumentError(
                "Loader: this pass has ended: another iter() of the loader took over its node",
                fix="have one pass at a time, or make a second pipeline",
            )
        restart, self._restart = self._restart, False
        try:
            return next(loader.root)
        except StopIteration:
            if not restart:
                raise
        loader.root.reset()
        return next(loader.root)
