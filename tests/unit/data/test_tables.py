"""CSV and Parquet files, streamed."""

import sys

import pytest

import polyad
from polyad.datasets import CSVReader, ParquetReader
from polyad.utils.data import default_collate
from polyad.utils.data.nodes import Batcher, Loader, Mapper, Prefetcher, Shuffler

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
from pyarrow import csv, parquet  # noqa: E402


def table(begin, end):
    rows = range(begin, end)
    return pyarrow.table({
        "id": pyarrow.array(rows, pyarrow.int64()),
        "x": pyarrow.array([row / 4 for row in rows], pyarrow.float32()),
        "name": [f"row {row}" for row in rows],
        "even": [row % 2 == 0 for row in rows],
        "pair": pyarrow.array([[row, -row] for row in rows], pyarrow.list_(pyarrow.int32(), 2)),
        "word": pyarrow.array(["a" if row % 3 else "b" for row in rows]).dictionary_encode(),
    })  # fmt: skip


@pytest.fixture
def files(tmp_path):
    """Three Parquet files of 5, 0 and 8 rows, in groups of 3."""
    paths = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path, (begin, end) in zip(paths, ((0, 5), (5, 5), (5, 13)), strict=True):
        parquet.write_table(table(begin, end), path, row_group_size=3)
    return paths


@pytest.fixture
def texts(tmp_path):
    paths = [tmp_path / f"{name}.csv" for name in "ab"]
    for path, (begin, end) in zip(paths, ((0, 40), (40, 60)), strict=True):
        csv.write_csv(table(begin, end).select(["id", "x", "name"]), path)
    return paths


def plain(item):
    return {key: value.tolist() if isinstance(value, polyad.Tensor) else value for key, value in item.items()}


def test_rows(files):
    rows = list(ParquetReader(files))
    assert rows == table(0, 13).to_pylist()
    assert [row["id"] for row in Loader(ParquetReader(files[0], columns=["id"]))] == [0, 1, 2, 3, 4]


def test_batches_go_over_groups_and_files(files):
    batches = list(ParquetReader(files, batch_size=4))
    assert [len(batch["id"]) for batch in batches] == [4, 4, 4, 1]
    first = batches[0]
    dtypes = {name: first[name].dtype for name in ("id", "x", "even", "pair")}
    assert dtypes == {"id": polyad.int64, "x": polyad.float32, "even": polyad.bool, "pair": polyad.int32}
    assert first["pair"].tolist() == [[0, 0], [1, -1], [2, -2], [3, -3]]
    assert first["name"] == ["row 0", "row 1", "row 2", "row 3"]
    assert first["word"] == ["b", "a", "a", "b"]
    first["x"].add_(1)  # the memory is the batch's own
    assert [x for batch in batches for x in batch["id"].tolist()] == list(range(13))


def test_a_group_is_read_when_its_turn_comes(files, monkeypatch):
    read = []
    group = parquet.ParquetFile.read_row_group
    monkeypatch.setattr(
        parquet.ParquetFile, "read_row_group", lambda self, i, **args: read.append(i) or group(self, i, **args)
    )
    reader = ParquetReader(files[2])
    assert next(reader)["id"] == 5
    assert read == [0]
    [next(reader) for _ in range(6)]
    state = reader.state_dict()
    read.clear()
    again = ParquetReader(files[2])
    again.load_state_dict(state)
    assert next(again)["id"] == 12
    assert read == [2]


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("reader", ["parquet", "csv"])
def test_a_reader_goes_on_where_its_state_was_taken(files, texts, reader, batch_size):
    def make():
        if reader == "parquet":
            return ParquetReader(files, batch_size=batch_size)
        return CSVReader(texts, batch_size=batch_size, block_size=100)

    node, items, states = make(), [], []
    for item in node:
        items.append(plain(item))
        states.append(node.state_dict())
    assert sum(len(item["id"]) if batch_size else 1 for item in items) == (13 if reader == "parquet" else 60)
    for place, state in enumerate(states, 1):
        again = make()
        again.load_state_dict(state)
        assert [plain(item) for item in again] == items[place:]
        again.reset()
        assert plain(next(again)) == items[0]


def test_in_a_pipeline(files):
    node = Shuffler(ParquetReader(files, columns=["id", "x"]), 6)
    node = Prefetcher(Mapper(Batcher(node, 5, drop_last=False), default_collate), 2)
    batches = list(Loader(node))
    assert sorted(row for batch in batches for row in batch["id"].tolist()) == list(range(13))


def test_csv(texts, tmp_path):
    rows = list(CSVReader(texts, block_size=200))
    assert rows == table(0, 60).select(["id", "x", "name"]).to_pylist()
    [batch] = CSVReader(texts[0], ["x", "id"], batch_size=100, dtypes={"id": polyad.float32, "x": polyad.float64})
    assert (list(batch), batch["id"].dtype, batch["x"].dtype) == (["x", "id"], polyad.float32, polyad.float64)
    path = tmp_path / "bare.csv"
    path.write_text("1;2\n3;007\n")
    reader = CSVReader(path, delimiter=";", column_names=["a", "b"], dtypes={"b": str})
    assert list(reader) == [{"a": 1, "b": "2"}, {"a": 3, "b": "007"}]


def test_what_is_wrong_is_named(files, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="there is no file"):
        ParquetReader([])
    with pytest.raises(TypeError, match="paths"):
        ParquetReader(3)
    with pytest.raises(ValueError, match="batch_size"):
        ParquetReader("a", batch_size=0)
    with pytest.raises(ValueError, match="delimiter"):
        CSVReader("a", delimiter="--")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        next(ParquetReader(tmp_path / "nowhere"))
    with pytest.raises(RuntimeError, match="no column 'z'"):
        next(ParquetReader(files, columns=["id", "z"]))
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(files[0].read_bytes()[:-20])
    with pytest.raises(RuntimeError, match=r"damaged\.parquet cannot be read"):
        next(ParquetReader(damaged))
    text = tmp_path / "ragged.csv"
    text.write_text("a,b\n1,2\n3\n")
    with pytest.raises(RuntimeError, match=r"ragged\.csv cannot be read"):
        list(CSVReader(text))
    gaps = tmp_path / "gaps.parquet"
    parquet.write_table(pyarrow.table({"x": [1, None, 3]}), gaps)
    assert [row["x"] for row in ParquetReader(gaps)] == [1, None, 3]
    with pytest.raises(RuntimeError, match=r"column 'x' of .* has 1 rows without a number"):
        next(ParquetReader(gaps, batch_size=2))
    with pytest.raises(ValueError, match="of 3 files, and there are 1"):
        ParquetReader(files[0]).load_state_dict(ParquetReader(files).state_dict())
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"polyad\[tables\]"):
        next(ParquetReader(files))


def test_files_by_url(files):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with fsspec.open("memory://tables/a.parquet", "wb") as stream:
        stream.write(files[0].read_bytes())
    assert [row["id"] for row in ParquetReader("memory://tables/a.parquet")] == [0, 1, 2, 3, 4]
    assert len(list(ParquetReader(files[2].as_uri()))) == 8
