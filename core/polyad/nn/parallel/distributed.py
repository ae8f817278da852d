"""DistributedDataParallel: each process computes with a part of the batch; gradients are means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import distributed as dist
from ...distributed.algorithms.ddp_comm_hooks.default_hooks import Hook
from ...errors import ArgumentError, NotSupported, SettingError, ShapeError
from ...history.grad_mode import is_grad_enabled, no_grad
from ...tensor import Tensor
from ..modules.module import Module, require_module
from .data_parallel import AnyDevice
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module of which each process of a group has a copy, trained as one.

    At first all copies get parameters and buffers of rank 0. Each forward and backward computes with the batch of its
    own process; gradients are reduced to their mean while backward goes on, so that all optimizers do the same step.

    Args:
        module: what to train, on its device.
        device_ids: at most one device, the module's.
        output_device, dim, check_reduction: taken for programs written for PyTorch.
        mixed_precision, delay_all_reduce_named_params, param_to_hook_all_reduce: None; anything else is refused.
        broadcast_buffers: give buffers of rank 0 to all at the beginning of each forward.
        init_sync: check parameters and give those of rank 0 to all now.
        process_group: the processes; all by default.
        bucket_cap_mb: how many mebibytes of gradients are reduced at once, 25 by default.
        find_unused_parameters: parameters that backward does not reach count as zero; where no process reaches one, its
            gradient is left alone.
        gradient_as_bucket_view: gradients are views of the memory that is reduced.
        static_graph: the same parameters are reached each time; here it means the same as *find_unused_parameters*.

    Raises:
        ValueError: no process group, or several devices.
        RuntimeError: no parameter requires a gradient, or processes have other parameters.

    >>> import polyad.distributed as dist
    >>> from polyad import nn
    >>> dist.is_initialized() or "init_process_group() comes first"
    'init_process_group() comes first'
    """

    module: Module

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[AnyDevice] | None = None,
        output_device: AnyDevice | None = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__()
        require_module("DistributedDataParallel", module)
        group = device_mesh.get_group() if process_group is None and device_mesh is not None else process_group
        members = dist.groups.resolve(group, "DistributedDataParallel")
        if members is None:
            raise ArgumentError(
                "DistributedDataParallel: this process is no member of process_group", fix="pass its own"
            )
        self.__dict__["process_group"] = members
        if device_ids is not None and len(device_ids) > 1:
            raise ArgumentError(
                f"DistributedDataParallel: device_ids has {len(device_ids)} devices",
                fix="start a process for each device",
            )
        if mixed_precision is not None or delay_all_reduce_named_params or param_to_hook_all_reduce is not None:
            raise NotSupported(
                "DistributedDataParallel: mixed_precision, delay_all_reduce_named_params and param_to_hook_all_reduce"
                " are not there",
                fix="use autocast around forward, and register_comm_hook for what is sent",
            )
        ignored = getattr(module, "_ddp_params_and_buffers_to_ignore", ())
        if not any(one.requires_grad for name, one in module.named_parameters() if name not in ignored):
            raise SettingError(
                "DistributedDataParallel is not needed when a module doesn't have parameters that require gradients",
                fix="use the module as it is",
            )
        self.module = module
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device, self.dim = output_device, dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.__dict__["_ignored"] = frozenset(ignored)
        if init_sync:
            self._check_alike()
            self._give_states()
        self._enter(members)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module; prepare to reduce the gradients of the backward pass that follows."""
        self.reducer.enabled = self.require_backward_grad_sync
        reduces = is_grad_enabled() and self.require_backward_grad_sync
        if reduces:
            self.reducer.expect_backward()
        if self.broadcast_buffers and self.require_forward_param_sync:
            self._broadcast(self._buffers_of_module())
        # Buffers differ after a step that was reduced; a forward without gradients gets those of rank 0 once.
        self.require_forward_param_sync = reduces
        return self.module(*inputs, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("process_group", "reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy, or what was in a file, works in the group of all processes."""
        self.__dict__.update(state)
        self._enter(dist.groups.resolve(None, "DistributedDataParallel"))

    def _enter(self, group: Any) -> None:
        """Reduce the gradients of the module over *group*."""
        trained = [
            (name, one)
            for name, one in self.module.named_parameters()
            if one.requires_grad and name not in self._ignored
        ]
        self.__dict__["process_group"] = group
        self.__dict__["reducer"] = Reducer(
            trained,
            group,
            self.bucket_bytes_cap,
            self.find_unused_parameters or self.static_graph,
            self.gradient_as_bucket_view,
        )

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let gradients add up in this process without being reduced, until a pass outside of this context."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Hook) -> None:
        """Reduce buckets of gradients by ``hook(state, bucket)``, which returns a future of the reduced buffer."""
        if not callable(hook):
            raise ArgumentError("register_comm_hook: hook is not callable", fix="pass a function of state and bucket")
        self.reducer.set_hook(state, hook)

    def _set_static_graph(self) -> None:
        """See *static_graph*."""
        self.static_graph = self.reducer.find_unused = True

    def _buffers_of_module(self) -> list[Tensor]:
        return [buffer for name, buffer in self.module.named_buffers() if name not in self._ignored]

    def _check_alike(self) -> None:
        """Raise unless all processes have the same parameters and buffers."""
        named = [*self.module.named_parameters(), *self.module.named_buffers()]
        mine = [(name, str(one.dtype), tuple(one.shape), one.requires_grad) for name, one in named]
        all_: list[Any] = [None] * self.process_group.size()
        dist.all_gather_object(all_, mine, self.process_group)
        for rank, theirs in zip(self.process_group.ranks, all_):
            if theirs == all_[0]:
                continue
            pairs = zip(all_[0] + [None] * len(theirs), theirs + [None] * len(all_[0]))
            first, other = next((a, b) for a, b in pairs if a != b)
            raise ShapeError(
                f"DistributedDataParallel: the module of rank {rank} is not that of rank {self.process_group.ranks[0]}",
                notes={
                    f"rank {self.process_group.ranks[0]}": _describe_parameter(first),
                    f"rank {rank}": _describe_parameter(other),
                },
                fix="build the same model in all processes",
            )

    def _give_states(self) -> None:
        parameters = [p for n, p in self.module.named_parameters() if n not in self._ignored]
        self._broadcast([*parameters, *self._buffers_of_module()])

    def _broadcast(self, tensors: list[Tensor]) -> None:
        """Give all processes the tensors of the first one, those of one dtype and device together."""
        kinds: dict[Any, list[Tensor]] = {}
        for tensor in tensors:
            kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor)
        with no_grad():
            for alike in kinds.values():
                dist.collectives.broadcast_coalesced(alike, self.process_group)


def _describe_parameter(parameter: tuple[str, str, tuple[int, ...], bool] | None) -> str:
    if parameter is None:
        return "nothing more"
    name, dtype, shape, requires_grad = parameter
    return f"{name}: {dtype.removeprefix('polyad.')} {shape}{'' if requires_grad else ', requires no gradient'}"
