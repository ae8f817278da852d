"""`export`: a program called once, its graph as ONNX's, and whether that gives the same numbers."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from polyad.base.extras import needed
from polyad.errors import ArgumentError, ArgumentTypeError, NotSupported, safe_repr
from polyad.graph import Graph

from .building import model_of
from .custom import own_translations
from .dynamic import at_other_sizes
from .program import ONNXProgram
from .registry import OLDEST, RECOMMENDED, Table
from .source import Source, TrainingMode
from .verifying import check, compare

__all__ = ["export", "is_in_onnx_export"]

_here = threading.local()


def is_in_onnx_export() -> bool:
    """Whether this thread is in a call of `export`: models may ask it in ``forward``.

    >>> import polyad
    >>> polyad.onnx.is_in_onnx_export()
    False
    """
    return getattr(_here, "exporting", False)


@contextmanager
def _exporting() -> Iterator[None]:
    before, _here.exporting = is_in_onnx_export(), True
    try:
        yield
    finally:
        _here.exporting = before


def export(
    model: Callable[..., Any],
    args: tuple[Any, ...] | Any = (),
    f: str | os.PathLike[str] | Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = False,
    dynamic_shapes: Any = None,
    custom_translation_table: Mapping[Any, Callable[..., Any]] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = True,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: int = TrainingMode.EVAL,
    operator_export_type: int = 0,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type] = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Call *model* once, write what it computes as an ONNX model, and compare that with it in onnxruntime.

    Args:
        model: a module, a function, a graph of `polyad.jit.capture` or `trace`, or an exported program.
        args, kwargs: example arguments. Tensors in them, nested as they may be, are the model's inputs; all else is
            fixed.
        f: the file, a path or an open one; without it nothing is written.
        verbose: whether to print the model.
        input_names, output_names: names in order; more input names are those of weights.
        opset_version: of ONNX's operators, 14 to the newest; 18 unless given.
        dynamo: whether the program is returned, as it is by PyTorch's newer exporter; else None is.
        external_data: whether weights go into a file ``<f>.data``. Models above 2 GB are written so in any case.
        dynamic_shapes: open sizes by parameter: ``{"x": {0: "batch"}}``, with names, `polyad.export.Dim` or AUTO.
        dynamic_axes: the same by input names: ``{"x": {0: "batch"}}``, or ``{"x": [0]}``.
        custom_translation_table: translations by op, see docs/onnx.md.
        report: whether to write ``onnx_export.md`` in *artifacts_dir*, which says what was done.
        optimize: whether what is computed twice is computed once.
        verify: whether onnx's checker and shape inference, and onnxruntime on the example and on other sizes of the
            open dimensions, have to agree.
        dump_exported_program: whether to write the graph as text, ``exported_program.graph`` in *artifacts_dir*.
        export_params: whether weights are in the model; else they are inputs.
        keep_initializers_as_inputs: whether weights may be given in the place of those in the model.
        training: `TrainingMode`: the mode in which the model is called, which is as before afterwards.
        do_constant_folding: whether what follows from weights is computed now: batch normalisation goes into the
            convolution before it, and weights are stored as operators want them.
        custom_opsets: versions of others' domains.
        export_modules_as_functions: whether layers are functions of the model; or the classes of which they are.
        profile, operator_export_type, autograd_inlining: here for PyTorch's programs.

    Raises RuntimeError (`OnnxExporterError`): ops have no form in ONNX, all named with their module; the model is not
    what the program computes; a size decides what the program does. ValueError for an unknown opset or name.

    >>> import polyad as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> axes = {"x": {0: "batch"}}
    >>> program = torch.onnx.export(model, (torch.randn(3, 4),), input_names=["x"], dynamic_axes=axes)
    >>> [node.name for node in program.model.graph]
    ['0/Gemm', '1/Relu', '2/Gemm']
    >>> program(torch.ones(7, 4))[0].shape
    polyad.Size([7, 2])
    """
    _check_options(profile, operator_export_type)
    began, opset = time.perf_counter(), _opset_of(opset_version)
    source = Source(model, args, kwargs, Table(opset, own_translations(custom_translation_table, opset)))
    inputs, outputs = list(input_names or ()), list(output_names or ())
    steps: list[tuple[str, float]] = []

    def done(step: str) -> None:
        steps.append((step, time.perf_counter() - began))

    with _exporting(), source.prepared(TrainingMode(training)):
        graph = source.graph(
            source.dynamic(dynamic_axes, dynamic_shapes, inputs, outputs), do_constant_folding, optimize
        )
        done("capture")
        folding = do_constant_folding and export_params and not keep_initializers_as_inputs
        model_ = model_of(graph, source.table, inputs, outputs, custom_opsets, export_modules_as_functions, folding)
        program = ONNXProgram(model_, graph)
        done("translate")
        if verify:
            _verify(program, source, graph)
            done("verify")
    if dump_exported_program:
        with open(os.path.join(artifacts_dir, "exported_program.graph"), "w", encoding="utf-8") as file:
            file.write(graph.text)
    if f is not None:
        program.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=external_data,
        )
        done("save")
    if report:
        _write_report(os.path.join(artifacts_dir, "onnx_export.md"), program, steps)
    if verbose:
        sys.stdout.write(f"{needed('onnx', 'onnx', 'onnx.export: prints').printer.to_text(program.model_proto)}\n")
    return program if dynamo else None


def _verify(program: ONNXProgram, source: Source, graph: Graph) -> None:
    """Hold the model against the program, for the example and for other sizes."""
    check(program)
    compare(program, source.given, source.results(source.given), "the example")
    for others in at_other_sizes(source.given, graph, source.names):
        try:
            expected = source.results(others)
        except Exception:  # the program has a limit that nobody told
            continue
        compare(program, others, expected, "other sizes than the example's")
        return


def _check_options(profile: bool, operator_export_type: int) -> None:
    if profile:
        raise NotSupported("onnx.export: there is no profile of an export", fix="use polyad.profiler, or report=True")
    if operator_export_type:
        raise NotSupported(
            "onnx.export: operators of ATen's are written by no runtime's form",
            fix="leave operator_export_type out, and give custom_translation_table for what has no form in ONNX",
        )


def _opset_of(wanted: int | None) -> int:
    """The opset to write. Raises ValueError for one that is too old, or that onnx does not know."""
    newest = needed("onnx", "onnx", "onnx.export: models are checked by onnx").defs.onnx_opset_version()
    if wanted is None:
        return RECOMMENDED
    if isinstance(wanted, bool) or not isinstance(wanted, int):
        raise ArgumentTypeError(f"onnx.export: opset_version is {safe_repr(wanted)}, no int", fix="pass an int")
    if not OLDEST <= wanted <= newest:
        raise ArgumentError(
            f"onnx.export: opset_version is {wanted}; {OLDEST} to {newest} can be written",
            fix="pass one of these, or install a newer onnx",
        )
    return wanted


def _write_report(path: str, program: ONNXProgram, steps: Sequence[tuple[str, float]]) -> None:
    """What was done, and what the model consists of."""
    counts: dict[str, int] = {}
    for node in program.model.graph.all_nodes():
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    lines = [f"# {program.model.graph.name}", "", repr(program), "", "| step | seconds until its end |", "|---|---|"]
    lines += [f"| {name} | {seconds:.3f} |" for name, seconds in steps]
    lines += ["", "| operator | nodes |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
