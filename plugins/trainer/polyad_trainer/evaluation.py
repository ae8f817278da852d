"""A pass over data that learns nothing: validation, test, prediction."""

from __future__ import annotations

from typing import Any

import polyad
from polyad.errors import ArgumentError

from .callbacks import takes
from .results import Results
from .screen import Waiting

__all__ = ["evaluate"]


def evaluate(trainer: Any, kind: str, limit: Any = None, whole: bool = False) -> list[Any]:
    """Call ``{kind}_step`` for every batch of the loaders; the values of each loader, or the predictions.

    The module is in eval mode meanwhile, and no graph is built. Of several loaders, the values of each have its number
    in their names. Ctrl-C ends it after a batch, unless it is to be *whole*: what follows from a validation of a
    training run, schedules and the choice of the best, must not follow from a part of the data.
    """
    module, hooks = trainer.lightning_module, trainer.hooks
    loaders = trainer.evaluated[kind]
    step = getattr(module, "predict_step" if kind == "predict" else f"{kind}_step")
    several = len(loaders) > 1
    if several and takes(step) < 3:
        raise ArgumentError(
            f"{type(module).__name__}.{step.__name__} takes no dataloader_idx, and there are {len(loaders)} loaders",
            fix=f"define {step.__name__}(self, batch, batch_idx, dataloader_idx=0)",
        )
    modes = {part: part.training for part in module.modules()}
    outer, trainer.results = trainer.results, Results(training=False)
    results = trainer.results
    found: list[Any] = []
    module.eval()
    try:
        with polyad.no_grad():
            hooks.call(f"on_{kind}_start", trainer)
            hooks.call(f"on_{kind}_epoch_start", trainer)
            for number, loader in enumerate(loaders):
                predictions = []
                waiting = Waiting()
                total = trainer.limited(loader, limit if limit is not None else trainer.limits[kind])
                results.loader = number if several else None
                for index, batch in enumerate(waiting.over(() if total == 0 else loader)):
                    batch = module.transfer_batch_to_device(batch, trainer.device, number)
                    trainer.note_batch(batch)
                    hooks.call(f"on_{kind}_batch_start", trainer, batch, index, number)
                    with trainer.autocast():
                        extra = (number,) if several else ()
                        outputs = step(batch, index, *extra)
                    hooks.call(f"on_{kind}_batch_end", trainer, outputs, batch, index, number)
                    if kind == "predict":
                        predictions.append(outputs)
                    if index + 1 == total or (trainer.interrupted and not whole):
                        break
                found.append(predictions)
                results.end_of_loader()
            hooks.call(f"on_{kind}_epoch_end", trainer)
            values, unlogged = results.epoch_values()
            trainer.callback_metrics.update(values)
            hooks.call(f"on_{kind}_end", trainer)
            if not trainer.sanity_checking and kind != "predict":
                trainer.track({name: value for name, value in values.items() if name not in unlogged})
    finally:
        trainer.results = outer
        for part, mode in modes.items():
            part.training = mode
    return found if kind == "predict" else _by_loader(values, len(loaders))


def _by_loader(values: dict[str, float], count: int) -> list[dict[str, float]]:
    """The values of each loader, with those that are of all of them."""
    if count == 1:
        return [values]
    own = [{name for name in values if name.endswith(f"/dataloader_idx_{number}")} for number in range(count)]
    shared = values.keys() - set().union(*own)
    return [{name: value for name, value in values.items() if name in names or name in shared} for names in own]
