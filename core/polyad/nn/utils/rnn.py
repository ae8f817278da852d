"""Sequences of different lengths: padded to one tensor, or packed without padding for recurrent layers.

A packed batch holds the elements of all sequences step by step: those of the first step, then those of the second, and
so on, with longer sequences first, so that a step is of the first sequences. ``batch_sizes`` counts each step's
sequences. `polyad.ops.nn.recurrent.sequences` computes on this form.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...arguments import explain
from ...base.device import Device
from ...base.dtypes import INTEGER, int64
from ...errors import ArgumentError, ArgumentTypeError, OptionError, ShapeError, safe_repr
from ...ops.creation.factories import arange, full, tensor, zeros_like
from ...ops.shaping.joining import cat, stack
from ...tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of different lengths without padding, as recurrent layers take and return them.

    Made by `pack_padded_sequence` and `pack_sequence`.

    Args:
        data: the elements (rows, *) of all sequences, step by step.
        batch_sizes: how many sequences each step has, int64 on the cpu; the numbers fall and add up to rows.
        sorted_indices: where each sequence was before they were sorted by length; None if they were sorted.
        unsorted_indices: the way back; by default what follows from *sorted_indices*.

    Raises:
        ValueError: *batch_sizes* is not on the cpu.
        TypeError: *data* or *batch_sizes* is no tensor.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None and isinstance(data, (tuple, list)) and len(data) == 2:
            data, batch_sizes = data
        for name, value in (("data", data), ("batch_sizes", batch_sizes)):
            if not isinstance(value, Tensor):
                raise ArgumentTypeError(
                    f"PackedSequence: {name} is {safe_repr(value)}, not a tensor",
                    fix="pack sequences with pack_padded_sequence or pack_sequence",
                )
        assert batch_sizes is not None
        if batch_sizes.device.type != "cpu":
            raise ArgumentError(
                f"PackedSequence: batch_sizes are on {batch_sizes.device}, not on the cpu",
                operands={"batch_sizes": batch_sizes},
                fix="pass batch_sizes.cpu()",
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences with data as ``data.to(*args, **kwargs)``; the batch sizes stay on the cpu."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._moved(data, data.device)

    def _moved(self, data: Tensor, device: Device) -> PackedSequence:
        first, second = (
            None if indices is None else indices.to(device) for indices in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, first, second)

    def _cast(self, name: str) -> PackedSequence:
        return self._moved(getattr(self.data, name)(), self.data.device)

    def cpu(self) -> PackedSequence:
        """The sequences with data on the cpu."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences with data on a cuda device."""
        data = self.data.cuda(*args, **kwargs)
        return self._moved(data, data.device)

    def double(self) -> PackedSequence:
        """The sequences with data as float64."""
        return self._cast("double")

    def float(self) -> PackedSequence:
        """The sequences with data as float32."""
        return self._cast("float")

    def half(self) -> PackedSequence:
        """The sequences with data as float16."""
        return self._cast("half")

    def long(self) -> PackedSequence:
        """The sequences with data as int64."""
        return self._cast("long")

    def int(self) -> PackedSequence:
        """The sequences with data as int32."""
        return self._cast("int")

    def short(self) -> PackedSequence:
        """The sequences with data as int16."""
        return self._cast("short")

    def char(self) -> PackedSequence:
        """The sequences with data as int8."""
        return self._cast("char")

    def byte(self) -> PackedSequence:
        """The sequences with data as uint8."""
        return self._cast("byte")

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a cuda device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    def pin_memory(self) -> PackedSequence:
        """The sequences with data in pinned memory."""
        return self._moved(self.data.pin_memory(), self.data.device)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes *permutation*: ``x[permutation][inverse]`` is x. None gives None.

    >>> import polyad
    >>> polyad.nn.utils.rnn.invert_permutation(polyad.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = arange(permutation.numel(), device=permutation.device)
    return zeros_like(permutation, dtype=int64).scatter_(0, permutation.to(int64), places)


def _lengths(op: str, lengths: Any, count: int, most: int) -> list[int]:
    """Lengths as ints. Raises unless there are *count* of them, from 1 to *most*."""
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu" or lengths._type.dtype.category != INTEGER or lengths.ndim != 1:
            raise ShapeError(
                f"{op}: lengths must be a vector of integers on the cpu",
                operands={"lengths": lengths},
                fix="pass lengths.cpu(), or a list",
            )
        given: list[int] = lengths.tolist()
    else:
        given = list(lengths)
        try:
            given = [operator.index(length) for length in given]
        except TypeError as error:
            raise ArgumentTypeError(
                f"{op}: lengths are {safe_repr(given)}, not ints", fix="pass a list of ints"
            ) from error
    if len(given) != count:
        raise ShapeError(f"{op}: {len(given)} lengths for {count} sequences", fix="give a length for each sequence")
    for place, length in enumerate(given):
        if not 1 <= length <= most:
            raise ShapeError(
                f"{op}: lengths[{place}] = {length} is not in [1, {most}]",
                fix="leave out empty sequences; a length counts steps of the padded tensor",
            )
    return given


def _rows(sizes: Sequence[int], count: int) -> list[int]:
    """Where the rows of a packed batch are in a padded (T * count, *)."""
    return [step * count + place for step, size in enumerate(sizes) for place in range(size)]


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack the sequences of a padded batch.

    Args:
        input: (T, N, *), or (N, T, *) with *batch_first*.
        lengths: the length of each sequence, from 1 to T; a tensor must be on the cpu.
        batch_first: whether the batch comes before the steps.
        enforce_sorted: whether lengths must fall already. If False, the sequences are sorted, which
            `pad_packed_sequence` undoes.

    Raises:
        RuntimeError: lengths do not fit, or do not fall with *enforce_sorted*.

    >>> import polyad
    >>> padded = polyad.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> packed = polyad.nn.utils.rnn.pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    op = "pack_padded_sequence"
    if input.ndim < 2:
        raise ShapeError(f"{op}: input has no steps of a batch", operands={"input": input}, fix="give (T, N, *)")
    if batch_first:
        input = input.transpose(0, 1)
    steps, count, *rest = input.shape
    each = _lengths(op, lengths, count, steps)
    if not each:
        raise ShapeError(f"{op}: there are no sequences", operands={"input": input}, fix="give at least one")
    order = sorted(range(count), key=lambda place: -each[place])
    sorted_indices = None
    if enforce_sorted:
        for place in range(1, count):
            if each[place] > each[place - 1]:
                raise ShapeError(
                    f"{op}: lengths[{place}] = {each[place]} is more than the {each[place - 1]} before it",
                    fix="sort sequences by falling length, or pass enforce_sorted=False",
                )
    else:
        sorted_indices = tensor(order, device=input.device)
        input, each = input.index_select(1, sorted_indices), [each[place] for place in order]
    sizes = [sum(length > step for length in each) for step in range(each[0])]
    rows = tensor(_rows(sizes, count), device=input.device)
    data = input.reshape(steps * count, *rest).index_select(0, rows)
    return PackedSequence(data, tensor(sizes), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch (T, N, *) of packed sequences, or (N, T, *) with *batch_first*, and their lengths (N,).

    Args:
        sequence: what is packed.
        batch_first: whether the batch comes before the steps.
        padding_value: what the ends are filled with.
        total_length: T, if it is to be more than the longest sequence.

    Raises:
        ValueError: *total_length* is less than the longest sequence.

    >>> import polyad
    >>> rnn = polyad.nn.utils.rnn
    >>> rnn.pad_packed_sequence(rnn.pack_sequence([polyad.tensor([1, 2]), polyad.tensor([3])]), batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    if not isinstance(sequence, PackedSequence):
        raise ArgumentTypeError(
            f"pad_packed_sequence: sequence is a {type(sequence).__name__}, not a PackedSequence",
            operands={"sequence": sequence},
            fix="pass what pack_padded_sequence, pack_sequence or a recurrent layer returned",
        )
    data, sizes = sequence.data, sequence.batch_sizes.tolist()
    steps, count = len(sizes), sizes[0]
    if total_length is not None:
        if total_length < steps:
            raise ArgumentError(
                f"pad_packed_sequence: total_length {total_length} is less than {steps}, the longest sequence",
                fix="leave it out, or make it larger",
            )
        steps = total_length
    rest = data.shape[1:]
    flat = full((steps * count, *rest), padding_value, dtype=data.dtype, device=data.device)
    padded = flat.index_copy(0, tensor(_rows(sizes, count), device=data.device), data).reshape(steps, count, *rest)
    lengths = tensor([sum(size > place for size in sizes) for place in range(count)])
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices.cpu())
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (length, *) as one tensor (T, N, *), or (N, T, *) with *batch_first*, where T is the largest length.

    Args:
        sequences: what is padded; their shapes differ in the first dimension alone.
        batch_first: whether the batch comes before the steps.
        padding_value: what is filled in.
        padding_side: ``"right"`` for the end of a sequence, or ``"left"``.

    Raises:
        RuntimeError: shapes or the side do not fit.

    >>> import polyad
    >>> polyad.nn.utils.rnn.pad_sequence([polyad.tensor([1, 2]), polyad.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    op = "pad_sequence"
    if not isinstance(sequences, Iterable):
        raise ShapeError(
            f"{op}: sequences is {safe_repr(sequences)}, no tensors to go through", fix="pass a list of tensors"
        )
    if padding_side not in ("left", "right"):
        raise OptionError(f"{op}: padding_side is {safe_repr(padding_side)}", fix='use "right" or "left"')
    given = list(sequences)
    if not given:
        raise ShapeError(f"{op}: there are no sequences", fix="give at least one")
    for one in given:
        if not isinstance(one, Tensor):
            raise ArgumentTypeError(f"{op}: sequences holds {safe_repr(one)}, no tensor", fix="pass a list of tensors")
        if not one.ndim or one.shape[1:] != given[0].shape[1:]:
            raise ShapeError(
                f"{op}: sequences {tuple(given[0].shape)} and {tuple(one.shape)} differ in more than their lengths",
                operands={"first": given[0], "other": one},
                fix="give shapes (length, *) with the same *",
            )
    most = max(len(one) for one in given)
    padded = []
    for one in given:
        missing = one.new_full((most - len(one), *one.shape[1:]), padding_value)
        parts = [one, missing] if padding_side == "right" else [missing, one]
        padded.append(cat(parts) if len(missing) else one)
    result: Tensor = stack(padded, 0 if batch_first else 1)
    return result


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences (length, *) of a padded batch (T, N, *), or (N, T, *) with *batch_first*.

    Raises RuntimeError for lengths that do not fit.

    >>> import polyad
    >>> polyad.nn.utils.rnn.unpad_sequence(polyad.tensor([[1, 2], [3, 0]]), polyad.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    given = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    count, most = padded_sequences.shape[:2]
    if len(given) != count or any(not 0 <= length <= most for length in given):
        raise ShapeError(
            f"unpad_sequence: lengths {safe_repr(given)} do not fit {count} sequences of at most {most} steps",
            operands={"padded_sequences": padded_sequences},
            fix="give a length for each sequence",
        )
    return [one.narrow(0, 0, length) for one, length in zip(padded_sequences.unbind(0), given, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (length, *) of different lengths.

    With *enforce_sorted* the lengths must fall; without, the sequences are sorted, which `unpack_sequence` undoes.

    Raises RuntimeError for lengths that do not fall, and for shapes that do not fit.

    >>> import polyad
    >>> polyad.nn.utils.rnn.pack_sequence([polyad.tensor([1, 2]), polyad.tensor([3])]).data
    tensor([1, 3, 2])
    """
    given = list(sequences)
    return pack_padded_sequence(pad_sequence(given), [len(one) for one in given], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences (length, *) of a packed batch, in the order in which they were before they were sorted.

    >>> import polyad
    >>> rnn = polyad.nn.utils.rnn
    >>> rnn.unpack_sequence(rnn.pack_sequence([polyad.tensor([1]), polyad.tensor([2, 3])], enforce_sorted=False))
    [tensor([1]), tensor([2, 3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


explain(globals())
