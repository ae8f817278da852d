"""GradScaler: float16 gradients are kept in range by a factor of the loss, which follows what overflows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from ..arguments import check_type, explain
from ..base.device import Device
from ..base.dtypes import float16, float32
from ..base.memory_formats import strided
from ..base.state import state, warn_user
from ..devices import registry
from ..dispatch.modes import Setting
from ..errors import ArgumentError, OptionError, PolyadError, SettingError
from ..history.grad_mode import no_grad
from ..ops.creation.factories import tensor
from ..ops.shaping.joining import stack
from ..tensor import Tensor

__all__ = ["GradScaler"]


class OrderError(PolyadError, RuntimeError):
    """Methods of a scaler that were called in another order than they belong in."""


class NothingChecked(PolyadError, AssertionError):
    """A scaler that is asked about gradients that nobody computed."""


class TooManySkips(SettingError, FloatingPointError):
    """A scaler that has skipped as many steps in a row as it was allowed."""


class _Stage(Enum):
    READY = "no step was taken since the last update()"
    UNSCALED = "unscale_() was called since the last update()"
    STEPPED = "step() was called since the last update()"


def _all_finite(gradient: Any) -> Tensor:
    """Whether a gradient, dense or sparse, has neither infinities nor NaN."""
    elements: Tensor = gradient if gradient.layout is strided else gradient.coalesce()._values()
    return elements.isfinite().all()


class GradScaler:
    """Multiplies the loss, so that small float16 gradients are not 0, and skips the steps whose gradients overflow.

    The scale grows after steps that went well and falls after a skip. After a skip, `last_skip` names the parameters
    whose gradients have infinities or NaN.

    Args:
        device: the device type whose losses are scaled. Where it is "cuda" and there is none, the scaler warns and is
            disabled.
        init_scale: the first scale.
        growth_factor: by what the scale grows after *growth_interval* steps without a skip.
        backoff_factor: by what it falls after a skip.
        growth_interval: see *growth_factor*.
        enabled: False turns all methods into what they are without a scaler.
        max_skips: `update` raises after that many skips in a row; None never does.

    Attributes:
        last_skip: the names of the parameters for which the last step was skipped, by optimizer in the order of their
            steps; empty if no step was. A name is that in ``param_names``, else ``param_groups[0]["params"][3]``.

    Raises:
        ValueError: growth_factor is not above 1, backoff_factor not below 1, or max_skips is not positive.

    >>> import polyad
    >>> from polyad import nn, optim
    >>> model = nn.Linear(2, 1)
    >>> optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    >>> scaler = polyad.amp.GradScaler("cpu")
    >>> loss = model(polyad.full((1, 2), float("inf"))).sum()
    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> scaler.last_skip, scaler.get_scale()
    (['weight'], 32768.0)
    """

    _unexplained = ("scale", "unscale_", "step", "update", "is_enabled", "get_scale")

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
        *,
        max_skips: int | None = None,
    ) -> None:
        self._device = device
        self._enabled = bool(enabled)
        if self._enabled and device == "cuda" and not _has_devices(device):
            warn_user("GradScaler: there is no cuda device, so it is disabled; name another device", UserWarning)
            self._enabled = False
        if self._enabled:
            if not growth_factor > 1.0:
                raise ArgumentError(f"GradScaler: growth_factor must be above 1, not {growth_factor}", fix="pass 2.0")
            if not backoff_factor < 1.0:
                raise ArgumentError(f"GradScaler: backoff_factor must be below 1, not {backoff_factor}", fix="pass 0.5")
        if max_skips is not None and not max_skips > 0:
            raise ArgumentError(f"GradScaler: max_skips must be at least 1, not {max_skips}", fix="leave it out")
        self._scale_value = float(init_scale)
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._max_skips = max_skips
        self._skips = 0
        self._optimizers: dict[int, tuple[Any, _Stage, list[str]]] = {}
        self._divided: set[int] = set()  # optimizers whose gradients were divided before the last update, not stepped
        self._scaled_by: float | None = None  # the scale of the loss that gradients come from
        self.last_skip: list[str] = []

    def scale(self, outputs: Any) -> Any:
        """*outputs*, a tensor or tensors in lists and tuples, times the scale.

        Raises ValueError for what is neither.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            self._scaled_by = self._scale_value
            self._divided.clear()
            return outputs * self._scale_on(outputs.device)
        if isinstance(outputs, Iterable) and not isinstance(outputs, (str, bytes)):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else iter(scaled)
        raise ArgumentError(
            f"GradScaler.scale: outputs must be a tensor or tensors, not {type(outputs).__name__}",
            operands={"outputs": outputs},
            fix="pass the loss",
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of *optimizer* by the scale, in place: between backward and step, to clip them.

        Raises:
            RuntimeError: it was called for the optimizer since the last `update`, or its step was taken.
            ValueError: a gradient is float16: its parameter has to be float32.
        """
        if not self._enabled:
            return
        _, stage, _ = self._known(optimizer)
        if stage is not _Stage.READY:
            raise OrderError(
                f"GradScaler.unscale_: {stage.value}",
                notes={"optimizer": type(optimizer).__name__},
                fix="call unscale_(), step() and update() in this order, once each, after backward()",
            )
        self._check_order("unscale_", optimizer)
        names = self._unscale(optimizer)
        self._optimizers[id(optimizer)] = (optimizer, _Stage.UNSCALED, names)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args)``, unless a gradient has infinities or NaN. Gradients that `unscale_` has not divided
        are divided here.

        Returns:
            What the optimizer's step returned; None if it was skipped.

        Raises:
            RuntimeError: it was called for the optimizer since the last `update`, there is a closure, or `update` came
                between the backward pass and this.
            AssertionError: no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise OrderError(
                "GradScaler.step: an optimizer that needs a closure cannot be scaled: it computes gradients itself",
                fix="use another optimizer, or a dtype that needs no scaling, such as bfloat16",
            )
        _, stage, names = self._known(optimizer)
        if stage is _Stage.STEPPED:
            raise OrderError(
                f"GradScaler.step: {stage.value}",
                notes={"optimizer": type(optimizer).__name__},
                fix="call update() once all optimizers have been stepped",
            )
        if all(param._grad is None for group in optimizer.param_groups for param in group["params"]):
            raise NothingChecked(
                "GradScaler.step: no parameter of the optimizer has a gradient",
                notes={"optimizer": type(optimizer).__name__},
                fix="call scaler.scale(loss).backward() before",
            )
        if stage is _Stage.READY:
            self._check_order("step", optimizer)
            names = self._unscale(optimizer)
        if not any(stage is _Stage.STEPPED for _, stage, _ in self._optimizers.values()):
            self.last_skip = []
        self._optimizers[id(optimizer)] = (optimizer, _Stage.STEPPED, names)
        if names:
            self.last_skip = self.last_skip + names
            optimizer._stepped = True  # a schedule that is stepped next is in the right order
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Let the scale grow or fall, after all optimizers have been stepped.

        Args:
            new_scale: set the scale to that instead.

        Raises:
            AssertionError: no optimizer was stepped or unscaled since the last update; nothing was changed.
            FloatingPointError: that was the last of ``max_skips`` skips in a row; it names the parameters.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._set_scale(float(new_scale))
        else:
            if not self._optimizers or all(stage is _Stage.READY for _, stage, _ in self._optimizers.values()):
                raise NothingChecked(
                    "GradScaler.update: no gradients were checked since the last update",
                    fix="call step(optimizer) before update()",
                )
            if any(names for _, _, names in self._optimizers.values()):
                self._set_scale(self._scale_value * self._backoff_factor)
                self._growth_tracker = 0
                self._skips += 1
            else:
                self._skips = 0
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    grown = self._scale_value * self._growth_factor
                    if grown <= 3.4028234663852886e38:
                        self._set_scale(grown)
                    self._growth_tracker = 0
        self._divided |= {key for key, (_, stage, _) in self._optimizers.items() if stage is _Stage.UNSCALED}
        self._optimizers = {}
        if self._max_skips is not None and self._skips >= self._max_skips:
            skips, self._skips = self._skips, 0
            shown = ", ".join(self.last_skip[:10]) + (", ..." if len(self.last_skip) > 10 else "")
            raise TooManySkips(
                f"GradScaler.update: {skips} steps in a row were skipped for infinite gradients or NaN",
                notes={"parameters": shown, "scale": f"{self._scale_value:g}"},
                fix="look for what makes them with polyad.detect_nonfinite(), or lower the learning rate",
            )

    def _known(self, optimizer: Any) -> tuple[Any, _Stage, list[str]]:
        return self._optimizers.get(id(optimizer), (optimizer, _Stage.READY, []))

    def _check_order(self, method: str, optimizer: Any) -> None:
        """Raise where update() came between the backward pass and the division of its gradients."""
        wrong = None
        if id(optimizer) in self._divided:
            wrong = "update() was called after unscale_() and before step(), so the gradients would be divided twice"
        elif self._scaled_by is not None and self._scaled_by != self._scale_value:
            wrong = (
                f"update() has changed the scale from {self._scaled_by:g} to {self._scale_value:g} since the loss was "
                "scaled, so the gradients would be divided by the wrong one"
            )
        if wrong:
            raise OrderError(
                f"GradScaler.{method}: {wrong}",
                notes={"optimizer": type(optimizer).__name__},
                fix="call update() once, after all optimizers have been stepped",
            )

    @no_grad()
    def _unscale(self, optimizer: Any) -> list[str]:
        """Divide the gradients by the scale; returns the names of the parameters where one is not finite."""
        held: list[tuple[str, Tensor]] = []
        for number, group in enumerate(optimizer.param_groups):
            names = group.get("param_names")
            for place, param in enumerate(group["params"]):
                if param._grad is None:
                    continue
                label = names[place] if names else f'param_groups[{number}]["params"][{place}]'
                if param._grad.dtype is float16:
                    raise ArgumentError(
                        f"GradScaler.unscale_: the gradient of {label} is float16, which the division would take to 0",
                        operands={label: param},
                        fix="keep the parameters in float32 and let autocast cast them",
                    )
                held.append((label, param._grad))
        scale = self._scale_value
        for mode in state.modes:
            scale = mode.option(Setting(self, "scale", self.get_scale), scale)
        inverse = 1.0 / scale
        finite: dict[Device, list[Tensor]] = {}
        for _, grad in held:
            grad.mul_(inverse)
            finite.setdefault(grad.device, []).append(_all_finite(grad))
        if all(bool(stack(flags).all()) for flags in finite.values()):
            return []
        return [label for label, grad in held if not bool(_all_finite(grad))]

    def _scale_on(self, device: Device) -> Tensor:
        if self._scale is None or self._scale.device != device:
            self._scale = tensor(self._scale_value, dtype=float32, device=device)
        return self._scale

    def _set_scale(self, value: float) -> None:
        self._scale_value, self._scale = value, None

    def get_scale(self) -> float:
        """The scale; 1.0 if the scaler is disabled."""
        return self._scale_value if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set by what the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale falls."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set by what the scale falls."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without a skip the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps without a skip the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes; empty if the scaler is disabled. To be taken after `update`."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` gave; a disabled scaler ignores it. It fits, or nothing is changed.

        Raises:
            TypeError: it is no dict.
            RuntimeError: it is empty: the scaler that gave it was disabled; or something is missing.
        """
        if not self._enabled:
            return
        check_type("GradScaler.load_state_dict", "state_dict", state_dict, Mapping, "a dict")
        missing = [key for key in self.state_dict() if key not in state_dict]
        if missing:
            what = "the state is empty" if not state_dict else f"the state has no {', '.join(map(repr, missing))}"
            raise OptionError(
                f"GradScaler.load_state_dict: {what}; nothing was changed",
                fix="pass what state_dict() of an enabled scaler gave",
            )
        self._set_scale(float(state_dict["scale"]))
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = int(state_dict["_growth_tracker"])


def _has_devices(device_type: str) -> bool:
    try:
        return registry.count_devices(registry.get(device_type))[0] > 0
    except Exception:
        return False


explain(globals())
