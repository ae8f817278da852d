"""Exported programs in primitives: composites replaced by what their bodies call.

What PyTorch calls Core ATen (https://docs.pytorch.org/docs/stable/torch.compiler_ir.html) is left as it is: `CORE` has
its overloads, `KEPT` ops of polyad's that do what one of its ops does, with other arguments. Everything else that has a
body is opened, until primitives are left. A call that has as many arguments as a tensor is long (a recurrent layer over
time) is left, since its body makes so many calls.
"""

from __future__ import annotations

import warnings
from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ..aten.overloads import OpOverload, overload
from ..aten.splitting import SPLIT
from ..aten.table import AS_THEY_ARE, TWO_OVERLOADS, aten_call
from ..base.trees import plain
from ..dispatch.catalogue import OPS, PUBLIC
from ..dispatch.declared import Op
from ..dispatch.effects import Effect
from ..errors import ArgumentTypeError, NotSupported, safe_repr
from ..graph.expressions import Repeat
from ..graph.graph import Graph
from ..graph.structure import leaves_of
from ..jit.capture import BakedValueWarning, Capture
from ..jit.expanding import opened
from ..jit.general import generalise
from ..jit.restoring import Restored
from .exported_program import ExportedModule, ExportedProgram, ModuleCallEntry

__all__ = ["CustomDecompTable", "default_decompositions"]

_CORE = """
    _adaptive_avg_pool2d.default _adaptive_avg_pool3d.default _cdist_forward.default _embedding_bag.default
    _fft_c2r.default _fft_r2c.default _local_scalar_dense.default _log_softmax.default _pdist_forward.default
    _softmax.default _to_copy.default abs.default acos.default acosh.default add.Scalar add.Tensor addmm.default
    alias.default amax.default amin.default any.default any.dim any.dims arange.start_step argmax.default
    argmin.default as_strided.default asin.default asinh.default atan.default atan2.default atanh.default
    avg_pool2d.default avg_pool3d.default bitwise_and.Scalar bitwise_and.Tensor bitwise_not.default
    bitwise_or.Scalar bitwise_or.Tensor bitwise_xor.Scalar bitwise_xor.Tensor bmm.default cat.default ceil.default
    clamp.Tensor clamp.default clone.default convolution.default copy.default cos.default cosh.default
    cumsum.default diagonal.default div.Scalar div.Scalar_mode div.Tensor div.Tensor_mode elu.default
    embedding.default empty.memory_format empty_strided.default eq.Scalar eq.Tensor erf.default exp.default
    expand.default expm1.default fill.Scalar flip.default floor.default fmod.Scalar fmod.Tensor full.default
    full_like.default gather.default ge.Scalar ge.Tensor gelu.default gt.Scalar gt.Tensor hardtanh.default
    index.Tensor index_put.default index_select.default isinf.default isnan.default le.Scalar le.Tensor
    leaky_relu.default log.default log10.default log1p.default log2.default logical_and.default logical_not.default
    logical_or.default logical_xor.default lt.Scalar lt.Tensor max.dim maximum.default mean.default mean.dim min.dim
    minimum.default mm.default mul.Scalar mul.Tensor native_layer_norm.default ne.Scalar ne.Tensor neg.default
    nonzero.default permute.default pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor prod.default prod.dim_int
    reciprocal.default relu.default remainder.Scalar remainder.Tensor round.default rsqrt.default select.int
    sigmoid.default sign.default sin.default sinh.default slice.Tensor sort.default sqrt.default squeeze.dim
    squeeze.dims sub.Scalar sub.Tensor sum.dim_IntList tan.default tanh.default topk.default trunc.default
    unsqueeze.default var.correction var.dim view.default where.self
"""
CORE: Final = frozenset(_CORE.split())

KEPT: Final = {
    "pad_constant": "constant_pad_nd", "max_pool": "max_pool_with_indices", "dropout": "native_dropout",
    "batch_norm": "_native_batch_norm_legit", "index_put": "index_put", "repeat": "repeat",
    "masked_scatter": "masked_scatter", "scatter_reduce": "scatter_reduce", "col2im": "col2im", "fft_r2c": "_fft_r2c",
    "fft_c2r": "_fft_c2r", "fft_c2c": "_fft_c2c", "cdist": "_cdist_forward", "pdist": "_pdist_forward",
    "uniform": "rand", "normal": "randn", "permutation": "randperm", "resample": "upsample",
    "adaptive_max_pool": "adaptive_max_pool", "full_strided": "full", "copy_strided": "clone",
}  # fmt: skip
"""Ops of polyad's that are left, with the op of Core ATen's that does the same."""

_OVERLOADS: Final = {
    "stack": ("stack.default",), "std": ("std.correction",), "cross_entropy": ("cross_entropy_loss.default",),
    "baddbmm": ("baddbmm.default",), "norm2": ("linalg_vector_norm.default",), "linear": ("linear.default",),
    "pow": ("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar"),
}  # fmt: skip
"""PyTorch's overloads of composites whose calls are told as these."""


@dataclass(frozen=True)
class Body:
    """The body of one of polyad's ops, as an entry of a table of decompositions: call it with the op's arguments."""

    op: Op

    def __call__(self, *values: Any) -> Any:
        """What the body makes of *values*."""
        return SPLIT[self.op.name](*values) if self.op.name in SPLIT else opened(self.op, values)


class CustomDecompTable(UserDict[OpOverload, Callable[..., Any]]):
    """Which calls `ExportedProgram.run_decompositions` replaces by what. Take an entry out to leave that op as it is,
    or put a function of PyTorch's arguments of the op in its place.
    """

    def materialize(self) -> dict[OpOverload, Callable[..., Any]]:
        """A plain dict of the entries."""
        return dict(self.data)


def default_decompositions() -> CustomDecompTable:
    """The entries of all ops that have bodies and are not in Core ATen.

    >>> import polyad as torch
    >>> table = torch.export.default_decompositions()
    >>> torch.ops.aten.linear.default in table, torch.ops.aten.gelu.default in table
    (True, False)
    """
    for name in list(PUBLIC):
        PUBLIC.get(name)
    table: dict[OpOverload, Callable[..., Any]] = {}
    for name, op in list(OPS.items()):
        if (op.kind == "composite" or name in SPLIT) and name not in KEPT:
            for key in _keys(op):
                if key.namespace != "aten" or key.__name__ not in CORE:
                    table[key] = Body(op)
    return CustomDecompTable(table)


def _keys(op: Op) -> list[OpOverload]:
    """The overloads as which calls of an op may be told."""
    found: list[OpOverload] = []
    names = _OVERLOADS.get(op.name, ())
    if not names and (op.name in AS_THEY_ARE or op.name in TWO_OVERLOADS):
        which = ("Tensor", "Scalar") if op.name in TWO_OVERLOADS else (AS_THEY_ARE[op.name],)
        names = tuple([f"{op.name.partition('_')[0] if op.name in _BY_DIM else op.name}.{one}" for one in which])
    for name in names or (f"{op.name}.default",):
        packet, _, which_one = name.partition(".")
        try:
            found.append(overload("aten", packet, which_one))
        except AttributeError:
            break
    return found or [overload("polyad", op.name, "default")]


_BY_DIM: Final = frozenset({"max_dim", "min_dim", "max_all", "min_all"})


def decomposed(program: ExportedProgram, table: Mapping[Any, Callable[..., Any]] | None) -> ExportedProgram:
    """What `ExportedProgram.run_decompositions` gives."""
    entries = default_decompositions().data if table is None else dict(table)
    wrong = [key for key in entries if not isinstance(key, OpOverload)]
    if wrong:
        raise ArgumentTypeError(
            f"run_decompositions: {safe_repr(wrong[0])} is no overload",
            fix="use keys such as polyad.ops.aten.linear.default",
        )
    if program.example_inputs is None:
        raise NotSupported(
            "run_decompositions: the program has no example", fix="export the model again, or save it with its example"
        )
    args, kwargs = plain(program.example_inputs)
    replayed = Replay(program)
    ranges = {one.name: (one.least, one.most) for one in program.graph.symbols}
    mode = partial(_Decomposing, graph=program.graph, table=entries)
    with Restored(replayed.module), warnings.catch_warnings():
        warnings.simplefilter("ignore", BakedValueWarning)  # what a program reads is no decision of Python's
        graph = generalise(replayed, args, kwargs, dims=program.dynamic_shapes, ranges=ranges, mode=mode)
    entries_left = [ModuleCallEntry(entry.fqn) for entry in program.module_call_graph]
    return ExportedProgram(graph, program._state, program.call_spec, entries_left, program.example_inputs)


class Replay:
    """A program as a function whose parameters have the names that its inputs have in the graph."""

    def __init__(self, program: ExportedProgram) -> None:
        self.module = ExportedModule(program.graph, program._state)
        self.__qualname__ = program.graph.name
        self.named_parameters, self.named_buffers = self.module.named_parameters, self.module.named_buffers
        self.parameter_names = self.module.parameter_names

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


class _Decomposing(Capture):
    """The capture of a replay of *graph* in which composites are opened: lines and modules are those of its nodes."""

    def __init__(self, graph: Graph, table: Mapping[OpOverload, Callable[..., Any]], **options: Any) -> None:
        super().__init__(opens=self._opened, **options)
        self.table = table
        self.whole = {node.op.name for node in graph.nodes if leaves_of(node.args, Repeat)}
        self.nodes, self.at, self.node = graph.nodes, 0, graph.nodes[0] if graph.nodes else None
        self.inside = False

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Record a call, or what is inside of it, as the node of the program that it is."""
        if self.inside:
            return super().dispatch(op, args)
        self.node = self.nodes[self.at]
        self.at, self.inside, self._modules = self.at + 1, True, self.node.modules
        try:
            return super().dispatch(op, args)
        finally:
            self.inside = False

    def line(self) -> str:
        """That of the node of the program."""
        return "" if self.node is None else self.node.line

    def _opened(self, op: Op | Effect, args: tuple[Any, ...]) -> Callable[[], Any] | None:
        if isinstance(op, Effect) or op.name in self.whole:
            return None
        call = aten_call(op, args)
        entry = self.table.get(_keys(op)[0] if call is None else call.func)
        if entry is None:
            return None
        if call is None or isinstance(entry, Body):
            return lambda: entry(*args)
        return lambda: entry(*call.args, **call.kwargs)
