"""Checkpoints of a run: the last few, the best, and the last that can be read.

    step-00000400.polyad       the object that was saved, the checkpoint of step 400
    latest.polyad, best.polyad links to one of them

Every file is written whole or not at all, links are replaced in one step, and an old checkpoint is removed when the
new one is on the disk: so after a crash, or when the process is killed at any moment, the last checkpoint that was
finished is there. A killed process may leave links behind its files: which checkpoint is the best is said by the scores
in the files, and the next `save` mends the links.
"""

from __future__ import annotations

import copy
import math
import os
import re
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, SerializationError, safe_repr, wrong_type
from ..files import FileMissing, FileTrouble, checked_path, trouble
from ..tensor import Tensor

__all__ = ["CheckpointManager"]

_STEP = re.compile(r"step-([0-9]{8,})\.polyad")


class CheckpointManager:
    """Saves checkpoints into a folder and finds the one to go on from.

    Args:
        folder: created if it is not there.
        keep: how many of the last checkpoints stay; the best stays in addition. None: all.
        every: `step` saves every so many steps.
        asynchronous: write in another thread, while the run goes on; what is saved is copied before. One checkpoint
            is written at a time: the next `save` waits for the last, and raises what went wrong with it.
        best_is: whether the "largest" or the "smallest" score is the best.

    Raises:
        ValueError: counts that are none, or another *best_is*.
        TypeError: an *asynchronous* that is not a bool.
        OSError: the folder cannot be created.

    >>> import tempfile, polyad
    >>> folder = tempfile.TemporaryDirectory()
    >>> manager = polyad.serialization.CheckpointManager(folder.name, keep=2)
    >>> for epoch in range(4):
    ...     _ = manager.save({"epoch": epoch}, epoch, score=-epoch)
    >>> manager.steps()
    [0, 2, 3]
    >>> manager.load_latest()["epoch"], manager.load_best()["epoch"]
    (3, 0)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        keep: int | None = 3,
        every: int = 1,
        asynchronous: bool = False,
        best_is: str = "largest",
    ) -> None:
        for name, count in (("keep", keep), ("every", every)):
            if not (count is None and name == "keep") and (type(count) is not int or count < 1):
                raise ArgumentError(f"CheckpointManager: {name} is {count!r}, not a positive int", fix="pass 1 or more")
        if best_is not in ("largest", "smallest"):
            raise ArgumentError(f"CheckpointManager: best_is is {best_is!r}", fix='pass "largest" or "smallest"')
        if not isinstance(asynchronous, bool):
            raise wrong_type("CheckpointManager", "asynchronous", asynchronous, "a bool")
        self.folder = Path(checked_path(folder, "CheckpointManager"))
        self.keep = keep
        self.every = every
        self.asynchronous = asynchronous
        self._sign = 1 if best_is == "largest" else -1
        self._writer: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._scores: dict[int, float | None] | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise trouble("CheckpointManager", self.folder, error) from error

    def step(self, make: Callable[[], Any], step: int, score: float | None = None) -> bool:
        """Save what *make* gives, if *step* is a multiple of *every*; whether it was.

        Raises:
            TypeError: a *make* that cannot be called.
            What `save` raises.
        """
        if not callable(make):
            raise wrong_type("CheckpointManager.step", "make", make, "a function that gives the object to save")
        if _checked_step("step", step) % self.every:
            return False
        self.save(make(), step, score)
        return True

    def save(self, obj: Any, step: int, score: float | None = None) -> Path:
        """Save *obj* as the checkpoint of *step*; gives the path of its file.

        Raises:
            ValueError: a step that is no count.
            TypeError: a score that is no number.
            Whatever `polyad.save` raises, of this checkpoint, or of the last if it was written asynchronously.
        """
        path = self._path(_checked_step("save", step))
        record = {"step": step, "score": _checked_score(score), "object": obj}
        self.wait()
        if not self.asynchronous:
            self._write(record, path)
            return path
        record["object"] = _deep_copy(obj)

        def write() -> None:
            try:
                self._write(record, path)
            except BaseException as error:
                self._failure = error

        # Not a daemon: a program that ends waits for its last checkpoint.
        self._writer = threading.Thread(target=write, name="polyad checkpoint")
        self._writer.start()
        return path

    def wait(self) -> None:
        """Wait for the checkpoint that is being written; raises what went wrong with it."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def steps(self) -> list[int]:
        """The steps of which there is a checkpoint, in order."""
        found = (_STEP.fullmatch(name) for name in os.listdir(self.folder))
        return sorted(int(match[1]) for match in found if match)

    def load_latest(self, map_location: Any = None) -> Any:
        """The object of the last checkpoint that can be read.

        A damaged file is passed over with a warning that names it, and the checkpoint before is taken.

        Raises:
            FileNotFoundError: there is none.
            RuntimeError (SerializationError): none can be read.
        """
        self.wait()
        damage: Exception | None = None
        for step in reversed(self.steps()):
            try:
                return self.load(step, map_location)
            except (SerializationError, FileTrouble) as error:
                damage = damage or error
                warnings.warn(
                    f"CheckpointManager: {self._path(step)} is passed over, it cannot be read: {error}", stacklevel=2
                )
        if damage is not None:
            raise damage
        raise FileMissing(f"CheckpointManager: {self.folder} has no checkpoint", fix="begin a run, and save() there")

    def load_best(self, map_location: Any = None) -> Any:
        """The object of the checkpoint with the best score.

        Raises:
            FileNotFoundError: none has a score.
            RuntimeError (SerializationError): it cannot be read.
        """
        self.wait()
        scores, linked = self._scores_in_files(), self._linked("best")
        # One that is linked and has no score cannot be read: what is wrong with it is raised.
        step = self._best(scores) if linked is None or scores.get(linked) is not None else linked
        if step is None:
            raise FileMissing(f"CheckpointManager: {self.folder} has no best checkpoint", fix="save() with a score")
        return self.load(step, map_location)

    def load(self, step: int, map_location: Any = None) -> Any:
        """The object of the checkpoint of *step*; raises ValueError for a step that is no count, else as `polyad.load`
        does.
        """
        return self._record(_checked_step("load", step), map_location)["object"]

    def _record(self, step: int, map_location: Any, mmap: bool = False) -> dict[str, Any]:
        from . import load

        path = self._path(step)
        record = load(path, map_location, mmap=mmap)
        if not isinstance(record, dict) or record.keys() != {"step", "score", "object"} or record["step"] != step:
            raise SerializationError(
                f"CheckpointManager: {path} is not the checkpoint of step {step}", fix="remove it, or move it elsewhere"
            )
        return record

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:08}.polyad"

    def _write(self, record: dict[str, Any], path: Path) -> None:
        from . import save

        save(record, path, format="polyad")
        self._link("latest", path.name)
        # Once: afterwards this manager has written them itself.
        scores = self._scores = self._scores_in_files() if self._scores is None else self._scores
        scores[record["step"]] = record["score"]
        best = self._best(scores)
        if best is None:
            (self.folder / "best.polyad").unlink(missing_ok=True)
        elif best != self._linked("best"):
            self._link("best", self._path(best).name)
        if self.keep is not None:
            for step in self.steps()[: -self.keep]:
                if step not in (best, record["step"]):
                    self._path(step).unlink(missing_ok=True)

    def _scores_in_files(self) -> dict[int, float | None]:
        """The score of each checkpoint, None where there is none, or nobody can read it."""
        return {step: self._score_in_file(step) for step in self.steps()}

    def _score_in_file(self, step: int) -> float | None:
        try:
            score = self._record(step, "cpu", mmap=True)["score"]
        except (SerializationError, OSError):
            return None
        return score if isinstance(score, float) else None

    def _best(self, scores: dict[int, float | None]) -> int | None:
        """The step with the best score that is there; of equals, the one that is linked, else the first."""
        there = {
            step: score for step in self.steps() if (score := scores.get(step)) is not None and not math.isnan(score)
        }
        linked = self._linked("best")
        return max(there, key=lambda step: (self._sign * there[step], step == linked, -step), default=None)

    def _link(self, name: str, target: str) -> None:
        """Point a link to a file, in one step."""
        link, new = self.folder / f"{name}.polyad", self.folder / f".{name}.new"
        try:
            new.unlink(missing_ok=True)
            os.symlink(target, new)
            os.replace(new, link)
        except OSError as error:
            raise trouble("CheckpointManager", link, error, "choose a folder on a file system with links") from error

    def _linked(self, name: str) -> int | None:
        """The step to which a link points, None if there is no such checkpoint."""
        try:
            match = _STEP.fullmatch(os.readlink(self.folder / f"{name}.polyad"))
        except OSError:
            return None
        return int(match[1]) if match and self._path(int(match[1])).exists() else None


def _checked_step(method: str, step: Any) -> int:
    if type(step) is not int or step < 0:
        raise ArgumentError(
            f"CheckpointManager.{method}: step is {safe_repr(step)}, not an int of at least 0", fix="count them"
        )
    return step


def _checked_score(score: Any) -> float | None:
    # Text would be taken by float() too.
    if score is None or (hasattr(score, "__float__") and not isinstance(score, str)):
        return None if score is None else float(score)
    raise wrong_type("CheckpointManager.save", "score", score, "a real number")


def _deep_copy(value: Any) -> Any:
    """A copy that what the run does later does not change. Tensors that are one object, or share memory, still do."""
    return copy.deepcopy(_without_history(value))


def _without_history(value: Any) -> Any:
    """*value* with tensors that are results replaced by detached ones: those cannot be copied deeply."""
    if isinstance(value, Tensor):
        return value if value.is_leaf else value.detach()
    if type(value) is dict:
        return {key: _without_history(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_without_history(item) for item in value)
    return value
