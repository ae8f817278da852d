"""`SummaryWriter`: PyTorch's interface to tensorboardX, which writes the files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...base.extras import needed
from ...base.state import warn_user
from ...errors import ArgumentTypeError
from ...tensor import Tensor
from .graph import graph_event

__all__ = ["SummaryWriter"]


def _plain(value: Any) -> Any:
    """*value* with NumPy's arrays in the place of tensors."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype.name == "bfloat16" else value).numpy()
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(_plain, value))
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _passed_on(name: str, what: str) -> Callable[..., None]:
    """The method *name* of tensorboardX, whose parameters are PyTorch's."""

    def method(self: SummaryWriter, *args: Any, **kwargs: Any) -> None:
        getattr(self._writer, name)(*map(_plain, args), **_plain(kwargs))

    method.__name__, method.__qualname__, method.__doc__ = name, f"SummaryWriter.{name}", what
    return method


class SummaryWriter:
    """Writes scalars, pictures, histograms, text, graphs, ... to a file that ``tensorboard --logdir FOLDER`` shows.

    Methods take tensors of any device, NumPy's arrays and numbers, and are those of PyTorch. Use it with ``with``, or
    call ``close()`` at the end.

    Args:
        log_dir: the folder; ``runs/<time>_<host><comment>`` if it is not given.
        comment: the end of that folder's name.
        purge_step: what an earlier run wrote from this step on does not count.
        max_queue: how many events wait before they are written.
        flush_secs: seconds after which those that wait are written.
        filename_suffix: the end of the file's name.

    Raises:
        ImportError (PackageMissing): tensorboardX is not installed.
    """

    log_dir: str

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        package = needed("tensorboardX", "tensorboard", "SummaryWriter: event files are written by tensorboardX")
        self._make = package.SummaryWriter
        self._options: dict[str, Any] = {"max_queue": max_queue, "flush_secs": flush_secs}
        self._suffix = filename_suffix
        writer = self._made(None if log_dir is None else os.fspath(log_dir), comment, purge_step)
        self.log_dir = str(writer.logdir)
        self._open = {self.log_dir: writer}

    def _made(self, folder: str | None, comment: str = "", purge_step: int | None = None) -> Any:
        # Files are named by the second: without the time, a second one of that second would take the first one's place.
        suffix = f".{time.time_ns():020}{self._suffix}"
        return self._make(folder, comment, purge_step=purge_step, filename_suffix=suffix, **self._options)

    def _in(self, folder: str) -> Any:
        if folder not in self._open:
            self._open[folder] = self._made(folder)
        return self._open[folder]

    @property
    def _writer(self) -> Any:
        return self._in(self.log_dir)

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number of a curve: float32, whatever *new_style* and *double_precision* ask for."""
        self._writer.add_scalar(tag, _plain(scalar_value), _plain(global_step), walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Numbers of several curves in one picture: each in a folder of its own, *main_tag* and the curve's name."""
        for name, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{name}")
            self._in(folder).add_scalar(main_tag, _plain(value), _plain(global_step), walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Mapping[str, Any] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Hyper-parameters and what came of them, in a folder of their own; *hparam_domain_discrete* is not written."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise ArgumentTypeError(
                "add_hparams: hparam_dict and metric_dict must be dicts",
                operands={"hparam_dict": hparam_dict, "metric_dict": metric_dict},
                fix="pass dict(...)",
            )
        if hparam_domain_discrete:
            warn_user("add_hparams: hparam_domain_discrete is not written", UserWarning)
        summary = needed("tensorboardX.summary", "tensorboard", "add_hparams: they are written by tensorboardX")
        values = {name: value.item() if isinstance(value, Tensor) else value for name, value in hparam_dict.items()}
        inner = self._made(os.path.join(self.log_dir, run_name or str(time.time())))
        for part in summary.hparams(values, metric_dict):
            inner.file_writer.add_summary(part, _plain(global_step))
        for name, value in metric_dict.items():
            inner.add_scalar(name, _plain(value), _plain(global_step))
        inner.close()

    def add_tensor(
        self, tag: str, tensor: Tensor, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """All numbers of a tensor, as float32."""
        summary, kinds, shapes = (
            needed(f"tensorboardX.proto.{name}_pb2", "tensorboard", "add_tensor: it is written by tensorboardX")
            for name in ("summary", "tensor", "tensor_shape")
        )
        array = _plain(tensor)
        shape = shapes.TensorShapeProto(dim=[shapes.TensorShapeProto.Dim(size=size) for size in array.shape])
        value = kinds.TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=shape)
        metadata = summary.SummaryMetadata(plugin_data=summary.SummaryMetadata.PluginData(plugin_name="tensor"))
        entry = summary.Summary.Value(tag=tag, tensor=value, metadata=metadata)
        self._writer.file_writer.add_summary(summary.Summary(value=[entry]), _plain(global_step), walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: list[str] | None = None,
    ) -> None:
        """A picture with boxes drawn into it, each (left, top, right, bottom)."""
        self._writer.add_image_with_boxes(
            tag,
            _plain(img_tensor),
            _plain(box_tensor),
            _plain(global_step),
            walltime,
            dataformats,
            labels,
            rescale=rescale,
        )

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The ops of a call of *model* with *input_to_model*, or its modules if no input is given."""
        self._writer.file_writer.add_event(graph_event(model, input_to_model))

    add_histogram = _passed_on("add_histogram", "How often which values are in a tensor.")
    add_histogram_raw = _passed_on("add_histogram_raw", "A histogram that was counted elsewhere.")
    add_image = _passed_on("add_image", "A picture (channels, height, width), or as *dataformats* says.")
    add_images = _passed_on("add_images", "Several pictures (N, channels, height, width).")
    add_figure = _passed_on("add_figure", "A figure of Matplotlib's, or a list of them.")
    add_video = _passed_on("add_video", "Videos (N, time, channels, height, width); needs moviepy.")
    add_audio = _passed_on("add_audio", "Sound between -1 and 1; needs soundfile.")
    add_text = _passed_on("add_text", "A text, in Markdown.")
    add_onnx_graph = _passed_on("add_onnx_graph", "The graph in a file of ONNX's.")
    add_embedding = _passed_on("add_embedding", "Points with labels, for the projector.")
    add_pr_curve = _passed_on("add_pr_curve", "Precision over recall.")
    add_pr_curve_raw = _passed_on("add_pr_curve_raw", "Precision over recall, counted elsewhere.")
    add_custom_scalars = _passed_on("add_custom_scalars", "Which curves are drawn together.")
    add_custom_scalars_multilinechart = _passed_on("add_custom_scalars_multilinechart", "Curves in one picture.")
    add_custom_scalars_marginchart = _passed_on("add_custom_scalars_marginchart", "A curve between two others.")
    add_mesh = _passed_on("add_mesh", "Points and triangles in space.")

    def flush(self) -> None:
        """Write what waits."""
        for writer in self._open.values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files; what is added later begins others."""
        while self._open:
            self._open.popitem()[1].close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
