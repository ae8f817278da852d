"""A checkpoint: all that a run needs to go on as if it had not stopped.

polyad_trainer      the version of this dict, 1
class               what the module is called
state_dict          the module's weights               hyper_parameters  what save_hyperparameters kept
optimizers, schedules, scaler                          their states
epoch, batch        epochs finished, batches of the next that are done, global_step
loader              where the training loader is in its epoch, or None between epochs
random              the generators                     gradients  where a step of several batches is not done
callbacks, trackers their states                       logged     the epoch's sums, and the last values
overfit             the generators before the batches of overfit_batches were taken, or None
"""

from __future__ import annotations

import warnings
from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import NonFiniteError, PolyadError, SerializationError

from .seeds import random_state, set_random_state

__all__ = ["captured", "read", "restore"]

VERSION = 1
_NEEDED = {"state_dict": dict, "optimizers": list, "schedules": list, "epoch": int, "batch": int, "global_step": int,
           "random": dict, "callbacks": dict, "logged": dict, "hyper_parameters": dict}  # fmt: skip


def captured(trainer: Any) -> dict[str, Any]:
    """The state of a run.

    Raises:
        NonFiniteError: a weight is NaN or infinite: the last good checkpoint is kept.
    """
    module = trainer.lightning_module
    weights = module.state_dict()
    broken = [name for name, value in module.named_parameters() if not bool(value.detach().isfinite().all())]
    if broken:
        raise NonFiniteError(
            f"the weights are NaN or infinite after step {trainer.global_step}",
            notes={"first": broken[0], "of": f"{len(broken)} parameters", "safe": trainer.what_is_safe()},
            fix="take shorter steps, or pass detect_anomaly=True to Trainer, which names the op",
        )
    middle = trainer.batches_done > 0 and not trainer.at_epoch_end
    loader = trainer.train_dataloader
    gradients = None
    if trainer.pending or not module.automatic_optimization:
        gradients = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    checkpoint = {
        "polyad_trainer": VERSION,
        "class": type(module).__qualname__,
        "state_dict": weights,
        "hyper_parameters": _plain(dict(getattr(module, "hparams", {}))),
        "optimizers": [optimizer.state_dict() for optimizer in trainer.optimizers],
        "schedules": [schedule.scheduler.state_dict() for schedule in trainer.schedules],
        "scaler": trainer.steps.scaler.state_dict() if trainer.steps.scaler is not None else None,
        "epoch": trainer.current_epoch + trainer.at_epoch_end,
        "batch": trainer.batches_done if middle else 0,
        "global_step": trainer.global_step,
        "pending": trainer.pending,
        "gradients": gradients,
        "loader": loader.state_dict() if middle and hasattr(loader, "state_dict") else None,
        "random": random_state(trainer.loaders),
        "overfit": trainer.overfit_random,
        "trackers": trainer.tracker_states(),
        "callbacks": {c.state_key: c.state_dict() for c in trainer.callbacks if hasattr(c, "state_dict")},
        "logged": {
            "sums": trainer.training_results.state() if middle else {},
            "values": {name: float(value) for name, value in trainer.callback_metrics.items()},
        },
    }
    module.on_save_checkpoint(checkpoint)
    trainer.hooks.call("on_save_checkpoint", trainer, checkpoint)
    return checkpoint


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """What of hyper-parameters can be saved."""

    def fits(value: Any) -> bool:
        if isinstance(value, dict):
            return all(isinstance(key, str) and fits(item) for key, item in value.items())
        if isinstance(value, list | tuple):
            return all(map(fits, value))
        return value is None or isinstance(value, int | float | str | bytes | Tensor | polyad.dtype | polyad.device)

    return {name: value for name, value in values.items() if fits(value)}


def read(path: Any, map_location: Any = None) -> dict[str, Any]:
    """A checkpoint from a file of `ModelCheckpoint`, or of `Trainer.save_checkpoint`."""
    found = polyad.load(path, map_location="cpu" if map_location is None else map_location)
    if isinstance(found, dict) and found.keys() == {"step", "score", "object"}:
        found = found["object"]
    return checked(found, path)


def checked(found: Any, path: Any) -> dict[str, Any]:
    """*found*, if it is a checkpoint; raises SerializationError otherwise."""
    version = found.get("polyad_trainer") if isinstance(found, dict) else None
    if version is None:
        raise _unfit(path, "is not a checkpoint of polyad.trainer")
    if version != VERSION:
        raise SerializationError(
            f"{path} is a checkpoint of version {version!r}; this polyad reads version {VERSION}",
            fix="load it with the polyad that wrote it, or load its weights alone: polyad.load(path)",
        )
    for name, type_ in _NEEDED.items():
        if not isinstance(found.get(name), type_):
            raise _unfit(path, f"is a checkpoint without {name}")
    return found


def restore(trainer: Any, found: dict[str, Any], path: Any) -> None:
    """Put a run where its checkpoint was taken.

    Raises:
        SerializationError: it is of another model, or other optimizers or data.
    """
    module = trainer.lightning_module
    for name, parts in (("optimizers", trainer.optimizers), ("schedules", trainer.schedules)):
        if len(found[name]) != len(parts):
            raise _unfit(path, f"has {len(found[name])} {name}, this run has {len(parts)}")
    if (found["scaler"] is None) != (trainer.steps.scaler is None):
        raise _unfit(path, "was made with another precision")
    try:
        module.on_load_checkpoint(found)
        module.load_state_dict(found["state_dict"])
        for optimizer, state in zip(trainer.optimizers, found["optimizers"]):
            optimizer.load_state_dict(state)
        for schedule, state in zip(trainer.schedules, found["schedules"]):
            schedule.scheduler.load_state_dict(state)
        if found["scaler"] is not None:
            trainer.steps.scaler.load_state_dict(found["scaler"])
        named = dict(module.named_parameters())
        for name, gradient in (found["gradients"] or {}).items():
            named[name].grad = gradient.to(named[name].device)
        for callback in trainer.callbacks:
            state = found["callbacks"].get(getattr(callback, "state_key", None))
            if state is not None:
                callback.load_state_dict(state)
        trainer.load_tracker_states(found.get("trackers") or {})
        trainer.current_epoch, trainer.batches_done = found["epoch"], found["batch"]
        trainer.global_step, trainer.pending = found["global_step"], found["pending"]
        trainer.callback_metrics.update(found["logged"]["values"])
        trainer.training_results.load(found["logged"]["sums"], trainer.device)
        if found["batch"]:
            if found["loader"] is not None and hasattr(trainer.train_dataloader, "load_state_dict"):
                trainer.train_dataloader.load_state_dict(found["loader"])
            else:
                trainer.passed_over = found["batch"]
            if trainer.passed_over and not trainer.overfit_batches:
                warnings.warn(
                    f"the training data have no state_dict: {found['batch']} batches are read again and passed over",
                    stacklevel=2,
                )
        set_random_state(found["random"], trainer.loaders)
        trainer.hooks.call("on_load_checkpoint", trainer, found)
    except (PolyadError, KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise _unfit(path, f"is a checkpoint of another model: {str(error).splitlines()[0]}") from error


def _unfit(path: Any, what: str) -> SerializationError:
    return SerializationError(f"{path} {what}", fix="name a checkpoint of this module, or start anew without ckpt_path")
