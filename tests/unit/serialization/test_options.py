"""What PyTorch's serialization can be told, and what it means here."""

import mmap

import pytest

import polyad
from polyad import serialization


def test_what_is_so_always_can_be_asked_for_and_read():
    serialization.set_crc32_options(True)
    assert serialization.get_crc32_options() is True
    for order in (None, serialization.LoadEndianness.LITTLE, serialization.LoadEndianness.NATIVE):
        serialization.set_default_load_endianness(order)
    assert serialization.get_default_load_endianness() is None
    if hasattr(mmap, "MAP_PRIVATE"):
        with serialization.set_default_mmap_options(mmap.MAP_PRIVATE):
            assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE


@pytest.mark.parametrize(
    "call",
    [
        lambda: serialization.set_crc32_options(False),
        lambda: serialization.set_default_load_endianness(serialization.LoadEndianness.BIG),
        lambda: serialization.set_default_mmap_options(getattr(mmap, "MAP_SHARED", None)),
        lambda: serialization.register_package(1, None, None),
    ],
)
def test_what_is_never_so_says_what_to_do(call):
    with pytest.raises(NotImplementedError, match="fix"):
        call()
    with pytest.raises(ValueError, match="flags is"):
        serialization.set_default_mmap_options(12345)


def test_locations():
    assert serialization.location_tag(polyad.ones(1)) == "cpu"
    assert serialization.default_restore_location(polyad.ones(1), "cpu").tolist() == [1]
    with pytest.raises(RuntimeError):
        serialization.validate_cuda_device("cpu")
