"""What a run logs: the last value of a step, and the mean, sum, least or greatest value of an epoch."""

from __future__ import annotations

from typing import Any

from polyad import Tensor
from polyad.arguments import check_choice
from polyad.errors import ArgumentError

__all__ = ["Results"]

REDUCTIONS = ("mean", "sum", "min", "max")


class _Tally:
    """A value over the batches of an epoch; tensors stay on their device and are not waited for."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.value: Any = None
        self.weight = 0.0

    def add(self, value: Any, weight: float) -> None:
        if self.how in ("min", "max"):
            self.value = value if self.value is None else _chosen(self.how, self.value, value)
            return
        if self.how == "mean":
            value = value * weight
            self.weight += weight
        self.value = value if self.value is None else self.value + value

    def result(self) -> float:
        return float(self.value) / self.weight if self.how == "mean" else float(self.value)


def _chosen(how: str, one: Any, other: Any) -> Any:
    return (max if how == "max" else min)(float(one), float(other))


class Results:
    """The values that `LightningModule.log` is told in one kind of loop."""

    def __init__(self, training: bool) -> None:
        self.training = training
        self.step: dict[str, Any] = {}
        self.bar: dict[str, Any] = {}
        self._tallies: dict[str, _Tally] = {}
        self._metrics: dict[str, Any] = {}
        self._options: dict[str, tuple[bool, bool, bool, bool]] = {}
        self._computed: dict[str, float] = {}
        self._before: dict[str, Any] = {}
        self.loader: int | None = None

    def add(
        self, name: str, value: Any, on_step: bool, on_epoch: bool, weight: float, how: str, bar: bool, logger: bool
    ) -> Any:
        """Note a value; gives it as it is kept."""
        check_choice("log", "reduce_fx", how, REDUCTIONS)
        self._options[name] = (on_step, on_epoch, bar, logger)
        if isinstance(value, Tensor):
            if value.numel() != 1:
                raise ArgumentError(
                    f"log: {name!r} has {value.numel()} elements, not one",
                    operands={"value": value},
                    fix="log a mean or a sum of it",
                )
            # On the cpu a number waits for nothing, and sums of numbers take no ops.
            value = value.item() if value.device.type == "cpu" else value.detach()
        elif hasattr(value, "compute"):
            self._metrics[name] = value
            if name in self._before:  # what it counted in the epoch's first part, and then what it has counted since
                since = value.clone()
                value.load_state_dict(self._before.pop(name))
                value.merge(since)
            return value
        if on_step:
            self.step[f"{name}_step" if on_epoch else name] = value if logger else None
        if bar:
            self.bar[name] = value
        if on_epoch:
            tally = self._tallies.get(name)
            if tally is None:
                tally = self._tallies[name] = _Tally(how)
            tally.add(value, weight)
        return value

    def end_of_loader(self) -> None:
        """The values of metrics that a loader alone has: another loader may go on with the same metric."""
        suffix = f"/dataloader_idx_{self.loader}"
        for name in [name for name in self._metrics if self.loader is not None and name.endswith(suffix)]:
            metric = self._metrics.pop(name)
            self._computed[name] = float(metric.compute())
            metric.reset()
        self.loader = None

    def step_values(self) -> dict[str, float]:
        """The last values of steps, as numbers."""
        return {name: float(value) for name, value in self.step.items() if value is not None}

    def epoch_values(self) -> tuple[dict[str, float], set[str]]:
        """The values of the epoch, as numbers, and which of them go to no tracker; metrics begin anew."""
        values, unlogged = {}, set()
        for name, tally in self._tallies.items():
            on_step, _, _, logger = self._options[name]
            value = values[name] = tally.result()
            if on_step:
                values[f"{name}_epoch"] = value
            if not logger:
                unlogged |= {name, f"{name}_epoch"}
            elif on_step:
                unlogged.add(name)
        self._computed.update({name: float(metric.compute()) for name, metric in self._metrics.items()})
        self.forget_metrics()
        for name, value in self._computed.items():
            values[name] = value
            if not self._options[name][3]:
                unlogged.add(name)
        return values, unlogged

    def forget_metrics(self) -> None:
        """Reset the metrics that were logged."""
        for metric in self._metrics.values():
            metric.reset()
        self._metrics.clear()

    def shown(self) -> dict[str, float]:
        """What the progress bar shows, as numbers."""
        return {name: float(value) for name, value in self.bar.items()}

    def on_bar(self, name: str) -> bool:
        """Whether the progress bar shows a value."""
        return self._options.get(name, (False, False, False, False))[2]

    def state(self) -> dict[str, Any]:
        """The sums of an epoch that is not finished, and the states of metrics that can be merged."""
        sums = {
            name: [
                tally.how,
                tally.value if isinstance(tally.value, Tensor) else float(tally.value),
                tally.weight,
                list(self._options[name]),
            ]
            for name, tally in self._tallies.items()
        }
        for name, metric in self._metrics.items():
            if all(hasattr(metric, method) for method in ("state_dict", "load_state_dict", "merge", "clone")):
                sums[name] = ["metric", metric.state_dict(), 0.0, list(self._options[name])]
        return sums

    def load(self, state: dict[str, Any], device: Any) -> None:
        """Go on with saved sums."""
        for name, (how, value, weight, options) in state.items():
            if how == "metric":
                self._before[name] = value
                continue
            tally = self._tallies[name] = _Tally(how)
            tally.value = value.to(device) if isinstance(value, Tensor) else value
            tally.weight = weight
            self._options[name] = (options[0], options[1], options[2], options[3])
