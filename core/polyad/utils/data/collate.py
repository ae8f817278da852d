"""How a list of samples becomes a batch.

The batch has the structure of a sample, with a new first dimension where the sample had tensors or numbers:

=======================================  ================================================
a sample's part                          the batch's part
=======================================  ================================================
tensor (...), NumPy array or scalar      tensor (batch, ...)
int, float, bool                         tensor (batch,) of int64, float64, bool
str, bytes                               the strings, unchanged
dict and other mappings                  mapping of the same keys
dataclass                                the same dataclass, of the parts of its fields
tuple, list                              list of parts; a named tuple stays a named tuple
=======================================  ================================================

Another type is added by a function in `default_collate_fn_map`, or in a mapping that `collate` is given.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, TypeAlias

import polyad
from polyad import errors
from polyad.dispatch.arguments import explaining
from polyad.utils.data.dataset import GatheredSamples

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert", "plainly"]

FunctionsByType: TypeAlias = dict[Any, Callable[..., Any]]
"""By type, or by a tuple of types: functions of a batch of such parts; the whole is their ``collate_fn_map``."""


@explaining
def default_collate(batch: Sequence[Any]) -> Any:
    """Join samples into a batch, part by part (see the table above).

    Raises:
        TypeError: samples of a type that has no meaning in a batch, such as None; the message says where they are.
        RuntimeError: tensors, or sequences, that differ in size.
        KeyError: mappings that differ in keys.

    >>> default_collate([(1, "one"), (2, "two")])
    [tensor([1, 2]), ('one', 'two')]
    """
    if isinstance(batch, GatheredSamples):
        return list(batch.tensors)
    if isinstance(batch, type) or not hasattr(batch, "__len__"):
        raise errors.wrong_type("default_collate", "batch", batch, "a list of samples")
    if len(batch) == 0:
        raise errors.IndexOutOfRange("default_collate: there is no sample to collate", fix="pass at least one sample")
    return _collated(batch, "sample", default_collate_fn_map)


@explaining
def collate(batch: Sequence[Any], *, collate_fn_map: FunctionsByType | None = None) -> Any:
    """Join samples as `default_collate` does, but those parts by functions of one's own whose type is in a mapping.

    Args:
        collate_fn_map: by type, or tuple of types, a function that is called with a list of such parts and
            ``collate_fn_map=`` this mapping. A part's own type counts first, then the first of which it is an instance.

    Raises as `default_collate`.

    >>> class Name(str):
    ...     pass
    >>> collate([(1, Name("a")), (2, Name("b"))], collate_fn_map={Name: lambda names, **_: "".join(names)})
    [tensor([1, 2]), 'ab']
    """
    if len(batch) == 0:
        raise errors.IndexOutOfRange("collate: there is no sample to collate", fix="pass at least one sample")
    return _collated(batch, "sample", collate_fn_map or {})


def plainly(batch: Sequence[Any], *, collate_fn_map: FunctionsByType | None = None) -> Any:
    """What `default_collate` makes of tensors, numbers, NumPy's arrays and numbers, and text."""
    return _collated(batch, "sample", {})


default_collate_fn_map: FunctionsByType = {
    polyad.Tensor: plainly,
    float: plainly,
    int: plainly,
    str: plainly,
    bytes: plainly,
}
"""What `default_collate` asks for functions; more can be put in."""


def _function_for(first: Any, functions: FunctionsByType) -> Callable[..., Any] | None:
    """The function of one's own for parts like *first*; None if there is none."""
    found = functions.get(type(first))
    if found is None:
        found = next((function for type_, function in functions.items() if isinstance(first, type_)), None)
    return None if found is plainly else found


def _collated(batch: Sequence[Any], path: str, functions: FunctionsByType) -> Any:
    """The parts of samples at *path*, joined."""
    first = batch[0]
    function = _function_for(first, functions)
    if function is not None:
        return function(batch, collate_fn_map=functions)
    if isinstance(first, polyad.Tensor):
        strange = next((sample for sample in batch if not isinstance(sample, polyad.Tensor)), None)
        if strange is not None:
            raise errors.wrong_type(
                "default_collate", "batch", strange, f"a list of tensors, as {path} of its first sample is one"
            )
        _check_shapes(batch, path)
        return polyad.stack(list(batch), 0)
    if _is_numpy(first, path):
        return _collated([polyad.as_tensor(sample) for sample in batch], path, {})
    if isinstance(first, float):
        return polyad.tensor(list(batch), dtype=polyad.float64)
    if isinstance(first, int):
        return polyad.tensor(list(batch))
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        joined = {
            key: _collated(
                [_entry(sample, key, path) for sample in batch], f"{path}[{errors.safe_repr(key)}]", functions
            )
            for key in first
        }
        return like(first, joined)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first) if field.init]
        parts = {
            name: _collated([getattr(sample, name) for sample in batch], f"{path}.{name}", functions) for name in names
        }
        return dataclasses.replace(first, **parts)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        columns = zip(first._fields, _parts(batch, path), strict=True)
        return type(first)(*(_collated(part, f"{path}.{name}", functions) for name, part in columns))
    if isinstance(first, Sequence):
        return [_collated(part, f"{path}[{place}]", functions) for place, part in enumerate(_parts(batch, path))]
    raise errors.ArgumentTypeError(
        f"default_collate: {path} is {errors.describe(first)}, which has no meaning in a batch",
        fix="return tensors, arrays, numbers, strings, dicts, dataclasses, tuples or lists from the dataset, "
        "or pass collate_fn=...",
    )


def _entry(sample: Any, key: Any, path: str) -> Any:
    try:
        return sample[key]
    except KeyError as error:
        raise KeysDiffer(
            f"default_collate: {path} of a sample has no {key!r}, and that of the first sample has",
            fix="return the same keys for every sample, or pass collate_fn=...",
        ) from error


class KeysDiffer(errors.PolyadError, KeyError):
    """Mappings in a batch that do not have the same keys."""

    __str__ = errors.PolyadError.__str__


@explaining
def default_convert(sample: Any) -> Any:
    """Turn the NumPy arrays in a sample into tensors and leave everything else as it is: for loading without batches.

    >>> default_convert({"name": "three", "pixels": [3, 4]})
    {'name': 'three', 'pixels': [3, 4]}
    """
    if isinstance(sample, polyad.Tensor | str | bytes):
        return sample
    if type(sample).__module__ == "numpy" and sample.dtype.kind in "SUO":
        return sample  # it has no tensor form, like any other object that is left as it is
    if _is_numpy(sample, "sample"):
        return polyad.as_tensor(sample)
    if dataclasses.is_dataclass(sample) and not isinstance(sample, type):
        parts = {
            field.name: default_convert(getattr(sample, field.name))
            for field in dataclasses.fields(sample)
            if field.init
        }
        return dataclasses.replace(sample, **parts)
    if isinstance(sample, Mapping):
        return like(sample, {key: default_convert(value) for key, value in sample.items()})
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*(default_convert(part) for part in sample))
    if isinstance(sample, Sequence):
        return [default_convert(part) for part in sample]
    return sample


def _is_numpy(value: Any, path: str) -> bool:
    """Whether this is a NumPy array of numbers or a NumPy scalar; asked without importing NumPy."""
    if type(value).__module__ != "numpy" or isinstance(value, str | bytes):  # numpy.str_ is a str
        return False
    if value.dtype.kind in "SUO":
        raise errors.ArgumentTypeError(
            f"default_collate: {path} is a NumPy array of {value.dtype}, which has no tensor form",
            fix="turn it into numbers, or into a list of str, in the dataset",
        )
    return True


def like(original: Any, parts: Any) -> Any:
    """A mapping (*parts* a dict of its keys), tuple or sequence like *original*, with *parts* in it.

    What can be changed is copied, with all that it holds besides; a class that allows neither gives a dict or a list.
    """
    try:
        if isinstance(original, MutableMapping):
            clone: Any = copy.copy(original)
            clone.update(parts)
        elif isinstance(original, MutableSequence):
            clone = copy.copy(original)
            for place, part in enumerate(parts):
                clone[place] = part
        elif isinstance(original, tuple) and hasattr(original, "_fields"):
            return type(original)(*parts)
        else:
            return type(original)(parts)
        return clone
    except TypeError:  # such as a range
        return parts


def _parts(batch: Sequence[Any], path: str) -> list[tuple[Any, ...]]:
    """Samples as columns."""
    strange = next((sample for sample in batch if not isinstance(sample, Sequence)), None)
    if strange is not None:
        raise errors.wrong_type("default_collate", "batch", strange, "a list of sequences, as its first sample is one")
    sizes = {len(sample) for sample in batch}
    if len(sizes) > 1:
        raise errors.ShapeError(
            f"default_collate: {path} has different lengths in the samples of a batch: {sorted(sizes)}",
            fix="return sequences of one length from the dataset, or pass collate_fn=...",
        )
    return list(zip(*batch, strict=True))


def _check_shapes(batch: Sequence[Any], path: str) -> None:
    first = batch[0]
    for position, sample in enumerate(batch):
        if sample.shape != first.shape:
            raise errors.ShapeError(
                f"default_collate: {path} differs in shape between sample 0 and sample {position} of the batch",
                operands={"sample 0": first, f"sample {position}": sample},
                fix="pad or crop in the dataset, or pass collate_fn=... to the DataLoader",
            )
