"""Random numbers: uniform, normal, integers, permutations, draws with given probabilities.

`_philox_bits` is the only primitive. Everything else is a composite that takes words from a generator and turns them
into numbers as `polyad.random.philox` lays down; a backend that fuses a composite must give the same bits. The
generator is a parameter of the op, and it is the op's run that moves it on: a captured graph that is replayed draws
anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...base.dtypes import (
    BOOL,
    FLOATING,
    INTEGER,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    get_default_dtype,
    int64,
)
from ...base.memory_formats import MemoryFormat, check_format, check_layout, copy_strides, preserve_format
from ...base.shapes_and_strides import Shape, check_sizes, contiguous_strides, int_of, normalize_shape
from ...base.state import state
from ...devices import registry
from ...dispatch.op import composite, function, primitive
from ...dispatch.promotion import Typing, first, keyed_dtype
from ...dispatch.structure import Last, Rowwise, creation, random, row_major
from ...dispatch.views import layout_of
from ...errors import ArgumentTypeError, DTypeError, ShapeError, safe_repr
from ...random.generator import Generator, generator_or_default
from ...random.philox import ONE_WORD_RANGE
from ...tensor import Tensor
from ...tensor.tensor import check_room, check_tensor
from ..creation.factories import with_options
from ..declaring.checks import check_number, check_probability
from ..memory.copying import _copy_strided
from ..pointwise.where import where
from ..reductions.any_all import check_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...backend.interface import Signature
    from ...base.device import Device

_USED_BITS = {float32: 24, float16: 11, bfloat16: 8}


def _shape_given(shape: Shape, *rest: Any) -> Shape:
    return shape


def _int64(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((), (int64,))


def _int64_of_one(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((int64,), (int64,))


def _bool(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((), (bool_,))


# ------------------------------------------------------------------------------------------------ ops


@primitive(dtype=_int64, structure=creation, shape=_shape_given, keyed=("device",), method=False)
def _philox_bits(shape: Shape, seed: int, offset: int, device: Device) -> Tensor:
    """The words of a draw from (seed, offset) as int64 numbers in [0, 2**32)."""


def _from_begin(begin: Shape, ahead: int, count: int) -> Shape:
    return (*begin[:-1], count)


@composite(dtype=_int64_of_one, structure=Rowwise(Last(1)), shape=_from_begin, strides=row_major, method=False)
def _philox_bits_from(begin: Tensor, ahead: int, count: int) -> Tensor:
    """The words of draws (..., count) that begin *ahead* blocks behind what the rows of *begin* (..., 3) say: the
    halves of a seed, lower first, and an offset, as int64. What captured work draws, so that each replay may begin
    elsewhere.
    """
    from ..shaping.joining import stack

    lead = tuple(begin.shape[:-1])
    known = registry.get(begin.device.type).holds_data
    rows = begin.reshape(-1, 3).tolist() if known else [(0, 0, 0)] * math.prod(lead)
    words = [
        _philox_bits((count,), low + (high << 32), (offset + ahead) % 2**64, begin.device) for low, high, offset in rows
    ]
    return stack(words).reshape(*lead, count) if words else _philox_bits((*lead, count), 0, 0, begin.device)


def _words(count: int, generator: Generator, device: Device) -> Tensor:
    captured = state.capturing
    if captured is not None and device == captured.device:
        return _philox_bits_from(*captured.reserve(generator, count), count)
    # Without data nothing is drawn: what comes after draws the same numbers as if this had not been.
    drawn = generator.take(count) if registry.get(device.type).holds_data else (0, 0)
    return _philox_bits((count,), *drawn, device)


def _draw_pairs(count: int, generator: Generator, device: Device) -> tuple[Tensor, Tensor]:
    words = _words(2 * count, generator, device).reshape(count, 2)
    return words.select(1, 0), words.select(1, 1)


def _53_bits(high: Tensor, low: Tensor) -> Tensor:
    return ((high >> 5) * 2**26 + (low >> 6)).to(float64)


@composite(dtype=keyed_dtype, structure=random, shape=_shape_given, keyed=("dtype", "device"), method=False)
def _uniform(shape: Shape, low: float, high: float, generator: Generator, dtype: DType, device: Device) -> Tensor:
    """Numbers in [low, high), all equally likely."""
    count = math.prod(shape)
    if dtype is float64:
        numbers = _53_bits(*_draw_pairs(count, generator, device)) * 2.0**-53
    else:
        used = _USED_BITS[dtype]
        numbers = (_words(count, generator, device) >> (32 - used)).to(float32) * 2.0**-used
    if (low, high) != (0, 1):
        numbers = numbers * (high - low) + low
    return numbers.to(dtype).reshape(shape)


@composite(dtype=keyed_dtype, structure=random, shape=_shape_given, keyed=("dtype", "device"), method=False)
def _normal(shape: Shape, mean: float, std: float, generator: Generator, dtype: DType, device: Device) -> Tensor:
    """Normally distributed numbers."""
    count = math.prod(shape)
    pairs = -(-count // 2)
    if dtype is float64:
        words = _words(4 * pairs, generator, device).reshape(pairs, 4)
        a, b, c, d = (words.select(1, column) for column in range(4))
        u, v = _53_bits(a, b) * 2.0**-53 + 2.0**-54, _53_bits(c, d) * 2.0**-53
    else:
        first_words, second_words = _draw_pairs(pairs, generator, device)
        u, v = first_words.to(float32) * 2.0**-32 + 2.0**-33, second_words.to(float32) * 2.0**-32
    from ..shaping.joining import stack

    radius, angle = (u.log() * -2).sqrt(), v * (2 * math.pi)
    numbers = stack([radius * angle.cos(), radius * angle.sin()], 1).reshape(2 * pairs).narrow(0, 0, count)
    if (mean, std) != (0, 1):
        numbers = numbers * std + mean
    return numbers.to(dtype).reshape(shape)


@composite(dtype=keyed_dtype, structure=random, shape=_shape_given, keyed=("dtype", "device"), method=False)
def _integers(shape: Shape, low: int, high: int, generator: Generator, dtype: DType, device: Device) -> Tensor:
    """Integers in [low, high), all (nearly) equally likely."""
    count, span = math.prod(shape), high - low
    if span <= ONE_WORD_RANGE:
        numbers = _words(count, generator, device) * span >> 32
    else:
        if span > 2**63:
            return _folded(count, low, high, generator, device).to(dtype).reshape(shape)
        numbers = _keys(count, generator, device)
        if span < 2**63:
            numbers = numbers % span
    return (numbers + low if low else numbers).to(dtype).reshape(shape)


def _folded(count: int, low: int, high: int, generator: Generator, device: Device) -> Tensor:
    """Any int64 numbers; those outside [low, high), which are fewer than inside, moved by its length."""
    first_words, second_words = _draw_pairs(count, generator, device)
    numbers = (first_words - 2**31) * 2**32 + second_words
    if low > -(2**63):
        numbers = where(numbers < low, numbers - low + (high - 1) + 1, numbers)  # int64 may not hold high
    return where(numbers >= high, numbers - high + low, numbers) if high < 2**63 else numbers


def _keys(count: int, generator: Generator, device: Device) -> Tensor:
    """Numbers of 63 bits."""
    high, low = _draw_pairs(count, generator, device)
    return high * 2**31 + (low >> 1)


@composite(dtype=_bool, structure=random, shape=_shape_given, keyed=("device",), method=False)
def _chances(shape: Shape, p: float, generator: Generator, device: Device) -> Tensor:
    """True with probability p."""
    return (_words(math.prod(shape), generator, device) < round(p * 2**32)).reshape(shape)


def _probabilities_shape(input: Shape, *rest: Any) -> Shape:
    return input


@composite(dtype=first, structure=random, strides=row_major, shape=_probabilities_shape, method=False)
def _chances_of(input: Tensor, generator: Generator) -> Tensor:
    """1 with the probability that input holds, else 0."""
    dtype = float64 if input.dtype is float64 else float32
    return (_uniform(tuple(input.shape), 0, 1, generator, dtype, input.device) < input.to(dtype)).to(input.dtype)


@composite(dtype=keyed_dtype, structure=random, shape=_shape_given, keyed=("dtype", "device"), method=False)
def _exponential(shape: Shape, rate: float, generator: Generator, dtype: DType, device: Device) -> Tensor:
    """Exponentially distributed numbers, all greater than 0."""
    count = math.prod(shape)
    if dtype is float64:
        high, low = _draw_pairs(count, generator, device)
        numbers = ((high >> 6) * 2**26 + (low >> 6)).to(float64) * 2.0**-52 + 2.0**-53
    else:
        numbers = (_words(count, generator, device) >> 9).to(float32) * 2.0**-23 + 2.0**-24
    return (numbers.log() / -rate).to(dtype).reshape(shape)


def _permuted(n: int, *rest: Any) -> Shape:
    return (n,)


@composite(dtype=keyed_dtype, structure=random, shape=_permuted, keyed=("dtype", "device"), method=False)
def _permutation(n: int, generator: Generator, dtype: DType, device: Device) -> Tensor:
    """The integers in [0, n) in an order in which each is equally likely."""
    return _keys(n, generator, device).argsort(stable=True).to(dtype)


# ------------------------------------------------------------------------------------------------ functions


def _floating(op: str, dtype: DType | None) -> DType:
    dtype = dtype or get_default_dtype()
    if dtype.category != FLOATING or not dtype.computes:
        raise DTypeError(f"{op}: {dtype.name} cannot hold what is drawn", fix="use a floating point dtype")
    return dtype


def _uniform_numbers(
    op: str, shape: Shape, low: float, high: float, generator: Generator, dtype: DType | None, device: Device
) -> Tensor:
    """Uniform numbers of a floating dtype, or complex ones with both parts uniform."""
    if dtype is None or not dtype.is_complex:
        return _uniform(shape, low, high, generator, _floating(op, dtype), device)
    return _of_parts(_uniform((*shape, 2), low, high, generator, dtype.to_real(), device))


def _normal_numbers(
    op: str, shape: Shape, mean: float, std: float, generator: Generator, dtype: DType | None, device: Device
) -> Tensor:
    """Normal numbers of a floating dtype, or complex ones whose parts have half of the variance each."""
    if dtype is None or not dtype.is_complex:
        return _normal(shape, mean, std, generator, _floating(op, dtype), device)
    numbers = _of_parts(_normal((*shape, 2), 0, std * math.sqrt(0.5), generator, dtype.to_real(), device))
    return numbers + mean if mean else numbers


def _of_parts(parts: Tensor) -> Tensor:
    """The complex numbers whose real and imaginary parts lie along the last dimension, in the same memory."""
    from ..pointwise.complex_numbers import view_as_complex

    numbers: Tensor = view_as_complex(parts).detach()
    return numbers


def _read_size(op: str, size: Any) -> Shape:
    return check_sizes(normalize_shape(size, op), op)


def _like(op: str, input: Any, dtype: DType | None, device: Any) -> tuple[Shape, DType, Device]:
    type_ = check_tensor(input, op, "input")._type
    return input._array.shape, dtype or type_.dtype, type_.device if device is None else registry.resolve_device(device)


def _finished_like(
    op: str,
    tensor: Tensor,
    input: Tensor,
    memory_format: MemoryFormat,
    requires_grad: bool | None,
    pin_memory: bool | None,
) -> Tensor:
    """*tensor*, or a copy of it that lies in memory as a copy of *input* in that format would: the numbers are drawn
    in row-major order in any case.
    """
    shape, strides, _ = layout_of(input)
    strides = copy_strides(shape, strides, check_format(memory_format, op), op)
    if strides != contiguous_strides(shape):
        tensor = _copy_strided(tensor, strides)
    return with_options(tensor, requires_grad, pin_memory)


@function(method=False, dtype_of_out=True)
def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """Numbers in [0, 1), all equally likely, in a tensor of *size*; the default dtype unless another is given.

    Complex numbers have such a real and imaginary part.

    Raises RuntimeError for negative sizes and other dtypes, TypeError for sizes that are no ints.

    >>> import polyad
    >>> _ = polyad.manual_seed(0)
    >>> polyad.rand(2)
    tensor([0.3990, 0.8805])
    """
    check_layout(layout, "rand")
    numbers = _uniform_numbers(
        "rand",
        _read_size("rand", size),
        0,
        1,
        generator_or_default("rand", generator),
        dtype,
        registry.resolve_device(device),
    )
    return with_options(numbers, requires_grad, pin_memory)


@function(method=False, dtype_of_out=True)
def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """Normally distributed numbers of mean 0 and variance 1 in a tensor of *size*; dtype and errors as in `rand`.

    The parts of complex numbers have variance 1/2 each.

    >>> import polyad
    >>> polyad.randn(2, 3).shape
    polyad.Size([2, 3])
    """
    check_layout(layout, "randn")
    source = generator_or_default("randn", generator)
    numbers = _normal_numbers("randn", _read_size("randn", size), 0, 1, source, dtype, registry.resolve_device(device))
    return with_options(numbers, requires_grad, pin_memory)


def _range(op: str, low: Any, high: Any) -> tuple[int, int]:
    for name, value in (("low", low), ("high", high)):
        if int_of(value) is None:
            raise ArgumentTypeError(f"{op}: {name} is {safe_repr(value)}, not an int", fix="pass an int")
    low, high = int(low), int(high)
    if low >= high:
        raise ShapeError(f"{op}: low {low} must be below high {high}", fix="make high larger than low")
    if low < -(2**63) or high > 2**63:
        raise ShapeError(f"{op}: int64 does not hold [{low}, {high})", fix="pass bounds of at most 63 bits")
    return low, high


def _fits(op: str, low: int, high: int, dtype: DType) -> DType:
    if dtype.is_complex:
        raise DTypeError(
            f"{op}: {dtype.name} cannot hold integers in order", fix="use an integer or floating point dtype"
        )
    if dtype.category <= INTEGER:
        bits = 1 if dtype.category == BOOL else 8 * dtype.itemsize
        signed = dtype.category == INTEGER and dtype.name.startswith("int")
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        if low < least or high - 1 > most:
            raise DTypeError(
                f"{op}: {dtype.name} holds [{least}, {most}], not [{low}, {high - 1}]",
                fix="use a wider dtype or a smaller range",
            )
    return dtype


@function(method=False, dtype_of_out=True)
def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """Integers in [low, high), in a tensor of *size*; ``randint(high, size)`` starts at 0; int64 by default.

    Up to 2**24 integers differ by less than 2**-8 in likelihood, more by less than 2**-32 or so. Raises RuntimeError
    unless low < high and dtype holds both, TypeError for what is no int.

    >>> import polyad
    >>> _ = polyad.manual_seed(0)
    >>> polyad.randint(0, 100, (4,))
    tensor([39, 88, 73, 60])
    """
    check_layout(layout, "randint")
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not isinstance(size, (tuple, list)):
        raise ArgumentTypeError(
            f"randint: size is {safe_repr(size)}, not a tuple", fix="write randint(low, high, (2, 3))"
        )
    bounds = _range("randint", low, high)
    numbers = _integers(
        _read_size("randint", (size,)),
        *bounds,
        generator_or_default("randint", generator),
        _fits("randint", *bounds, dtype or int64),
        registry.resolve_device(device),
    )
    return with_options(numbers, requires_grad, pin_memory)


@function(method=False, dtype_of_out=True)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """The integers in [0, n) in random order; int64 unless *dtype* is given. Raises RuntimeError for a negative n.

    >>> import polyad
    >>> sorted(polyad.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    check_layout(layout, "randperm")
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise ArgumentTypeError(f"randperm: n is {safe_repr(n)}, not an int", fix="pass an int")
    if n.__index__() < 0:
        raise ShapeError(f"randperm: n {n} is negative", fix="pass 0 or more")
    count = n.__index__()
    dtype = _fits("randperm", 0, max(count, 1), dtype or int64)
    return with_options(
        _permutation(count, generator_or_default("randperm", generator), dtype, registry.resolve_device(device)),
        requires_grad,
        pin_memory,
    )


@function(method=False)
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """`rand` with input's shape, dtype, device and order in memory unless others are given.

    >>> import polyad
    >>> polyad.rand_like(polyad.zeros(2, 3)).shape
    polyad.Size([2, 3])
    """
    check_layout(layout, "rand_like")
    shape, dtype, where = _like("rand_like", input, dtype, device)
    source = generator_or_default("rand_like", generator)
    numbers = _uniform_numbers("rand_like", shape, 0, 1, source, dtype, where)
    return _finished_like("rand_like", numbers, input, memory_format, requires_grad, pin_memory)


@function(method=False)
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """`randn` with input's shape, dtype, device and order in memory unless others are given.

    >>> import polyad
    >>> polyad.randn_like(polyad.zeros(2, 3)).shape
    polyad.Size([2, 3])
    """
    check_layout(layout, "randn_like")
    shape, dtype, where = _like("randn_like", input, dtype, device)
    source = generator_or_default("randn_like", generator)
    numbers = _normal_numbers("randn_like", shape, 0, 1, source, dtype, where)
    return _finished_like("randn_like", numbers, input, memory_format, requires_grad, pin_memory)


@function(method=False)
def randint_like(
    input: Tensor,
    low: int | None = None,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """`randint` with input's shape, dtype, device and order in memory unless others are given.

    >>> import polyad
    >>> polyad.randint_like(polyad.zeros(2, 3), 5).dtype
    polyad.float32
    """
    check_layout(layout, "randint_like")
    shape, dtype, where = _like("randint_like", input, dtype, device)
    if low is None and high is None:
        raise ArgumentTypeError("randint_like: high is missing", operands={"input": input}, fix="pass high")
    bounds = _range("randint_like", 0 if low is None or high is None else low, low if high is None else high)
    numbers = _integers(
        shape, *bounds, generator_or_default("randint_like", generator), _fits("randint_like", *bounds, dtype), where
    )
    return _finished_like("randint_like", numbers, input, memory_format, requires_grad, pin_memory)


@function(method=False)
def normal(
    mean: Tensor | float,
    std: Tensor | float = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """Normally distributed numbers: of *size* for two numbers, else of the shape to which mean and std broadcast.

    Raises RuntimeError for a negative std, shapes that do not broadcast and dtypes that are not floating
    point.

    >>> import polyad
    >>> polyad.normal(polyad.zeros(2), 0.0)
    tensor([0., 0.])
    """
    check_layout(layout, "normal")
    source = generator_or_default("normal", generator)
    if isinstance(std, Tensor):
        if std._type.dtype.category == FLOATING:
            check_all(
                std.detach() >= 0,
                lambda position, value: ShapeError(
                    "normal: std holds numbers that are not 0 or more", fix="pass 0 or more"
                ),
                mean=mean,
                std=std,
            )
    elif not std >= 0:
        raise ShapeError(f"normal: std {std} is not 0 or more", fix="pass 0 or more")
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if size is not None:
            raise ArgumentTypeError(
                "normal: size is given by mean and std", operands={"mean": mean, "std": std}, fix="drop size"
            )
        scaled = mean + std * 0
        shape, dtype, where = _like("normal", scaled, dtype, device)
        return with_options(
            _normal_numbers("normal", shape, 0, 1, source, dtype, where) * std + mean, requires_grad, pin_memory
        )
    if size is None:
        raise ArgumentTypeError(
            "normal: two numbers need a size", operands={"mean": mean, "std": std}, fix="write normal(0.0, 1.0, (2, 3))"
        )
    numbers = _normal_numbers(
        "normal", _read_size("normal", (size,)), mean, std, source, dtype, registry.resolve_device(device)
    )
    return with_options(numbers, requires_grad, pin_memory)


@function(dtype_of_out=True)
def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """1 with the probability that *input* holds (or *p* everywhere), else 0; shape and dtype are input's, unless
    *dtype* is given.

    Raises RuntimeError for probabilities outside [0, 1] and, without *p*, for dtypes that are not floating point.

    >>> import polyad
    >>> polyad.bernoulli(polyad.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    type_ = check_tensor(input, "bernoulli", "input")._type
    source = generator_or_default("bernoulli", generator)
    if p is not None:
        return _chances(input._array.shape, _probability("bernoulli", p), source, type_.device).to(dtype or type_.dtype)
    _floating("bernoulli", type_.dtype)
    check_room("bernoulli", input._array.shape, input)
    return _chances_of(input.detach(), source).to(dtype or type_.dtype)


def _probability(op: str, p: Any) -> float:
    chance = check_number(op, "p", p, fix="pass a float in [0, 1]")
    check_probability(op, "p", p, fix="pass a probability")
    return chance


@function()
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Positions drawn with probabilities proportional to *input* (C,) or (N, C): int64, *num_samples* a row.

    Without *replacement* no position comes twice, and num_samples is at most C. Weights are 0 or more, with a sum above
    0.

    Raises RuntimeError for other shapes, dtypes and numbers.

    >>> import polyad
    >>> polyad.multinomial(polyad.tensor([0.0, 3.0, 0.0]), 4, replacement=True)
    tensor([1, 1, 1, 1])
    """
    type_ = check_tensor(input, "multinomial", "input")._type
    _floating("multinomial", type_.dtype)
    source = generator_or_default("multinomial", generator)
    shape = input._array.shape
    if len(shape) not in (1, 2) or not shape[-1]:
        raise ShapeError("multinomial: input must be (C,) or (N, C)", operands={"input": input}, fix="reshape it")
    (num_samples,) = normalize_shape((num_samples,), "multinomial")
    if num_samples < 1 or (not replacement and num_samples > shape[-1]):
        raise ShapeError(
            f"multinomial: {num_samples} samples of {shape[-1]} positions",
            operands={"input": input},
            fix="draw at least 1, with replacement if more than there are",
        )
    weights = input.detach().to(float64)
    check_all(
        ((weights >= 0) & (weights < math.inf)).all(-1) & (weights.sum(-1) > 0),
        lambda position, value: ShapeError(
            "multinomial: weights must be 0 or more, finite, with a sum above 0",
            fix="normalise them, e.g. with softmax",
        ),
        input=input,
    )
    if replacement:
        steps = weights.cumsum(-1)
        height = _uniform((*shape[:-1], num_samples), 0, 1, source, float64, type_.device) * steps.narrow(
            -1, shape[-1] - 1, 1
        )
        from ..sorting.searchsorted import searchsorted

        drawn: Tensor = searchsorted(steps, height, right=True)
        return drawn
    # The first to arrive of C exponential clocks are a sample without replacement (Efraimidis and Spirakis 2006).
    clocks = _exponential(shape, 1.0, source, float64, type_.device) / weights
    return clocks.argsort(-1, stable=True).narrow(-1, 0, num_samples).contiguous()
