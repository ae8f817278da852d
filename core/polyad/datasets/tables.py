"""CSV and Parquet files as nodes of a pipeline, a part of a file in memory at a time. Needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ..errors import ArgumentError, wrong_type
from ..files import opened
from ..interop.arrow import columns_of, csv_tables, joined, parquet_tables, rows_of
from ..utils.data.nodes import BaseNode
from ..utils.data.sampler import checked_count

__all__ = ["CSVReader", "ParquetReader"]

PathLike = str | os.PathLike[str]


def checked_files(owner: str, paths: Any) -> list[str]:
    """Paths or URLs as text: of a single one, or of a sequence."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not isinstance(paths, Sequence) or not all(isinstance(path, str | os.PathLike) for path in paths):
        raise wrong_type(owner, "paths", paths, "a path, or a list of paths")
    if not paths:
        raise ArgumentError(f"{owner}: there is no file", fix="pass at least one path")
    return [os.fsdecode(path) for path in paths]


class _TableReader(BaseNode[dict[str, Any]]):
    """Reads files as a sequence of tables, and says where in them it is."""

    def __init__(self, paths: PathLike | Sequence[PathLike], columns: Sequence[str] | None, batch_size: int | None):
        owner = type(self).__name__
        self.paths = checked_files(owner, paths)
        self.columns = None if columns is None else list(columns)
        self.batch_size = None if batch_size is None else checked_count(owner, "batch_size", batch_size)
        self._start(0, 0, 0)

    def _tables(self, stream: Any, path: str, begin: int) -> Iterator[Any]:
        raise NotImplementedError

    def _start(self, file: int, group: int, row: int) -> None:
        """Go to a row of a group of rows in a file."""
        self._file, self._group, self._row = file, group, row
        self._table: Any = None
        self._waiting: list[dict[str, Any]] = []
        self._groups: Iterator[Any] | None = None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self._start(0, 0, 0)
            return
        if initial_state["files"] != len(self.paths):
            raise ArgumentError(
                f"{type(self).__name__}.reset: the state is of {initial_state['files']} files, and there are "
                f"{len(self.paths)}",
                fix="pass the files as they were when the state was taken",
            )
        self._start(initial_state["file"], initial_state["group"], initial_state["row"])

    def get_state(self) -> dict[str, Any]:
        return {"files": len(self.paths), "file": self._file, "group": self._group, "row": self._row}

    def _read(self, path: str, begin: int) -> Iterator[Any]:
        with ExitStack() as stack:
            stream = stack.enter_context(opened(path, type(self).__name__))
            yield from self._tables(stream, path, begin)

    def _advance(self) -> Any:
        """The table that has the next row; raises StopIteration where there is none."""
        while self._table is None or self._row >= len(self._table):
            if self._table is not None:
                self._table, self._group, self._row = None, self._group + 1, 0
            if self._file >= len(self.paths):
                raise StopIteration
            if self._groups is None:
                self._groups = self._read(self.paths[self._file], self._group)
            self._table = next(self._groups, None)
            if self._table is None:
                self._file, self._group, self._row, self._groups = self._file + 1, 0, 0, None
        return self._table

    def next(self) -> dict[str, Any]:
        if self.batch_size is None:
            if not self._waiting:
                table = self._advance()
                self._waiting = rows_of(table.slice(self._row, _ROWS))[::-1]
            self._row += 1
            return self._waiting.pop()
        parts, wanted = [], self.batch_size
        while wanted:
            try:
                table = self._advance()
            except StopIteration:
                break
            parts.append(table.slice(self._row, wanted))
            self._row += len(parts[-1])
            wanted -= len(parts[-1])
        if not parts:
            raise StopIteration
        owner, name = type(self).__name__, self.paths[min(self._file, len(self.paths) - 1)]
        return columns_of(joined(parts, owner, name), owner, name)


_ROWS = 256
"""Rows that are turned into Python's objects together."""


class ParquetReader(_TableReader):
    """The rows of Parquet files, one file after the other; a row group is in memory at a time.

    Needs pyarrow: ``pip install 'polyad[tables]'``. A node: put a `Loader` around it, or further nodes. Its state is
    the place of the next row; resumed, only the row group of that row is read again.

    Args:
        paths: a path or URL, or several.
        columns: which to read; all if None.
        batch_size: rows in an item. None: an item is a row, a dict of Python's numbers, strings and lists. Else an item
            is a dict of columns: tensors (batch,) of numbers, (batch, length) of lists of one length, else lists.

    Raises:
        TypeError, ValueError: paths that are none; a batch_size that is no positive integer.
        ImportError: on reading, pyarrow is not installed.
        FileNotFoundError, OSError: on reading, a path that cannot be read.
        RuntimeError (SerializationError): on reading, a damaged file, no such column, or numbers that are missing.

    >>> ParquetReader("/nowhere/table.parquet", batch_size=32).paths
    ['/nowhere/table.parquet']
    """

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        columns: Sequence[str] | None = None,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(paths, columns, batch_size)

    def _tables(self, stream: Any, path: str, begin: int) -> Iterator[Any]:
        return parquet_tables(stream, path, self.columns, begin, "ParquetReader")


class CSVReader(_TableReader):
    """The rows of CSV files, one file after the other; a block of a file is in memory at a time.

    Needs pyarrow: ``pip install 'polyad[tables]'``. A node: put a `Loader` around it, or further nodes. Its state is
    the place of the next row; resumed, the file of that row is read again from its beginning.

    Args:
        paths: a path or URL, or several. The first line has the columns' names, unless these are given.
        columns: which to give; all if None.
        batch_size: as for `ParquetReader`.
        dtypes: by column, a dtype or ``str``. What is not named is guessed from the first block of each file.
        delimiter: between the fields.
        column_names: of files without a line of names.
        block_size: bytes that are read at a time.

    Raises:
        As `ParquetReader` does.

    >>> CSVReader(["/nowhere/a.csv", "/nowhere/b.csv"], columns=["x"]).columns
    ['x']
    """

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        columns: Sequence[str] | None = None,
        batch_size: int | None = None,
        *,
        dtypes: Mapping[str, Any] | None = None,
        delimiter: str = ",",
        column_names: Sequence[str] | None = None,
        block_size: int = 1 << 20,
    ) -> None:
        if not isinstance(delimiter, str) or len(delimiter) != 1:
            raise ArgumentError(f"CSVReader: delimiter is {delimiter!r}, not a character", fix='pass "," or "\\t"')
        self.dtypes = dict(dtypes or {})
        self.block_size = checked_count("CSVReader", "block_size", block_size)
        self._options = {
            "delimiter": delimiter, "column_names": None if column_names is None else list(column_names)
        }  # fmt: skip
        super().__init__(paths, columns, batch_size)

    def _tables(self, stream: Any, path: str, begin: int) -> Iterator[Any]:
        return csv_tables(stream, path, self.columns, begin, "CSVReader", self.dtypes, self._options, self.block_size)
