"""Mistakes with graphs: run twice (PL002), recorded in eval mode for training (PL004) or for nothing (PL005), kept
(PL006).
"""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

from ...base.state import state, user_line
from ...errors import AutogradError
from ...history.node import Leaf
from ...nn.modules.batchnorm import BatchNorm
from ...nn.modules.dropout import Dropout
from .session import Rule, Session, tensors_in

if TYPE_CHECKING:
    from ...nn.modules.module import Module
    from ...optim.optimizer import Optimizer
    from ...tensor import Tensor

__all__ = ["EvalModeGraphs", "FreedGraph", "KeptLosses", "TrainingInEval"]


class FreedGraph(Rule):
    """PL002. Backward through a freed graph is an error anyway; this adds which backward freed it."""

    code = "PL002"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._lines: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def after_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        line = user_line()
        for root in roots:
            if root._node is not None and not isinstance(root._node, Leaf):
                self._lines.setdefault(root._node, line)

    def backward_failed(self, roots: list[Tensor], error: Exception) -> None:
        if not (isinstance(error, AutogradError) and "freed" in error.message):
            return
        lines = [self._lines[root._node] for root in roots if root._node in self._lines]
        if lines:
            text = f"backward of this same tensor ran at {lines[0]}; the loss must be computed anew for each"
        else:
            text = (
                "part of the graph belongs to an earlier backward: a tensor kept from an earlier step, such as a "
                "hidden state? detach() it between steps"
            )
        error.lines[self.code] = text


class _Output:
    """What a model returned in eval mode with gradients on: whether a gradient has arrived there yet, and whether it
    can still arrive.
    """

    __slots__ = ("__weakref__", "alive", "model", "nodes", "used")

    def __init__(self, model: Module, tensors: list[Tensor], wasted: weakref.WeakKeyDictionary[Module, int]) -> None:
        self.model = weakref.ref(model)
        self.used = False
        self.alive = len(tensors)
        for tensor in tensors:
            tensor.register_hook(self._arrived)
        # In a callback nothing may be raised, as a warning would be under "error": it only counts.
        self.nodes = [weakref.ref(tensor._node, lambda _: self._died(wasted)) for tensor in tensors]

    def _arrived(self, gradient: Tensor) -> None:
        self.used = True

    def _died(self, wasted: weakref.WeakKeyDictionary[Module, int]) -> None:
        self.alive -= 1
        model = self.model()
        if not self.alive and not self.used and model is not None:
            wasted[model] = wasted.get(model, 0) + 1


class EvalModeGraphs(Rule):
    """PL005. A model in eval mode was called with gradients on, and its graph died without a backward; more than once.

    A gradient that arrives at the result, for a saliency map or an attack, makes the graph count as used.
    """

    code = "PL005"
    ENOUGH = 2

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._outputs: list[_Output] = []
        self._wasted: weakref.WeakKeyDictionary[Module, int] = weakref.WeakKeyDictionary()

    def model_called(self, model: Module, result: Any) -> None:
        self._tell()
        tensors = _recorded_values(result)
        if not model.training and tensors and state.grad_enabled and any(p.requires_grad for p in model.parameters()):
            self._outputs = [output for output in self._outputs if output.alive]
            self._outputs.append(_Output(model, tensors, self._wasted))

    def after_step(self, optimizer: Optimizer) -> None:
        self._tell()

    def finish(self) -> None:
        self._tell()
        self._outputs.clear()

    def _tell(self) -> None:
        for model, count in list(self._wasted.items()):
            if count >= self.ENOUGH:
                self.session.report(
                    self.code,
                    f"{type(model).__name__} in eval mode recorded graphs that no backward has used",
                    "evaluate under polyad.no_grad(), which saves their time and memory",
                    model,
                )


class TrainingInEval(Rule):
    """PL004. A step on parameters whose gradients came through a model that was in eval mode when it was called, where
    that makes a difference: it has dropout or batch normalization, all of them in eval mode too.

    A model in train mode with single layers in eval mode is a choice; so is a model in eval mode beside another in
    train mode that the same step trains.
    """

    code = "PL004"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._nothing: weakref.WeakKeyDictionary[Module, int] = weakref.WeakKeyDictionary()
        self._in_eval: list[_Output] = []
        self._in_train: weakref.WeakSet[Module] = weakref.WeakSet()

    def model_called(self, model: Module, result: Any) -> None:
        tensors = _recorded_values(result)
        if not tensors or not state.grad_enabled:
            return
        if model.training:
            self._in_train.add(model)
        elif _differs_in_eval(model):
            self._in_eval = [output for output in self._in_eval if output.alive or output.used][-64:]
            self._in_eval.append(_Output(model, tensors, self._nothing))

    def after_step(self, optimizer: Optimizer) -> None:
        held = {id(param) for group in optimizer.param_groups for param in group["params"] if param._grad is not None}

        def trains(model: Module | None) -> bool:
            return model is not None and any(id(param) in held for param in model.parameters())

        trained = [output for output in self._in_eval if output.used and trains(output.model())]
        beside = [model for model in self._in_train if trains(model)]
        if trained and not beside:
            model = trained[0].model()
            self.session.report(
                self.code,
                f"{type(optimizer).__name__}.step() trains {type(model).__name__}, which was in eval mode: its dropout "
                "drops nothing, its batch normalization learns no statistics",
                "call model.train() before the training loop, after each validation",
                optimizer,
            )
        self._in_eval = [output for output in self._in_eval if output not in trained]
        self._in_train.difference_update(beside)


class KeptLosses(Rule):
    """PL006. The tensors that backward ran from in several earlier steps are still alive, or their nodes are."""

    code = "PL006"
    ENOUGH = 5

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._roots: list[tuple[weakref.ref[Any], int]] = []
        self._steps = 0
        self._optimizers: weakref.WeakSet[Optimizer] = weakref.WeakSet()

    def before_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        if accumulates:
            self._roots += [
                (weakref.ref(root._node), self._steps)
                for root in roots
                if root._node is not None and not isinstance(root._node, Leaf)
            ]

    def after_step(self, optimizer: Optimizer) -> None:
        self._steps += 1
        self._optimizers.add(optimizer)
        if len(self._kept()) >= self.ENOUGH:
            gc.collect()  # cycles in the program are no mistake
            kept = self._kept()
            if len(kept) >= self.ENOUGH:
                self.session.report(
                    self.code,
                    f"the losses of {len(kept)} earlier steps are still alive, each with its graph",
                    "keep numbers: total += loss.item(), or loss.detach() where waiting for the device matters",
                )
                self._roots.clear()

    def _kept(self) -> set[int]:
        self._roots = [entry for entry in self._roots if entry[0]() is not None]
        # The last iteration's loss is bound to a variable until the next; an iteration may make several steps.
        newest = self._steps - 2 * len(self._optimizers)
        return {step for _, step in self._roots if step < newest}


def _recorded_values(result: Any) -> list[Tensor]:
    return [tensor for tensor in tensors_in(result) if tensor._node is not None and not isinstance(tensor._node, Leaf)]


def _differs_in_eval(model: Module) -> bool:
    """Whether the model has layers that work differently in training, and all of them are in eval mode."""
    layers = [
        layer
        for layer in model.modules()
        if (isinstance(layer, BatchNorm) and layer.running_mean is not None)
        or (isinstance(layer, Dropout) and layer.p > 0)
    ]
    return bool(layers) and not any(layer.training for layer in layers)
