"""The gradients of a `DistributedDataParallel` module: collected in buckets, reduced over processes while backward
goes on.

Parameters that are used last come first in the buckets, since backward reaches them first. A bucket is reduced when all
of its gradients are there and the buckets before it have begun, so that all processes reduce in one order. What a pass
has not reached counts as zero where `find_unused` allows that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import distributed as dist
from ...base.memory_formats import strided
from ...base.state import state
from ...distributed.algorithms.ddp_comm_hooks.default_hooks import Hook, allreduce_hook
from ...distributed.grad_bucket import GradBucket
from ...errors import AutogradError, NotSupported, SettingError, wrong_type
from ...functions import tensor
from ...futures import Future
from ...history.grad_mode import no_grad
from ...tensor import Tensor

__all__ = ["Reducer"]

MEBIBYTE = 1 << 20
FIRST_BUCKET = MEBIBYTE
"""The first bucket is smaller, so that the first reduction begins early."""


class Reducer:
    """Reduces the gradients of *parameters* over *group*; see the module's docstring.

    Args:
        parameters: name and tensor of each, in the module's order.
        group: the processes.
        bucket_bytes: the most bytes of a bucket.
        find_unused: take parameters that a pass does not reach for zero.
        as_views: make the gradients views of the buckets, so that they need no memory of their own.
    """

    def __init__(
        self, parameters: Sequence[tuple[str, Tensor]], group: Any, bucket_bytes: int, find_unused: bool, as_views: bool
    ) -> None:
        self._names = [name for name, _ in parameters]
        self._parameters = [parameter for _, parameter in parameters]
        self._group, self._bucket_bytes = group, bucket_bytes
        self.find_unused, self._as_views = find_unused, as_views
        self.enabled = True
        self._is_alone = dist.get_world_size(group) == 1  # the mean over one process is what is there
        self._hook: Hook = allreduce_hook
        self._hook_is_set = False
        self._hook_state: Any = group
        self._buckets: list[GradBucket] = []
        self._bucket_of: dict[int, GradBucket] = {}
        self._reached: set[int] = set()
        self._begun = 0
        self._pass: Any = None
        self._expected = False
        self._make_buckets()
        self._handles = [
            parameter.register_post_accumulate_grad_hook(self._make_ready(number))
            for number, parameter in enumerate(self._parameters)
        ]

    def set_hook(self, hook_state: Any, hook: Hook) -> None:
        """Reduce by *hook* from now on. Raises RuntimeError if there is a hook already."""
        if self._hook_is_set:
            raise SettingError("register_comm_hook: there is a hook already", fix="register one that does both")
        self._hook_is_set = True
        self._is_alone = False
        self._hook, self._hook_state = hook, hook_state

    def _make_buckets(self) -> None:
        self._kinds = [(one.dtype, one.device) for one in self._parameters]
        members: list[list[tuple[int, Tensor]]] = []
        open_: dict[Any, tuple[list[tuple[int, Tensor]], int]] = {}
        for number in reversed(range(len(self._parameters))):
            parameter = self._parameters[number]
            kind = (parameter.dtype, parameter.device)
            size = parameter.numel() * parameter.itemsize
            most = FIRST_BUCKET if len(members) <= 1 else self._bucket_bytes
            filled = open_.get(kind)
            if filled is None or filled[1] + size > min(most, self._bucket_bytes):
                filled = ([], 0)
                members.append(filled[0])
            filled[0].append((number, parameter))
            open_[kind] = (filled[0], filled[1] + size)
        self._buckets = [GradBucket(at, each, at == len(members) - 1) for at, each in enumerate(members)]
        self._bucket_of = {number: bucket for bucket, each in zip(self._buckets, members) for number, _ in each}

    def expect_backward(self) -> None:
        """Say that a pass over the module's graph comes, whose gradients are to be reduced.

        Raises:
            RuntimeError: the pass before has not reached all parameters, so that its reduction could not end.
        """
        if self._expected and self._reached and len(self._reached) < len(self._parameters):
            missing = [name for number, name in enumerate(self._names) if number not in self._reached]
            shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            self._reset()
            raise AutogradError(
                "DistributedDataParallel: Expected to have finished reduction in the prior iteration before starting a"
                f" new one: backward did not reach {len(missing)} parameters",
                notes={"parameters": shown},
                fix="pass find_unused_parameters=True, or let all outputs of forward take part in the loss",
            )
        if self._kinds != [(one.dtype, one.device) for one in self._parameters]:
            self._make_buckets()  # the module was converted or moved
        self._reset()
        self._expected = True

    def _reset(self) -> None:
        self._reached.clear()
        self._begun, self._pass = 0, None
        for bucket in self._buckets:
            bucket.waiting, bucket.future = len(bucket.parameters()), None

    def _make_ready(self, number: int) -> Callable[[Tensor], None]:
        def ready(parameter: Tensor) -> None:
            if self.enabled and self._expected:
                self._gradient_is_there(number, parameter.grad)

        return ready

    def _gradient_is_there(self, number: int, gradient: Tensor | None) -> None:
        current = state.backward
        if self._pass is None and current is not None:
            self._pass = current
            current.at_end.append(self._end)
        if number in self._reached:
            raise AutogradError(
                f"DistributedDataParallel: the gradient of {self._names[number]} was ready twice in one pass",
                fix="use checkpoint(use_reentrant=False), and call the module once before each backward",
            )
        self._reached.add(number)
        bucket = self._bucket_of[number]
        if gradient is not None and gradient.layout is not strided:
            raise NotSupported(
                f"DistributedDataParallel: the gradient of {self._names[number]} is sparse, and is not reduced",
                fix="make the layer with sparse=False",
            )
        if not self._is_alone:
            with no_grad():
                place = bucket.places[number]
                if gradient is None:
                    place.zero_()
                elif gradient is not place:
                    place.copy_(gradient)
        bucket.waiting -= 1
        while self._begun < len(self._buckets) and not self._buckets[self._begun].waiting:
            if not self._is_alone:
                self._begin(self._buckets[self._begun])
            self._begun += 1

    def _begin(self, bucket: GradBucket) -> None:
        with no_grad():
            future = self._hook(self._hook_state, bucket)
        if not isinstance(future, Future):
            raise wrong_type("register_comm_hook", "the result of hook", future, "a Future")
        bucket.future = future

    def _end(self) -> None:
        """At the end of a pass: reduce what is left, wait, and give the parameters their gradients."""
        used = None
        if self.find_unused:
            used = self._used_anywhere()
            for number in range(len(self._parameters)):
                if number not in self._reached:
                    self._gradient_is_there(number, self._parameters[number].grad)
        if self._begun < len(self._buckets):
            return  # some parameters were not reached: `expect_backward` tells
        if not self._is_alone:
            self._give_all(used)
        self._expected = False
        self._reset()

    def _give_all(self, used: list[bool] | None) -> None:
        with no_grad():
            for bucket in self._buckets:
                assert bucket.future is not None
                result = bucket.future.wait()
                bucket.take(result[0] if isinstance(result, (list, tuple)) else result)
                for number, place in bucket.places.items():
                    if used is None or used[number]:
                        self._give(self._parameters[number], place)

    def _give(self, parameter: Tensor, place: Tensor) -> None:
        if self._as_views:
            parameter.grad = place
        elif parameter.grad is None:
            parameter.grad = place.clone()
        else:
            parameter.grad.copy_(place)

    def _used_anywhere(self) -> list[bool]:
        """Whether each parameter was reached in any process."""
        used = tensor([int(number in self._reached) for number in range(len(self._parameters))])
        dist.all_reduce(used, dist.ReduceOp.MAX, self._group)
        return [bool(one) for one in used.tolist()]
