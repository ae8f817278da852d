"""A model of ONNX's as a Module: its tensors are parameters and buffers, its forward computes the graph."""

from __future__ import annotations

from typing import Any

import onnx

import polyad
from polyad import nn
from polyad.errors import ArgumentTypeError, SerializationError

from . import bodies
from .blocks import Block
from .elements import array_of, from_array
from .operators import DOMAINS
from .planning import Planner

__all__ = ["ONNXModule"]

OLDEST, NEWEST = 1, onnx.defs.onnx_opset_version()


class ONNXModule(nn.Module):
    """The Module that `load` makes of a model.

    ``module(*inputs)`` takes the model's inputs in the file's order, or by name. It gives the output, or a tuple of
    them if the model has several. Sequences are lists of tensors, optional values that are empty are None.

    The floating tensors of the file are parameters under their own names (a dot in a name makes a submodule, as in
    PyTorch's state dicts). Statistics of normalisations, scales of quantised numbers, floating tensors without
    dimensions (constants of formulas, as a rule) and tensors of integers are buffers. Shapes, axes and the like belong
    to the program and are neither.
    """

    def __init__(self, model: onnx.ModelProto, device: Any = None) -> None:
        super().__init__()
        self._versions = _checked_versions(model)
        self._functions = {
            (DOMAINS.get(each.domain, each.domain), each.name, getattr(each, "overload", "")): each
            for each in model.functions
        }
        self._graph = model.graph
        self.producer = f"{model.producer_name} {model.producer_version}".strip()
        held = {tensor.name for tensor in model.graph.initializer}
        held |= {each.values.name for each in model.graph.sparse_initializer}
        self.input_names = [value.name for value in model.graph.input if value.name not in held]
        self.output_names = [value.name for value in model.graph.output]
        self._paths: dict[str, tuple[nn.Module, str]] = {}
        self._plans: dict[Any, tuple[Block, list[tuple[int, Any, str]]]] = {}
        # Moves with the module, so it knows where it is even if it has no tensors of its own.
        self.register_buffer("_device_of_module", polyad.empty(0, device=device), persistent=False)
        self._prepare(self._device_of_module.device)

    def _prepare(self, device: Any) -> None:
        """Plan the graph and take the file's tensors."""
        planner = Planner(self._versions, self._functions, device)
        block = planner.model(self._graph)
        slots = []
        for path, (slot, proto) in planner.state.items():
            owner, name = self._place(path)
            tensor = from_array(array_of(proto, "initializer")).to(device)
            trains = tensor.ndim > 0 and tensor.dtype.is_floating_point and tensor.dtype.computes
            buffered = path in planner.statistics or not trains
            if buffered:
                owner.register_buffer(name, tensor)
            else:
                owner.register_parameter(name, nn.Parameter(tensor))
            self._paths[path] = owner, name
            slots.append((slot, owner._buffers if buffered else owner._parameters, name))
            proto.ClearField("raw_data")
        self._plans[device] = block, slots

    def _plan(self, device: Any) -> tuple[Block, Any]:
        """The plan for another device than the one that the module was loaded to."""
        planner = Planner(self._versions, self._functions, device)
        block = planner.model(self._graph)
        slots = []
        for path, (slot, _) in planner.state.items():
            owner, name = self._paths[path]
            slots.append((slot, owner._buffers if name in owner._buffers else owner._parameters, name))
        self._plans[device] = block, slots
        return self._plans[device]

    def _place(self, path: str) -> tuple[nn.Module, str]:
        """The submodule and the name for the tensor at *path*: as the file calls it, if it can be."""
        *folders, name = [part or "_" for part in path.split(".")]
        owner: nn.Module = self
        for folder in folders[:20]:
            if folder not in owner._modules:
                while hasattr(owner, folder):
                    folder += "_"
            if folder not in owner._modules:
                owner.add_module(folder, nn.Module())
            owner = owner._modules[folder]
        name = "_".join([*folders[20:], name])
        while hasattr(owner, name):
            name += "_"
        return owner, name

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the model's outputs."""
        device = self._device_of_module.device
        block, slots = self._plans.get(device) or self._plan(device)
        if named or len(inputs) != len(block.inputs):
            inputs = self._bound(inputs, named)
        made = block.run(inputs, (), [(slot, tensors[name]) for slot, tensors, name in slots])
        return made[0] if len(made) == 1 else tuple(made)

    def __getstate__(self) -> dict[str, Any]:
        """All but the plans, which are made again where they are wanted."""
        return {**self.__dict__, "_plans": {}}

    def _bound(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The inputs in the file's order, some of which were given by name."""
        rest = self.input_names[len(inputs) :]
        if len(inputs) > len(self.input_names) or set(rest) != set(named):
            raise ArgumentTypeError(
                f"forward: the model takes {len(self.input_names)} input(s), and was given {len(inputs)} in order"
                + (f" and {', '.join(named)} by name" if named else ""),
                fix=f"pass {', '.join(self.input_names) or 'nothing'}",
            )
        return *inputs, *(named[name] for name in rest)

    def extra_repr(self) -> str:
        """Inputs, outputs, and who made the file."""
        text = f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}"
        return f"{text}, by {self.producer}" if self.producer else text


def _checked_versions(model: onnx.ModelProto) -> dict[str, int]:
    """The operator sets of a model. Raises SerializationError for versions that nobody knows."""
    versions = bodies.versions_of(model.opset_import)
    version = versions.get("")
    if version is not None and not OLDEST <= version <= NEWEST:
        raise SerializationError(
            f"onnx.load: the model uses version {version} of ONNX's operator set; known are {OLDEST} to {NEWEST}",
            fix=f"export it with opset_version={NEWEST}" + (", or install a newer onnx" if version > NEWEST else ""),
        )
    return versions
