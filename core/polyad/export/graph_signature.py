"""What goes into an exported program and comes out of it: parameters, buffers, constants, the user's inputs; the
user's outputs, and buffers that it changes.

Names are those of the values of the program's graph.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ConstantArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymIntArgument",
    "TensorArgument",
]


@dataclass
class TensorArgument:
    """A tensor, by the name of its value in the graph."""

    name: str


@dataclass
class SymIntArgument:
    """A size, by the expression of symbols that it is."""

    name: str


@dataclass
class ConstantArgument:
    """What is no tensor, with its value, which a call must give again."""

    name: str
    value: Any


class InputKind(enum.Enum):
    """What an input is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()


class OutputKind(enum.Enum):
    """What an output is."""

    USER_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    USER_INPUT_MUTATION = enum.auto()


@dataclass
class InputSpec:
    """An input. *target* is the module's name of a parameter, buffer or constant; *persistent* whether ``state_dict``
    has a buffer.
    """

    kind: InputKind
    arg: Any
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        text = f"{self.arg.name}: {self.kind.name}" + (f" target={self.target!r}" if self.target is not None else "")
        return text if self.persistent is None else f"{text} persistent={self.persistent}"


@dataclass
class OutputSpec:
    """An output. *target* names what a mutation changes."""

    kind: OutputKind
    arg: Any
    target: str | None = None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}" + (f" target={self.target!r}" if self.target is not None else "")


@dataclass
class ExportBackwardSignature:
    """The gradients that a program returns which has a backward pass. `export` makes no such program."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """What goes in and comes out, in order; attributes read it by kind.

    >>> import polyad as torch
    >>> signature = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),)).graph_signature
    >>> signature.parameters, signature.user_inputs
    (('weight', 'bias'), ('input',))
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]
    backward_signature: ExportBackwardSignature | None = field(default=None)

    def _targets(self, *kinds: InputKind) -> tuple[str, ...]:
        return tuple([one.target for one in self.input_specs if one.kind in kinds and one.target is not None])

    def _inputs_to(self, kind: InputKind) -> Mapping[str, str]:
        return {one.arg.name: one.target for one in self.input_specs if one.kind is kind and one.target is not None}

    def _changed(self, kind: OutputKind) -> Mapping[str, str]:
        return {one.arg.name: one.target for one in self.output_specs if one.kind is kind and one.target is not None}

    @property
    def parameters(self) -> Collection[str]:
        """The module's names of parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> Collection[str]:
        """The module's names of buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        """The buffers that ``state_dict`` has not."""
        found = [one.target for one in self.input_specs if one.kind is InputKind.BUFFER and one.persistent is False]
        return tuple([name for name in found if name is not None])

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        """The names of tensors that the module uses and that are neither parameters nor buffers."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> Collection[Any]:
        """The names of the inputs of a call, or what they are if they are no tensors."""
        found = [one.arg for one in self.input_specs if one.kind is InputKind.USER_INPUT]
        return tuple([arg.value if isinstance(arg, ConstantArgument) else arg.name for arg in found])

    @property
    def user_outputs(self) -> Collection[Any]:
        """The names of what a call returns, or what it is if it is no tensor."""
        found = [one.arg for one in self.output_specs if one.kind is OutputKind.USER_OUTPUT]
        return tuple([arg.value if isinstance(arg, ConstantArgument) else arg.name for arg in found])

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Names in the graph to the module's."""
        return self._inputs_to(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Names in the graph to the module's."""
        return self._inputs_to(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Names in the graph to the program's."""
        return self._inputs_to(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Values of the graph to the buffers that have them after a call."""
        return self._changed(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        """Values of the graph to the parameters that have them after a call."""
        return self._changed(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Values of the graph to the inputs that have them after a call."""
        return self._changed(OutputKind.USER_INPUT_MUTATION)

    def __str__(self) -> str:
        lines = ["# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs)]
        return "\n".join(lines)
