"""Tables of Apache Arrow: files of them, and their columns as tensors. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from ..base.dtypes import DType
from ..base.extras import needed
from ..errors import SerializationError
from .numpy import FROM_NUMPY, from_numpy, numpy_dtype

__all__ = ["columns_of", "csv_tables", "joined", "parquet_tables", "rows_of"]


def _pyarrow(op: str, module: str = "") -> Any:
    return needed("pyarrow" + module, "tables", f"{op}: such files are read by pyarrow")


def parquet_tables(stream: IO[bytes], name: str, columns: Sequence[str] | None, begin: int, op: str) -> Iterator[Any]:
    """The row groups of a Parquet file from number *begin* on, as tables; each is read when it is asked for."""
    parquet = _pyarrow(op, ".parquet")
    with _explained(op, name):
        file = parquet.ParquetFile(stream)
        _check_columns(op, name, columns, file.schema_arrow.names)
    for number in range(begin, file.num_row_groups):
        with _explained(op, name):
            table = file.read_row_group(number, columns=None if columns is None else list(columns))
        yield table


def csv_tables(
    stream: IO[bytes],
    name: str,
    columns: Sequence[str] | None,
    begin: int,
    op: str,
    dtypes: dict[str, Any],
    options: dict[str, Any],
    block_size: int,
) -> Iterator[Any]:
    """The blocks of a CSV file from number *begin* on, as tables."""
    arrow, csv = _pyarrow(op), _pyarrow(op, ".csv")
    types = {column: _arrow_type(arrow, wanted) for column, wanted in dtypes.items()}
    with _explained(op, name):
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                block_size=block_size, use_threads=False, column_names=options.get("column_names")
            ),
            parse_options=csv.ParseOptions(delimiter=options.get("delimiter", ",")),
            convert_options=csv.ConvertOptions(column_types=types),
        )
        _check_columns(op, name, columns, reader.schema.names)
    number = 0
    while True:
        with _explained(op, name):
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
        number += 1
        if number > begin:
            table = arrow.Table.from_batches([batch])
            yield table if columns is None else table.select(list(columns))


class _explained:
    """Arrow's errors as polyad's, with the name of the file."""

    def __init__(self, op: str, name: str) -> None:
        self._op, self._name = op, name

    def __enter__(self) -> None:
        pass

    def __exit__(self, cls: Any, error: Any, trace: Any) -> None:
        if isinstance(error, SerializationError) or error is None or not isinstance(error, Exception):
            return
        lib = _pyarrow(self._op, ".lib")
        if isinstance(error, lib.ArrowException | OSError):
            raise SerializationError(
                f"{self._op}: {self._name} cannot be read: {error}", fix="use another copy, or give the dtypes"
            ) from error


def _check_columns(op: str, name: str, columns: Sequence[str] | None, there: Sequence[str]) -> None:
    missing = [column for column in columns or () if column not in there]
    if missing:
        raise SerializationError(
            f"{op}: {name} has no column {missing[0]!r}", fix="its columns are " + ", ".join(map(repr, there))
        )


def _arrow_type(arrow: Any, wanted: Any) -> Any:
    if wanted is str:
        return arrow.string()
    return arrow.from_numpy_dtype(numpy_dtype(wanted)) if isinstance(wanted, DType) else wanted


def joined(tables: list[Any], op: str, name: str) -> Any:
    """Tables one behind the other."""
    if len(tables) == 1:
        return tables[0]
    arrow = _pyarrow(op)
    with _explained(op, name):
        return arrow.concat_tables(tables)


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Rows as dicts of Python's numbers, strings and lists; None where there is nothing."""
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def columns_of(table: Any, op: str, name: str) -> dict[str, Any]:
    """Columns by name: tensors of numbers (n,), of lists of one length (n, length), else lists."""
    return {
        column: _column(table.column(column).combine_chunks(), f"column {column!r} of {name}", op)
        for column in table.column_names
    }


def _column(array: Any, what: str, op: str) -> Any:
    types = _pyarrow(op).types
    array = array.chunk(0) if hasattr(array, "chunk") else array
    type_ = array.type
    if types.is_dictionary(type_):
        return _column(array.dictionary_decode(), what, op)
    if types.is_fixed_size_list(type_) and not array.null_count:
        flat = _column(array.flatten(), what, op)
        return flat if isinstance(flat, list) else flat.reshape(len(array), type_.list_size)
    if not (types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_)):
        return array.to_pylist()
    if array.null_count:
        raise SerializationError(
            f"{op}: {what} has {array.null_count} rows without a number",
            fix="fill them in the file, or read row by row, where they are None",
        )
    values = np.ascontiguousarray(array.to_numpy(zero_copy_only=False))
    if values.dtype.name not in FROM_NUMPY:
        return array.to_pylist()
    return from_numpy(values if values.flags.writeable else values.copy())
