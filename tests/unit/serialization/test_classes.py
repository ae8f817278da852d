"""PyTorch's list of classes that a file may name."""

from __future__ import annotations

import pytest

from polyad import serialization


class Mine:
    pass


def test_the_list_is_kept() -> None:
    with serialization.safe_globals([Mine, dict]):
        assert serialization.get_safe_globals() == [Mine, dict]
    with pytest.raises(KeyError), serialization.safe_globals([Mine]):
        raise KeyError
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([Mine])
    serialization.add_safe_globals([Mine])
    assert serialization.get_safe_globals() == [Mine]
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
