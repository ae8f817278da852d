"""What kernels keep for each layout is bounded."""

from polyad.codegen.kernels import layouts


def test_the_first_makes_room(monkeypatch):
    monkeypatch.setattr(layouts, "LAYOUTS", 3)
    kept = layouts.PerLayout()
    for key in "abcd":
        assert kept.keep(key, key.upper()) == key.upper()
    assert dict(kept) == {"b": "B", "c": "C", "d": "D"}
