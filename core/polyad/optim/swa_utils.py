"""Averages of a model over its training: stochastic weight averaging (Izmailov et al. 2018) and moving averages.

The averaged model is a module of its own; batch normalization needs its statistics computed again for it (`update_bn`).
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from ..arguments import explain
from ..base.device import Device
from ..base.dtypes import int64
from ..errors import ArgumentError, OptionError
from ..history.grad_mode import no_grad
from ..nn.modules.batchnorm import BatchNorm
from ..nn.modules.module import Module
from ..ops.creation.factories import tensor
from ..tensor import Tensor
from .lr_scheduler.scheduler import LRScheduler, check_optimizer, per_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
ManyAverages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The moving average ``decay * average + (1 - decay) * parameter``, for `AveragedModel`.

    Raises ValueError unless decay is in [0, 1].

    >>> import polyad
    >>> from polyad.optim.swa_utils import get_ema_avg_fn
    >>> get_ema_avg_fn(0.75)(polyad.tensor(4.0), polyad.tensor(8.0), 1).item()
    5.0
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return ema_param * decay + current_param * (1 - decay)

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> ManyAverages:
    """As `get_ema_avg_fn`, of a list of parameters, written over the averages.

    Raises ValueError unless decay is in [0, 1].

    >>> import polyad
    >>> from polyad.optim.swa_utils import get_ema_multi_avg_fn
    >>> averages = [polyad.tensor([4.0])]
    >>> get_ema_multi_avg_fn(0.75)(averages, [polyad.tensor([8.0])], 1)
    >>> averages[0].tolist()
    [5.0]
    """
    return _each(get_ema_avg_fn(decay))


def get_swa_avg_fn() -> Average:
    """The mean of all parameters so far, for `AveragedModel`.

    >>> import polyad
    >>> from polyad.optim.swa_utils import get_swa_avg_fn
    >>> get_swa_avg_fn()(polyad.tensor(4.0), polyad.tensor(8.0), 1).item()
    6.0
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        mean: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
        return mean

    return swa_update


def get_swa_multi_avg_fn() -> ManyAverages:
    """As `get_swa_avg_fn`, of a list of parameters, written over the averages.

    >>> import polyad
    >>> from polyad.optim.swa_utils import get_swa_multi_avg_fn
    >>> averages = [polyad.tensor([4.0])]
    >>> get_swa_multi_avg_fn()(averages, [polyad.tensor([8.0])], 1)
    >>> averages[0].tolist()
    [6.0]
    """
    return _each(get_swa_avg_fn())


def _each(average: Average) -> ManyAverages:
    @no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        for mean, param in zip(averaged, current, strict=True):
            mean.copy_(average(mean, param, num_averaged))

    return update


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ArgumentError(
            f"swa_utils: decay must be between 0 and 1, not {decay}", fix="choose another decay, such as 0.999"
        )


class AveragedModel(Module):
    """A copy of a model that holds averages of its parameters.

    Args:
        model: the model whose parameters are averaged.
        device: where the averages are; None for where the model is.
        avg_fn: ``avg_fn(average, parameter, num_averaged)`` gives a new average; the mean by default.
        multi_avg_fn: the same for lists, writing over the averages; instead of *avg_fn*.
        use_buffers: average buffers, too; otherwise they are copied.

    Raises:
        AssertionError: both functions are given.

    >>> import polyad
    >>> from polyad import nn
    >>> from polyad.optim.swa_utils import AveragedModel
    >>> model = nn.Linear(1, 1)
    >>> averaged = AveragedModel(model)
    >>> for weight in (1.0, 3.0):
    ...     _ = nn.init.constant_(model.weight, weight)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device | str | int | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: ManyAverages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise TwoAverages(
                "AveragedModel: avg_fn and multi_avg_fn cannot both be given", fix="leave one of them out"
            )
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the parameters of *model* into the averages; the first time they become the averages.

        Raises:
            ValueError: its parameters have other shapes; nothing was changed.
        """
        mine, theirs = ([*_averaged(module, self.use_buffers)] for module in (self.module, model))
        if [tuple(tensor.shape) for tensor in mine] != [tuple(tensor.shape) for tensor in theirs]:
            raise ArgumentError(
                "AveragedModel.update_parameters: other parameters than those of the averages; nothing was changed",
                notes={"averages": f"{len(mine)} tensors", "model": f"{len(theirs)} tensors"},
                fix="pass the model of which the averages were made",
            )
        means = [mean.detach() for mean in mine]
        current = [param.detach().to(mean.device) for mean, param in zip(means, theirs, strict=True)]
        if int(self.n_averaged) == 0:
            for mean, param in zip(means, current, strict=True):
                mean.copy_(param)
        else:
            update = self.multi_avg_fn or _each(self.avg_fn or get_swa_avg_fn())
            together: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
            for mean, param in zip(means, current, strict=True):
                group = together.setdefault((mean.device, mean.dtype), ([], []))
                group[0].append(mean)
                group[1].append(param)
            for (device, _), (some_means, some_params) in together.items():
                update(some_means, some_params, self.n_averaged.to(device))
        if not self.use_buffers:
            for mine_, theirs_ in zip(self.module.buffers(), model.buffers(), strict=True):
                mine_.detach().copy_(theirs_.detach().to(mine_.device))
        self.n_averaged += 1


class TwoAverages(OptionError, AssertionError):
    """Two functions for the same thing."""


def _averaged(module: Module, buffers: bool) -> Iterable[Tensor]:
    return itertools.chain(module.parameters(), module.buffers() if buffers else ())


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device | str | int | None = None) -> None:
    """Compute the running statistics of batch normalization again: the means over the batches of *loader*.

    Of a batch that is a list or a tuple the first entry is the input. The model's modes and momenta stay what they are,
    also if an input fails.

    >>> import polyad
    >>> from polyad import nn
    >>> from polyad.optim.swa_utils import update_bn
    >>> model = nn.BatchNorm1d(1)
    >>> update_bn([polyad.tensor([[1.0], [3.0]]), polyad.tensor([[5.0], [7.0]])], model)
    >>> model.running_mean.tolist()
    [4.0]
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, BatchNorm)}
    if not momenta:
        return
    modes = [(module, module.training) for module in model.modules()]
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    try:
        model.train()
        for batch in loader:
            inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        for part, training in modes:
            part.training = training


class SWALR(LRScheduler):
    """Let the learning rate go to *swa_lr* in *anneal_epochs* steps, along a cosine or a line, and stay there.

    Raises ValueError if *swa_lr* has another number of entries than there are groups, *anneal_strategy* is another word
    or *anneal_epochs* no whole number from 0 on.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(3):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    ...     print(scheduler.get_last_lr())
    [0.75]
    [0.5]
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        check_optimizer("SWALR", optimizer)
        rates = per_group("SWALR", "swa_lr", swa_lr, optimizer)
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                f"SWALR: anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}",
                fix="choose one of the two",
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentError(
                f"SWALR: anneal_epochs must be a whole number from 0 on, not {anneal_epochs}",
                fix="choose another anneal_epochs",
            )
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * done)) / 2 if self._anneal_strategy == "cos" else done

    def get_lr(self) -> list[Any]:
        """The rates between those at the beginning, which follow from the groups' rates, and `swa_lr`."""
        self._warn_outside_of_step()
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates


explain(globals())
