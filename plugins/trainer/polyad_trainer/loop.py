"""The training loop.

For each batch: forget the gradients, compute the loss, compute gradients, clip them, step the optimizer; then step
schedules, log, validate if it is time, and tell callbacks that this is a safe point: everything that follows from the
batch is done, so a checkpoint that is saved now resumes with the next batch.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import polyad
from polyad import Tensor, nn
from polyad.errors import ArgumentError, NonFiniteError

from .evaluation import evaluate
from .results import Results
from .screen import Waiting
from .seeds import set_random_state

__all__ = ["run"]

LINTED_STEPS = 10
"""Steps that `polyad.lint` watches, as many as it waits before it says "never": of a small model it costs a quarter."""


def run(trainer: Any, resumed: dict[str, Any] | None) -> None:
    """Train until the epochs or steps are done, somebody asks to stop, or Ctrl-C."""
    hooks = trainer.hooks
    if resumed is None and trainer.num_sanity_val_steps and trainer.val_dataloaders:
        trainer.sanity_checking = True
        hooks.call("on_sanity_check_start", trainer)
        evaluate(trainer, "validation", trainer.num_sanity_val_steps)
        hooks.call("on_sanity_check_end", trainer)
        trainer.sanity_checking = False
        trainer.callback_metrics.clear()
        trainer.loop_random()
    hooks.call("on_train_start", trainer)
    if resumed is not None:
        set_random_state(resumed["random"], trainer.loaders)
    lint = polyad.lint() if trainer.lint else None
    trainer.stop_lint = lint.stop if lint is not None else lambda: None
    try:
        while not trainer.done():
            _epoch(trainer, resumed)
            resumed = None
            if trainer.interrupted or trainer.max_steps_done():
                break
            trainer.current_epoch += 1
            trainer.batches_done = 0
            trainer.at_epoch_end = False
    finally:
        trainer.results = None
        trainer.stop_lint()
    hooks.call("on_train_end", trainer)
    if trainer.at_epoch_end and (trainer.interrupted or trainer.max_steps_done()):
        trainer.current_epoch += 1
        trainer.batches_done = 0
        trainer.at_epoch_end = False


def _epoch(trainer: Any, resumed: dict[str, Any] | None) -> None:
    module, hooks = trainer.lightning_module, trainer.hooks
    middle = trainer.batches_done > 0
    if not middle:
        trainer.training_results = Results(training=True)
    trainer.results = trainer.training_results
    trainer.at_epoch_end = trainer.validated = False
    module.train()
    trainer.sampler_epoch()
    hooks.call("on_train_epoch_start", trainer)
    if middle and resumed is not None:
        set_random_state(resumed["random"], trainer.loaders)
    waiting = Waiting()
    total = trainer.num_training_batches
    epochs = f"/{trainer.max_epochs}" if trainer.max_epochs not in (None, -1) else ""
    title = f"epoch {trainer.current_epoch + 1}{epochs}"
    trainer.bar.begin(title, total, trainer.batches_done)
    complete = False
    had = trainer.batches_done
    try:
        for batch in _batches(trainer, waiting, total):
            _batch(trainer, batch, trainer.batches_done, waiting)
            if total is not None and trainer.batches_done >= total:
                complete = True
                break
            if trainer.interrupted or trainer.max_steps_done() or (trainer.should_stop and trainer.may_stop()):
                break
        else:
            complete = True
    finally:
        trainer.bar.end()
    if not complete and not (trainer.should_stop or trainer.max_steps_done()):
        return  # Ctrl-C: the epoch goes on when the run is resumed
    if trainer.batches_done == had and not middle:
        _tell_of_no_batches(trainer)
    _step_with_the_rest(trainer)
    trainer.passed_over = 0
    trainer.at_epoch_end = True
    values, unlogged = trainer.training_results.epoch_values()
    trainer.callback_metrics.update(values)
    if _validates_at_end(trainer):
        trainer.validate_now()
    hooks.call("on_train_epoch_end", trainer)
    more, others = trainer.training_results.epoch_values()  # what the hook logged
    values.update(more)
    trainer.callback_metrics.update(values)
    trainer.track({name: value for name, value in values.items() if name not in unlogged | others})
    rates = trainer.learning_rates  # of the epoch that ends: a schedule changes them now
    trainer.steps.step_schedules("epoch", trainer.current_epoch + 1)
    shown = {n: v for n, v in trainer.callback_metrics.items() if trainer.on_bar(n)}
    trainer.bar.line(title, {**(shown or values), **rates}, waiting)
    hooks.call("on_safe_point", trainer)


def _step_with_the_rest(trainer: Any) -> None:
    """Step with the gradients that a step of several batches has so far: where nobody knew which batch is the last."""
    if not trainer.pending:
        return
    loss = trainer.last_loss
    trainer.lightning_module.optimizer_step(
        trainer.current_epoch, trainer.batches_done - 1, trainer.steps.wrapped[0], lambda: loss
    )
    trainer.steps.step_schedules("step", trainer.global_step)
    if trainer.global_step % trainer.log_every_n_steps == 0:
        trainer.track(trainer.training_results.step_values())


def _tell_of_no_batches(trainer: Any) -> None:
    if trainer.told_of_no_batches or trainer.num_training_batches == 0:
        return
    trainer.told_of_no_batches = True
    warnings.warn(
        f"epoch {trainer.current_epoch + 1} had no batches: pass data that can be read again and again, a DataLoader "
        "say, not an iterator over them",
        stacklevel=2,
    )


def _batches(trainer: Any, waiting: Waiting, total: int | None) -> Iterator[Any]:
    if total is not None and trainer.batches_done >= total:
        return iter(())
    batches = waiting.over(trainer.train_dataloader)
    for _ in range(trainer.passed_over):
        next(batches, None)
    trainer.passed_over = 0
    return batches


def _batch(trainer: Any, batch: Any, index: int, waiting: Waiting) -> None:
    """Learn from a batch, and do what follows from it."""
    module, hooks, steps = trainer.lightning_module, trainer.hooks, trainer.steps
    trainer.validated = False
    batch = module.transfer_batch_to_device(batch, trainer.device, 0)
    trainer.note_batch(batch)
    hooks.call("on_train_batch_start", trainer, batch, index)
    before = trainer.global_step
    total = trainer.num_training_batches
    if module.automatic_optimization:
        outputs = _learn(trainer, batch, index, last=total is not None and index + 1 == total)
    else:
        with trainer.autocast():
            outputs = module.training_step(batch, index)
        _check(trainer, _loss(outputs), batch, index)
    trainer.batches_done = index + 1
    stepped = trainer.global_step > before
    if stepped:
        if module.automatic_optimization:
            steps.step_schedules("step", trainer.global_step)
        if trainer.global_step >= LINTED_STEPS:
            trainer.stop_lint()
    hooks.call("on_train_batch_end", trainer, outputs, batch, index)
    if stepped and trainer.global_step % trainer.log_every_n_steps == 0:
        trainer.track(trainer.training_results.step_values())
    trainer.bar.batch(trainer, waiting)
    every = trainer.val_check_batches
    if every and trainer.batches_done % every == 0 and trainer.validates_this_epoch():
        trainer.callback_metrics.update(trainer.training_results.step_values())
        trainer.validate_now()
        module.train()
    if total is None or trainer.batches_done < total:
        hooks.call("on_safe_point", trainer)


def _learn(trainer: Any, batch: Any, index: int, last: bool) -> Any:
    """The five steps, with accumulation; gives what training_step returned."""
    module, steps = trainer.lightning_module, trainer.steps
    given: list[Any] = [None]
    count = trainer.accumulate_grad_batches

    def closure() -> Any:
        if trainer.pending == 0:
            for optimizer in trainer.optimizers:
                trainer.hooks.call("on_before_zero_grad", trainer, optimizer)
                optimizer.zero_grad()
        random = polyad.default_generator.take(0)  # its state as a tensor takes a hundred times as long
        with trainer.autocast():
            given[0] = module.training_step(batch, index)
        loss = _loss(given[0])
        if loss is None:
            return None
        _check(trainer, loss, batch, index, random)
        steps.backward(loss / count if count > 1 else loss)
        if count > 1:
            trainer.last_loss = loss.detach()
        return loss

    if (trainer.pending + 1) % count and not last:
        if closure() is not None:
            trainer.pending += 1
        return given[0]
    if len(trainer.optimizers) != 1:
        raise ArgumentError(
            f"configure_optimizers returned {len(trainer.optimizers)} optimizers; automatic optimization takes one",
            fix="set self.automatic_optimization = False in __init__, and step them in training_step",
        )
    module.optimizer_step(trainer.current_epoch, index, steps.wrapped[0], closure)
    return given[0]


def _loss(outputs: Any) -> Any:
    if outputs is None or isinstance(outputs, Tensor):
        return outputs
    if isinstance(outputs, dict) and "loss" in outputs:
        return outputs["loss"]
    raise ArgumentError(
        f"training_step returned {type(outputs).__name__}", fix='return the loss, a dict with "loss", or None'
    )


def _check(trainer: Any, loss: Any, batch: Any, index: int, random: Any = None) -> None:
    """Stop where the loss is no number: before its gradients reach the weights."""
    if loss is None or not trainer.check_loss:
        return
    value = loss.item()
    if math.isfinite(value):
        return
    notes = {}
    module = trainer.lightning_module
    broken = [name for name, p in module.named_parameters() if not bool(p.detach().isfinite().all())]
    if broken:
        notes["first"] = f"the weights were NaN or infinite before: {', '.join(broken[:3])}"
    else:
        notes = _origin(trainer, batch, index, random)
    notes["safe"] = trainer.what_is_safe()
    raise NonFiniteError(
        f"the loss of epoch {trainer.current_epoch + 1}, batch {index + 1} is {value}",
        notes=notes,
        fix="take shorter steps, clip gradients (gradient_clip_val), or look at the batch",
    )


def _origin(trainer: Any, batch: Any, index: int, random: Any) -> dict[str, str]:
    """Which op of which module gave the first NaN or infinity: the step is done again, looking at every result."""
    module = trainer.lightning_module
    if not module.automatic_optimization:
        return {}  # its step would step optimizers
    seed, offset = random
    polyad.manual_seed(seed).take(4 * offset)
    try:
        with polyad.detect_nonfinite(), trainer.autocast():
            module.training_step(batch, index)
    except NonFiniteError as first:
        notes = {"first": first.message, **first.lines}
        names = {id(part): name for name, part in module.named_modules()}
        frame, inner = first.__traceback__, module
        while frame is not None:  # the innermost module at work
            own = frame.tb_frame.f_locals.get("self")
            inner = own if isinstance(own, nn.Module) and id(own) in names else inner
            frame = frame.tb_next
        path = ".".join(filter(None, ("model", names[id(inner)])))
        return {**notes, "in": f"{path} ({first.module_description or type(inner).__name__})"}
    except Exception as error:
        return {"first": f"not found: done again, the step raised {type(error).__name__}"}
    return {}


def _validates_at_end(trainer: Any) -> bool:
    return bool(trainer.val_dataloaders) and not trainer.val_check_batches and trainer.validates_this_epoch()
