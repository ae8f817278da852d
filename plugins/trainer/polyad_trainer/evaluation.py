"""A pass over data that learns nothing: validation, test, prediction."""

from __future__ import annotations

from typing import Any

import polyad

from .results import Results
from .screen import Waiting

__all__ = ["evaluate"]


def evaluate(trainer: Any, kind: str, limit: Any = None) -> list[Any]:
    """Call ``{kind}_step`` for every batch of the loaders; the values of each loader, or the predictions.

    The module is in eval mode meanwhile, and no graph is built.
    """
    module, hooks = trainer.lightning_module, trainer.hooks
    loaders = trainer.evaluated[kind]
    step = getattr(module, "predict_step" if kind == "predict" else f"{kind}_step")
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
                if total == 0:
                    continue
                for index, batch in enumerate(waiting.over(loader)):
                    batch = module.transfer_batch_to_device(batch, trainer.device, number)
                    trainer.note_batch(batch)
                    hooks.call(f"on_{kind}_batch_start", trainer, batch, index, number)
                    with trainer.autocast():
                        extra = (number,) if len(loaders) > 1 else ()
                        outputs = step(batch, index, *extra)
                    hooks.call(f"on_{kind}_batch_end", trainer, outputs, batch, index, number)
                    if kind == "predict":
                        predictions.append(outputs)
                    if index + 1 == total or trainer.interrupted:
                        break
                found.append(predictions)
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
    return found if kind == "predict" else [values]
