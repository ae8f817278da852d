"""What the demo saves after each epoch, and in the middle of long ones.

It is all that a later run needs to go on as if it had not stopped.

A checkpoint is a dict in a file of :func:`polyad.save`, which replaces the old file whole or not at all:

    demo       the version of this dict, 2
    model      the network's state_dict        optimizer  the optimizer's state_dict
    epoch      epochs finished                 history    their losses, accuracies and seconds
    seed       what the run was seeded with    random     states of the random generators
    args       data, batch_size, lr
    middle     of an epoch that is not finished: the loader's state_dict, and a tally of losses; else None

Version 1 has no middle.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polyad
from polyad import Generator, nn
from polyad.errors import PolyadError, SerializationError
from polyad.optim import Optimizer
from polyad.utils.data import DataLoader

__all__ = ["read_checkpoint", "restore", "write_checkpoint"]

VERSION = 2
_PARTS: dict[str, type] = {
    "model": dict,
    "optimizer": dict,
    "epoch": int,
    "history": list,
    "seed": int,
    "random": dict,
    "args": dict,
}
_ENTRY = ("epoch", "loss", "train", "held_out", "seconds")


def write_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    shuffling: Generator,
    history: list[dict[str, float]],
    seed: int,
    args: dict[str, Any],
    middle: dict[str, Any] | None = None,
) -> None:
    """Save the state of a run at the end of an epoch, or in the middle of one."""
    polyad.save(
        {
            "demo": VERSION,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": len(history),
            "history": history,
            "seed": seed,
            "random": {"default": polyad.get_rng_state(), "shuffling": shuffling.get_state()},
            "args": args,
            "middle": middle,
        },
        path,
    )


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Load a checkpoint onto the CPU.

    Raises:
        OSError: the file is not there or cannot be read.
        SerializationError: it is damaged, or something else than a checkpoint of the demo.
    """
    found = polyad.load(path, map_location="cpu")
    if not isinstance(found, dict) or found.get("demo") not in (1, VERSION):
        raise _unfit(path, "is not a checkpoint of polyad demo")
    for part, type_ in _PARTS.items():
        if not isinstance(found.get(part), type_):
            raise _unfit(path, f"is a checkpoint without {part}")
    wrong = _wrong_entry(found)
    if wrong:
        raise _unfit(path, f"is a checkpoint with {wrong}")
    return found


def _wrong_entry(found: dict[str, Any]) -> str:
    """What of the checkpoint's plain values is not as `write_checkpoint` writes it, in words; empty if all is."""
    for number, entry in enumerate(found["history"]):
        if not isinstance(entry, dict) or not all(_is_number(entry.get(name)) for name in _ENTRY):
            return f"an entry {number} of history that is not of an epoch"
    args = found["args"]
    if not isinstance(args.get("data"), str):
        return "no name of its data"
    if not isinstance(args.get("batch_size"), int) or args["batch_size"] < 1:
        return f"the batch size {args.get('batch_size')!r}"
    if not _is_number(args.get("lr")) or args["lr"] <= 0:
        return f"the learning rate {args.get('lr')!r}"
    middle = found.get("middle")
    if middle is not None:
        tally = middle.get("tally") if isinstance(middle, dict) else None
        if not isinstance(tally, list) or len(tally) != 3 or not all(map(_is_number, tally)) or tally[2] < 1:
            return "the middle of an epoch without a tally"
    if not 0 <= found["seed"] < 2**63:
        return f"the seed {found['seed']}"
    return ""


def _is_number(value: Any) -> bool:
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and abs(value) < 2**63


def restore(
    checkpoint: dict[str, Any],
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    shuffling: Generator,
    loader: DataLoader[Any],
) -> None:
    """Put a run's parts into the state that *checkpoint* holds.

    Raises:
        SerializationError: the checkpoint is of another model, or holds NaN or infinities.
    """
    for part in ("model", "optimizer"):
        place = _nonfinite(checkpoint[part])
        if place is not None:
            raise _unfit(path, f"holds NaN or infinities, in {part}{place}: training it further is in vain")
    try:
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        shuffling.set_state(checkpoint["random"]["shuffling"])
        polyad.set_rng_state(checkpoint["random"]["default"])
        if checkpoint.get("middle") is not None:
            loader.load_state_dict(checkpoint["middle"].get("loader"))
    except (PolyadError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise _unfit(path, f"is a checkpoint of another model: {str(error).splitlines()[0]}") from error


def _nonfinite(value: Any) -> str | None:
    """Where in nested dicts and lists the first tensor is that has an element which is no finite number."""
    if isinstance(value, polyad.Tensor):
        return None if value.isfinite().all() else ""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, item in items:
        place = _nonfinite(item)
        if place is not None:
            return f"[{key!r}]{place}"
    return None


def _unfit(path: Path, what: str) -> SerializationError:
    return SerializationError(
        f"{path} {what}",
        fix="name a checkpoint that polyad demo wrote for the same --data, or start anew without --resume",
    )
