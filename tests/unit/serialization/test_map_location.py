"""Where tensors go."""

import pytest

import polyad
from saved_files import loaded, rewritten, saved


def test_map_location(tmp_path):
    data = saved({"x": polyad.arange(4.0)})
    seen = []

    def place(tensor, name):
        seen.append((tensor.tolist(), name))
        return tensor

    for location in (
        "cpu",
        polyad.device("cpu"),
        {"cpu": "cpu"},
        {},
        place,
        lambda tensor, name: None,
        lambda *_: "cpu",
    ):
        assert loaded(data, map_location=location)["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert seen == [([0.0, 1.0, 2.0, 3.0], "cpu")]
    assert loaded(data, weights_only=False)["x"].numel() == 4
    with pytest.raises(TypeError, match="map_location is 3"):
        loaded(data, map_location=3)
    with pytest.raises(RuntimeError, match="another shape or dtype"):
        loaded(data, map_location=lambda tensor, name: tensor[1:])
    for location in ({"cpu": 5}, lambda *_: 5):
        with pytest.raises(TypeError, match="map_location gives int 5 for what was saved on cpu"):
            loaded(data, map_location=location)


def test_a_device_that_is_not_here():
    data = rewritten(saved([polyad.arange(2)]), lambda doc: doc["arrays"]["0"].update(device="elsewhere:1"))
    with pytest.raises(RuntimeError, match=r'saved on elsewhere:1(.|\n)*map_location="cpu"'):
        loaded(data)
    assert loaded(data, map_location="cpu")[0].tolist() == [0, 1]
    assert loaded(data, map_location={"elsewhere:1": "cpu"})[0].tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="nosuch"):
        loaded(data, map_location="nosuch")


@pytest.mark.parametrize("name", ["cpu:7", "cpu:999999999"])
def test_a_device_number_that_is_not_here(name):
    data = rewritten(saved([polyad.arange(2)]), lambda doc: doc["arrays"]["0"].update(device=name))
    with pytest.raises(
        polyad.errors.BackendError, match=rf'saved on {name}, which is not here(.|\n)*map_location="cpu"'
    ):
        loaded(data)
    assert loaded(data, map_location="cpu")[0].tolist() == [0, 1]


def test_the_name_of_a_device_that_nobody_has_here_is_kept():
    device = polyad.device("cpu")
    device.type = "elsewhere"
    assert repr(loaded(saved([device]))[0]) == "device(type='elsewhere')"
    with pytest.raises(RuntimeError, match="no installed backend has this name"):
        polyad.device("elsewhere")
