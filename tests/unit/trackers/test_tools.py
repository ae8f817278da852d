"""Trackers of other tools: what was written is read by the tool's own reader. The session `trackers` installs them."""

import secrets
import socket
import time
import warnings

import numpy
import pytest

import polyad as torch
from polyad.trackers import MLflowTracker, TensorBoardTracker, TrackioTracker, WandbTracker
from polyad.trainer import LightningModule, ModelCheckpoint, Trainer
from polyad.utils.data import DataLoader, TensorDataset

RED = torch.tensor([1.0, 0.0, 0.25]).reshape(3, 1, 1).expand(3, 4, 5)
BYTES = [255, 0, 64]
VALUES = torch.tensor([0.0, 1.0, 2.0, 2.0, float("nan")])
MODEL = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())


def everything(tracker, folder):
    """Give a tracker what it can be given; images before values, and values in two rows of a step."""
    (folder / "notes.txt").write_text("abc")
    tracker.log_hyperparams({"lr": 0.1, "model": {"width": 3}, "name": "small", "none": None})
    tracker.log_image("picture", RED, step=1)
    tracker.log_metrics({"loss": 0.5}, step=1)
    tracker.log_metrics({"val/loss": torch.tensor(0.25)}, step=1)
    tracker.log_metrics({"loss": float("nan")}, step=2)
    tracker.log_image("grey", torch.zeros(2, 2, dtype=torch.uint8), step=2)
    tracker.log_histogram("weights", VALUES, step=2)
    tracker.log_text("sample", "a text", step=2)
    tracker.log_graph(MODEL, torch.ones(1, 2))
    tracker.save()


class Line(LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters({"lr": 0.1})
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, batch_idx):
        loss = self.layer(batch[0]).square().mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


DATA = DataLoader(TensorDataset(torch.linspace(-1, 1, 12).reshape(6, 2)), batch_size=2)


def stopped_and_resumed(make, folder):
    """The trackers of a run of six steps that is done again from the checkpoint of step 2, inside of an epoch."""
    saver = ModelCheckpoint(folder / "saved", every_n_train_steps=2, save_top_k=-1)
    options = {"enable_progress_bar": False, "log_every_n_steps": 1}
    first, second = make(), make()
    Trainer(logger=first, callbacks=saver, max_epochs=2, **options).fit(Line(), DATA)
    path = folder / "saved" / "step-00000002.polyad"
    Trainer(logger=second, enable_checkpointing=False, max_epochs=2, **options).fit(Line(), DATA, ckpt_path=path)
    return first, second


def nobody():
    """The address of a server that is away."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}"


def trains_without(tracker, seconds):
    """A run is told once that its tracker's server is away, and is not held up."""
    begun = time.monotonic()
    trainer = Trainer(
        logger=tracker, max_epochs=3, log_every_n_steps=1, enable_progress_bar=False, enable_checkpointing=False
    )
    with pytest.warns(UserWarning, match="failed, the run goes on without it") as told:
        trainer.fit(Line(), DATA)
    assert trainer.global_step == 9
    assert len([one for one in told if "failed, the run" in str(one.message)]) == 1
    assert time.monotonic() - begun < seconds


# ---------------------------------------------------------------------------------------------------------- TensorBoard


@pytest.fixture
def events(tmp_path):
    pytest.importorskip("tensorboardX")
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def read(folder=tmp_path):
        found = reader.EventAccumulator(str(folder), size_guidance=dict.fromkeys(reader.DEFAULT_SIZE_GUIDANCE, 0))
        return found.Reload()

    return read


def test_tensorboard_reads_what_was_written(tmp_path, events):
    from tensorboard.plugins.hparams import plugin_data_pb2
    from tensorboard.util import tensor_util

    tracker = TensorBoardTracker(tmp_path)
    everything(tracker, tmp_path)
    with pytest.warns(UserWarning, match="no place for artifacts"):
        tracker.log_artifact(tmp_path / "notes.txt")
    tracker.finalize()
    found = events()
    losses = [(event.step, event.value) for event in found.Scalars("loss")]
    assert losses[0] == (1, 0.5)
    assert losses[1][0] == 2
    assert numpy.isnan(losses[1][1])
    assert [(event.step, event.value) for event in found.Scalars("val/loss")] == [(1, 0.25)]
    (picture,) = found.Images("picture")
    assert (picture.step, picture.width, picture.height) == (1, 5, 4)
    assert decoded(picture.encoded_image_string)[3, 4].tolist() == BYTES
    assert found.Images("grey")[0].width == 2
    (histogram,) = found.Histograms("weights")
    assert (histogram.histogram_value.num, histogram.histogram_value.sum) == (4, 5)
    (text,) = found.Tensors("sample/text_summary")
    assert tensor_util.make_ndarray(text.tensor_proto).tolist() == [b"a text"]
    data = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    start = plugin_data_pb2.HParamsPluginData.FromString(data).session_start_info.hparams
    assert (start["lr"].number_value, start["model/width"].number_value) == (0.1, 3)
    assert (start["name"].string_value, start["none"].string_value) == ("small", "None")
    nodes = {node.name: node for node in found.Graph().node}
    (relu,) = (node for node in nodes.values() if node.op == "relu")
    assert relu.name.startswith("Sequential/1/")
    (before,) = (nodes[name] for name in relu.input)
    assert {nodes[name].op for name in before.input} == {"Placeholder", "Parameter"}


def test_tensorboard_shows_modules_without_an_input(tmp_path, events):
    tracker = TensorBoardTracker(tmp_path, "run")
    tracker.log_graph(MODEL)
    tracker.finalize()
    tracker.log_metrics({"after": 1.0}, step=1)  # of a test after the run
    tracker.finalize()
    found = events(tmp_path / "run")
    assert [(node.name, node.op) for node in found.Graph().node] == [
        ("Sequential/0", "Linear"),
        ("Sequential/1", "ReLU"),
    ]
    assert len(found.Scalars("after")) == 1


def test_tensorboard_drops_what_is_done_again(tmp_path, events):
    stopped_and_resumed(lambda: TensorBoardTracker(tmp_path / "run"), tmp_path)
    assert [event.step for event in events(tmp_path / "run").Scalars("loss")] == [1, 2, 3, 4, 5, 6]


def decoded(data):
    import io

    from PIL import Image

    return numpy.asarray(Image.open(io.BytesIO(data)))


# ----------------------------------------------------------------------------------------------------- Weights & Biases


@pytest.fixture
def records(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    for name in ("CACHE", "DATA", "CONFIG", "ARTIFACT"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(tmp_path / "home"))

    def read(folder):
        until = time.monotonic() + 30  # its process writes on for a moment when the run is finished
        while not all("exit" in run for run in wandb_records(folder)) and time.monotonic() < until:
            time.sleep(0.1)
        return wandb_records(folder)

    return read


def wandb_records(folder):
    """The records of every offline run in *folder*, by their type, in order; wandb says what a record is."""
    import struct

    from wandb.proto.wandb_internal_pb2 import Record

    runs = []
    for path in sorted(folder.glob("wandb/offline-run-*/*.wandb")):
        data, place, parts, found = path.read_bytes(), 7, [], {}
        while place + 7 <= len(data):  # as LevelDB writes logs: pieces that do not cross the borders of blocks
            rest = 32768 - place % 32768
            if rest < 7:
                place += rest
                continue
            _, length, kind = struct.unpack_from("<IHB", data, place)
            parts.append(data[place + 7 : place + 7 + length])
            place += 7 + length
            if kind in (1, 4):
                record = Record.FromString(b"".join(parts))
                parts = []
                name = record.WhichOneof("record_type")
                found.setdefault(name, []).append(getattr(record, name))
        runs.append(found)
    return runs


def rows(records):
    import json

    return [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in row.item}
        for row in records["history"]
    ]


def test_weights_and_biases_holds_what_was_written(tmp_path, records):
    import json

    tracker = WandbTracker(tmp_path, name="a run")
    everything(tracker, tmp_path)
    tracker.log_artifact(tmp_path / "notes.txt", "sub/notes 1.txt")
    tracker.finalize()
    (found,) = records(tmp_path)
    history = rows(found)
    assert next((row["step"], row["loss"]) for row in history if "loss" in row) == (1, 0.5)
    assert [row["step"] for row in history if "loss" in row] == [1, 2]
    assert [(row["step"], row["val/loss"]) for row in history if "val/loss" in row] == [(1, 0.25)]
    assert [(row["step"], row["sample"]) for row in history if "sample" in row] == [(2, "a text")]
    (histogram,) = (row for row in history if "weights" in row or "weights/values" in row)
    values = histogram["weights"] if "weights" in histogram else {"values": histogram["weights/values"]}
    assert (sum(values["values"]), values["values"][-1]) == (4, 2)
    folder = next(tmp_path.glob("wandb/offline-run-*/files"))
    (picture,) = folder.glob("media/images/picture*.png")
    assert decoded(picture.read_bytes())[3, 4].tolist() == BYTES
    assert list(folder.glob("media/images/grey*.png"))
    (run,) = found["run"]
    assert run.display_name == "a run"
    config = {item.key: json.loads(item.value_json) for one in found["config"] for item in one.update}
    assert (config["lr"], config["model/width"], config["name"]) == (0.1, 3, "small")
    assert any("relu" in str(row.get("graph", "")) for row in history)
    (artifact,) = found["artifact"]
    assert artifact.name == "sub-notes-1.txt"
    assert [content.path for content in artifact.manifest.contents] == ["sub/notes 1.txt"]
    assert found["exit"][0].exit_code == 0


def test_weights_and_biases_goes_on_with_the_run(tmp_path, records):
    first, second = stopped_and_resumed(lambda: WandbTracker(tmp_path), tmp_path)
    assert first.id == second.id
    found = records(tmp_path)
    assert {record["run"][0].run_id for record in found} == {first.id}
    steps = [[row["step"] for row in rows(record) if "loss" in row] for record in found]
    assert steps == [[1, 2, 3, 4, 5, 6], [3, 4, 5, 6]]


# --------------------------------------------------------------------------------------------------------------- MLflow


@pytest.fixture
def client(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return lambda: mlflow.MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'mlflow.db'}")


def test_mlflow_reads_what_was_written(tmp_path, client):
    import json

    tracker = MLflowTracker(tmp_path, run_name="a run")
    everything(tracker, tmp_path)
    tracker.log_artifact(tmp_path / "notes.txt")
    tracker.log_artifact(tmp_path / "notes.txt", "sub/other.txt")
    with pytest.warns(UserWarning, match="of lr the new value is not kept"):
        tracker.log_hyperparams({"lr": 0.2, "late": 1})
    tracker.finalize("failed")
    reader = client()
    (run,) = reader.search_runs([reader.get_experiment_by_name("polyad").experiment_id])
    assert (run.info.run_name, run.info.status) == ("a run", "FAILED")
    losses = [(metric.step, metric.value) for metric in reader.get_metric_history(run.info.run_id, "loss")]
    assert losses[0] == (1, 0.5)
    assert losses[1][0] == 2
    assert numpy.isnan(losses[1][1])
    assert reader.get_metric_history(run.info.run_id, "val/loss")[0].value == 0.25
    assert run.data.params == {"lr": "0.1", "model/width": "3", "name": "small", "none": "None", "late": "1"}

    def file(path):
        return open(reader.download_artifacts(run.info.run_id, path, str(tmp_path)), "rb").read()

    assert decoded(file("picture/00000001.png"))[3, 4].tolist() == BYTES
    assert sum(json.loads(file("weights/00000002.json"))["counts"]) == 4
    assert file("sample/00000002.txt") == b"a text"
    assert b"relu" in file("graph/00000000.txt")
    assert file("notes.txt") == file("sub/other.txt") == b"abc"


def test_mlflow_goes_on_with_the_run(tmp_path, client):
    first, second = stopped_and_resumed(lambda: MLflowTracker(tmp_path), tmp_path)
    assert first.run_id == second.run_id
    found = client().get_metric_history(first.run_id, "loss")
    assert [metric.step for metric in found] == [1, 2, 3, 4, 5, 6, 3, 4, 5, 6]
    assert client().get_run(first.run_id).info.status == "FINISHED"


def test_mlflows_server_does_not_answer(tmp_path, client, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        trains_without(MLflowTracker(tmp_path, tracking_uri=uri), seconds=30)


def test_mlflows_server_is_away(tmp_path, client, monkeypatch):
    for name in ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "MLFLOW_HTTP_REQUEST_TIMEOUT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    trains_without(MLflowTracker(tmp_path, tracking_uri=nobody()), seconds=30)


# -------------------------------------------------------------------------------------------------------------- Trackio


@pytest.fixture
def storage(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # read once, when trackio is imported
    pytest.importorskip("trackio")
    import trackio.sqlite_storage as storage

    return storage.SQLiteStorage


def test_trackio_reads_what_was_written(tmp_path, storage):
    project = f"test-{secrets.token_hex(4)}"
    tracker = TrackioTracker(project, "a run")
    everything(tracker, tmp_path)
    tracker.log_artifact(tmp_path / "notes.txt")
    tracker.finalize()
    logs = storage.get_logs(project, "a run")
    found = {name: (row["step"], value) for row in reversed(logs) for name, value in row.items()}
    assert found["loss"] == (1, 0.5)
    assert found["val/loss"] == (1, 0.25)
    assert found["sample"] == (2, "a text")
    assert sum(found["weights"][1]["values"]) == 4
    from trackio.utils import MEDIA_DIR

    assert decoded((MEDIA_DIR / found["picture"][1]["file_path"]).read_bytes())[3, 4].tolist()[:3] == BYTES
    assert "relu" in found["graph"][1]
    config = storage.get_run_config(project, "a run")
    assert (config["lr"], config["model/width"], config["name"]) == (0.1, 3, "small")
    (artifact,) = storage.get_artifacts(project)
    assert (artifact["name"], artifact["size_bytes"]) == ("notes.txt", 3)


def test_trackio_goes_on_with_the_run(tmp_path, storage):
    project = f"test-{secrets.token_hex(4)}"
    first, second = stopped_and_resumed(lambda: TrackioTracker(project), tmp_path)
    assert first.name == second.name
    assert storage.get_runs(project) == [first.name]
    steps = [row["step"] for row in storage.get_logs(project, first.name) if "loss" in row]
    assert sorted(steps) == [1, 2, 3, 3, 4, 4, 5, 5, 6, 6]


def test_trackios_server_is_away(tmp_path, storage):
    tracker = TrackioTracker(f"test-{secrets.token_hex(4)}", server_url=f"{nobody()}?write_token=a")
    begun = time.monotonic()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Trainer(logger=tracker, max_epochs=1, log_every_n_steps=1, enable_progress_bar=False,
                enable_checkpointing=False).fit(Line(), DATA)  # fmt: skip
    assert any("could not be sent to the remote server" in str(one.message) for one in told)
    assert time.monotonic() - begun < 60
