"""What kernels keep for each layout is bounded."""

from polyad.codegen.kernels import layouts


def test_the_first_makes_room(monkeypatch):
    monkeypatch.setattr(layouts, "LAYOUTS", 3)
    cached = layouts.LayoutCache()
    for key in "abcd":
        assert cached.add(key, key.upper()) == key.upper()
    assert dict(cached) == {"b": "B", "c": "C", "d": "D"}
