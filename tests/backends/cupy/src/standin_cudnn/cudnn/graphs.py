"""Handles, tensors and graphs, with the checks that a wrong description or call runs into."""

from __future__ import annotations

import enum
import itertools

import numpy as np
from cupy import simulation as device_simulation

from polyad.base.dtypes import bfloat16, float16, float32, float64
from polyad.interop.numpy import numpy_dtype

from . import attention, convolutions
from .simulation import asked

GARBAGE = 0xCD
_WORKSPACE = 4096
_ATTENTION = ("sdpa", "sdpa_backward")


class cudnnGraphNotSupportedError(Exception):
    """There is no plan."""


class data_type(enum.Enum):
    FLOAT, DOUBLE, HALF, BFLOAT16, NOT_SET = range(5)


class heur_mode(enum.Enum):
    A, B, FALLBACK = range(3)


class build_plan_policy(enum.Enum):
    HEURISTICS_CHOICE, ALL = range(2)


class diagonal_alignment(enum.Enum):
    TOP_LEFT, BOTTOM_RIGHT = range(2)


class numerical_note(enum.Enum):
    (TENSOR_CORE, DOWN_CONVERT_INPUTS, REDUCED_PRECISION_REDUCTION, FFT, NONDETERMINISTIC, WINOGRAD, WINOGRAD_TILE_4x4,
     WINOGRAD_TILE_6x6, WINOGRAD_TILE_13x13) = range(9)  # fmt: skip


DTYPES = {
    data_type.HALF: numpy_dtype(float16),
    data_type.BFLOAT16: numpy_dtype(bfloat16),
    data_type.FLOAT: numpy_dtype(float32),
    data_type.DOUBLE: numpy_dtype(float64),
}

_handles: dict[int, list] = {}
_numbers = itertools.count(0x9000)


def create_handle():
    asked()
    handle = next(_numbers)
    _handles[handle] = [device_simulation.current(), 0]
    return handle


def set_stream(handle, stream):
    device, _ = _handles[handle]
    if device != device_simulation.current():
        raise RuntimeError("the handle is of another device")
    device_simulation.queue_of(stream)
    _handles[handle][1] = stream


class tensor:
    """A tensor of a graph."""

    def __init__(self):
        self._dim = self._stride = self._type = self._uid = None
        self._output = False

    def set_output(self, is_output, /):
        self._output = is_output
        return self

    def set_dim(self, dim, /):
        self._dim = _ints(dim)
        return self

    def set_stride(self, stride, /):
        self._stride = _ints(stride)
        return self

    def set_data_type(self, data_type):
        if data_type not in DTYPES:
            raise TypeError(f"{data_type!r} is no type of a tensor")
        self._type = data_type
        return self

    def set_uid(self, uid, /):
        if not isinstance(uid, int) or uid < 1:
            raise TypeError(f"uid {uid!r}")
        self._uid = uid
        return self

    def _check(self):
        if None in (self._dim, self._stride, self._type, self._uid) or len(self._dim) != len(self._stride):
            raise RuntimeError("a tensor is not described whole")
        if any(size < 1 for size in self._dim) or any(step < 0 for step in self._stride):
            raise RuntimeError(f"sizes {self._dim} with steps {self._stride}")
        order = sorted(zip(self._stride, self._dim))
        reach = 1
        for step, size in order:
            if size > 1 and step < reach and step:
                raise RuntimeError(f"elements of {self._dim} with steps {self._stride} lie over each other")
            reach = max(reach, step * size)

    def _array(self, address):
        dtype = DTYPES[self._type]
        reach = 1 + sum((size - 1) * step for size, step in zip(self._dim, self._stride))
        if type(address) is not int or address % 16:
            raise RuntimeError(f"address {address!r} is not aligned")
        memory = device_simulation.owner_of(address, reach * dtype.itemsize)
        strides = [step * dtype.itemsize for step in self._stride]
        return np.ndarray(self._dim, dtype, memory.contents, address - memory.address, strides)


def _ints(values):
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise TypeError(f"{values!r} is no list of ints")
    return tuple(values)


class pygraph:
    """Operations, and plans for them."""

    _STEPS = ("described", "validated", "operations", "planned", "supported", "built")

    def __init__(
        self,
        name="test_graph",
        io_data_type=data_type.NOT_SET,
        intermediate_data_type=data_type.NOT_SET,
        compute_data_type=data_type.NOT_SET,
        handle=None,
    ):
        asked()
        if _handles[handle][0] != device_simulation.current():
            raise RuntimeError("the handle is of another device")
        wide = data_type.DOUBLE if io_data_type is data_type.DOUBLE else data_type.FLOAT
        if compute_data_type is not wide or intermediate_data_type is not wide:
            raise RuntimeError(f"{io_data_type} is computed in {compute_data_type}")
        self._io, self._handle, self._at = io_data_type, handle, 0
        self._tensors, self._operation, self._barred, self._policy = [], None, set(), None

    def _step(self, number):
        if self._at != number - 1:
            raise RuntimeError(f"{self._STEPS[number]} does not come after {self._STEPS[self._at]}")
        self._at = number

    def tensor(self, dim, stride, data_type=data_type.NOT_SET, name="", uid=-1):
        made = tensor().set_dim(dim).set_stride(stride).set_data_type(data_type).set_uid(uid)
        self._tensors.append(made)
        return made

    def _put(self, name, operands, results, settings):
        if self._operation or any(each not in self._tensors for each in operands.values()):
            raise RuntimeError("the stand-in has graphs of one operation, of their own tensors")
        self._operation = name, operands, results, settings
        self._tensors += results

    def bias(self, input, bias):
        name, operands, results, settings = self._operation or ("", {}, [], ())
        if name != "conv_fprop" or results != [input] or "bias" in operands or bias not in self._tensors:
            raise RuntimeError("the stand-in adds a bias to the result of a convolution")
        self._tensors.remove(input)
        self._operation = None
        result = tensor()
        self._put(name, {**operands, "bias": bias}, [result], settings)
        return result

    def _convolution(self, name, operands, pre_padding, post_padding, stride, dilation):
        settings = [_ints(each) for each in (pre_padding, post_padding, stride, dilation)]
        result = tensor()
        self._put(name, operands, [result], settings)
        return result

    def conv_fprop(self, image, weight, pre_padding, post_padding, stride, dilation):
        operands = {"image": image, "weight": weight}
        return self._convolution("conv_fprop", operands, pre_padding, post_padding, stride, dilation)

    def conv_dgrad(self, loss, filter, pre_padding, post_padding, stride, dilation):
        operands = {"loss": loss, "filter": filter}
        return self._convolution("conv_dgrad", operands, pre_padding, post_padding, stride, dilation)

    def conv_wgrad(self, image, loss, pre_padding, post_padding, stride, dilation):
        operands = {"image": image, "loss": loss}
        return self._convolution("conv_wgrad", operands, pre_padding, post_padding, stride, dilation)

    def _attention(self, name, operands, results, attn_scale, alignment, bound):
        if type(attn_scale) is not float:
            raise TypeError(f"attn_scale {attn_scale!r}")
        if (alignment, bound) not in ((None, None), (diagonal_alignment.TOP_LEFT, 0)):
            raise RuntimeError(f"the stand-in has no mask of {alignment} and {bound}")
        made = [tensor() for _ in range(results)]
        self._put(name, operands, made, (bound == 0, attn_scale))
        return made

    def sdpa(
        self, q, k, v, generate_stats, attn_scale, diagonal_alignment=None, diagonal_band_right_bound=None
    ):  # fmt: skip
        if generate_stats is not True:
            raise RuntimeError("the stand-in has attention with sums")
        operands = {"q": q, "k": k, "v": v}
        return self._attention("sdpa", operands, 2, attn_scale, diagonal_alignment, diagonal_band_right_bound)

    def sdpa_backward(
        self, q, k, v, o, dO, stats, attn_scale, use_deterministic_algorithm, diagonal_alignment=None,
        diagonal_band_right_bound=None,
    ):  # fmt: skip
        if use_deterministic_algorithm is not True:
            raise RuntimeError("no op of polyad adds up in an order that depends on timing")
        operands = {"q": q, "k": k, "v": v, "o": o, "dO": dO, "stats": stats}
        bound = diagonal_band_right_bound
        return self._attention("sdpa_backward", operands, 3, attn_scale, diagonal_alignment, bound)

    def validate(self):
        self._step(1)
        uids = []
        for each in self._tensors:
            each._check()
            uids.append(each._uid)
        if len(set(uids)) < len(uids):
            raise RuntimeError(f"uids {uids} repeat")
        name, operands, results, settings = self._operation
        if not all(each._output for each in results):
            raise RuntimeError("a result is no output")
        sizes, wanted = {key: each._dim for key, each in operands.items()}, [each._dim for each in results]
        if name in _ATTENTION:
            attention.check(sizes, wanted)
            sums = operands.get("stats") or results[1]
            if sums._type is not data_type.FLOAT or self._io not in (data_type.HALF, data_type.BFLOAT16):
                raise RuntimeError("attention is of half types, with sums of float32")
            others = [each for each in self._tensors if each is not sums]
            if any(each._stride[3] != 1 or any(step % 8 for step in each._stride[:3]) for each in others):
                raise RuntimeError("features of attention lie side by side, in whole units of 16 bytes")
        else:
            convolutions.check(name, sizes, wanted[0], settings)
            others = self._tensors
        if any(each._type is not self._io for each in others):
            raise RuntimeError("the stand-in has graphs of one type")

    def build_operation_graph(self):
        self._step(2)

    def create_execution_plans(self, modes, /):
        self._step(3)
        if not modes or not all(isinstance(mode, heur_mode) for mode in modes):
            raise TypeError(f"{modes!r} are no modes")

    def deselect_numeric_notes(self, notes, /):
        if self._at != 3:
            raise RuntimeError("there are no plans yet, or they are built")
        if not all(isinstance(note, numerical_note) for note in notes):
            raise TypeError(f"{notes!r} are no notes")
        self._barred |= set(notes)

    def check_support(self):
        self._step(4)
        name, operands, *_ = self._operation
        if name in asked().unsupported or ("bias" in operands and "bias" in asked().unsupported):
            raise cudnnGraphNotSupportedError("no engine")

    def build_plans(self, policy=build_plan_policy.HEURISTICS_CHOICE):
        self._step(5)
        self._policy = policy

    def get_workspace_size(self):
        if self._at != 5:
            raise RuntimeError("no plan is built")
        return _WORKSPACE

    def get_execution_plan_count(self):
        return 3

    def get_workspace_size_plan_at_index(self, index):
        return 0 if index == 1 else _WORKSPACE

    def execute_plan_at_index(self, tensor_to_device_buffer, workspace, index, handle=None):
        if self._policy is not build_plan_policy.ALL or index == 0:
            raise RuntimeError(f"[cudnn_frontend] Plan {index} is deselected, or not built")
        self._run(tensor_to_device_buffer, workspace, self.get_workspace_size_plan_at_index(index), handle)

    def execute(self, tensor_to_device_buffer, workspace, handle=None):
        self._run(tensor_to_device_buffer, workspace, self.get_workspace_size(), handle)

    def _run(self, places, workspace, size, handle):
        wanted = asked()
        if wanted.failing:
            raise RuntimeError(wanted.failing)
        if handle != self._handle:
            raise RuntimeError("the plan is of another handle")
        device, stream = _handles[handle]
        if device != device_simulation.current():
            raise RuntimeError("the handle is of another device")
        if set(places) != {each._uid for each in self._tensors}:
            raise RuntimeError(f"addresses are of {sorted(places)}")
        arrays = {each: each._array(places[each._uid]) for each in self._tensors}
        queue = device_simulation.queue_of(stream)
        if size:
            memory = device_simulation.owner_of(workspace, size)
            at = workspace - memory.address
            queue.put(lambda: memory.contents.__setitem__(slice(at, at + size), GARBAGE))
        name, operands, results, settings = self._operation
        wanted.done += [name, "bias"] if "bias" in operands else [name]
        tf32 = self._io is data_type.FLOAT and numerical_note.TENSOR_CORE not in self._barred
        if tf32:
            wanted.done.append("tf32")
        wide = np.float64 if self._io is data_type.DOUBLE else np.float32
        given = {key: arrays[each] for key, each in operands.items()}
        to = [arrays[each] for each in results]
        digits, wrong = (wanted.digits if tf32 else None), wanted.wrong

        def work():
            factors = {
                key: rounded(each.astype(wide), None if key == "bias" else digits) for key, each in given.items()
            }
            if name in _ATTENTION:
                found = attention.compute(factors, *settings)
            else:
                found = [convolutions.compute(name, factors, to[0].shape, settings)]
            for place, value in zip(to, found, strict=True):
                place[...] = value + wide(wrong)

        queue.put(work)


def rounded(x, digits):
    """*x* with *digits* bits behind the point; all of them if that is None."""
    if digits is None:
        return x
    fraction, power = np.frexp(x)
    steps = 2.0 ** (digits + 1)
    return np.ldexp(np.round(fraction * steps) / steps, power).astype(x.dtype)
