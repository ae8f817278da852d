"""Generators, the default one, and what they promise about sequences of draws."""

from __future__ import annotations

import threading

import pytest

import polyad
from polyad import jit
from polyad.random import fork_rng


def test_the_same_seed_gives_the_same_numbers():
    first = polyad.rand(5, generator=polyad.Generator().manual_seed(1)).tolist()
    assert polyad.rand(5, generator=polyad.Generator().manual_seed(1)).tolist() == first
    assert polyad.rand(5, generator=polyad.Generator().manual_seed(2)).tolist() != first


def test_two_draws_share_no_words():
    g = polyad.Generator().manual_seed(3)
    both = polyad.rand(6, generator=g).tolist() + polyad.rand(6, generator=g).tolist()
    assert len(set(both)) == 12


def test_a_draw_ends_at_a_block():
    g, whole = polyad.Generator().manual_seed(3), polyad.Generator().manual_seed(3)
    parts = polyad.rand(3, generator=g).tolist(), polyad.rand(4, generator=g).tolist()
    everything = polyad.rand(8, generator=whole).tolist()
    assert parts == (everything[:3], everything[4:])


@pytest.mark.parametrize("sizes", [[640] * 12, [1, 3, 20000, 5, 5, 5, 70000, 2, 2], [4097 * 4, 8, 8, 8]])
def test_words_computed_ahead_are_the_same_words(sizes):
    """Small draws one after another may be served from memory; large ones and first ones are not."""
    g = polyad.Generator().manual_seed(11)
    offset = 0
    for size in sizes:
        fresh = polyad.Generator().manual_seed(11)
        fresh.take(4 * offset)
        assert (
            polyad.randint(0, 2**24, (size,), generator=g).tolist()
            == polyad.randint(0, 2**24, (size,), generator=fresh).tolist()
        )
        offset += -(-size // 4)


def test_numbers_computed_ahead_are_those_of_one_large_draw():
    draws = [polyad.rand, polyad.randn, lambda n: polyad.randn(n).bfloat16(), lambda n: polyad.normal(0.0, 1.0, (n,))]
    count, found = 200, []
    polyad.manual_seed(3)
    for number in range(count):
        found.append((number % 4, draws[number % 4](8)))
    polyad.manual_seed(3)
    uniform = polyad.rand(8 * count).split(8)
    polyad.manual_seed(3)
    normal = polyad.randn(8 * count).split(8)
    for number, (kind, one) in enumerate(found):
        expected = (uniform if kind == 0 else normal)[number]
        assert polyad.equal(one, expected.to(one.dtype))


def test_strides_do_not_change_which_number_an_element_gets():
    straight = polyad.empty(3, 4).uniform_(generator=polyad.Generator().manual_seed(5))
    across = polyad.empty(4, 3).t().uniform_(generator=polyad.Generator().manual_seed(5))
    assert across.tolist() == straight.tolist()


def test_state_goes_back():
    g = polyad.Generator().manual_seed(2**64 - 1)
    polyad.rand(7, generator=g)
    state = g.get_state()
    assert state.dtype is polyad.uint8
    expected = polyad.rand(3, generator=g).tolist()
    assert polyad.rand(3, generator=polyad.Generator().set_state(state)).tolist() == expected
    assert polyad.Generator().set_state(state).initial_seed() == 2**64 - 1


def test_a_refused_state_changes_nothing():
    g = polyad.Generator().manual_seed(4)
    before = g.get_state().tolist()
    for wrong in (polyad.zeros(16), polyad.zeros(15, dtype=polyad.uint8), b"0" * 16):
        with pytest.raises(TypeError, match="uint8 tensor of 16 bytes"):
            g.set_state(wrong)
    assert g.get_state().tolist() == before


@pytest.mark.parametrize(
    ("seed", "error"), [(2**64, ValueError), (-(2**63) - 1, ValueError), (1.5, TypeError), ("1", TypeError)]
)
def test_seeds_that_are_none(seed, error):
    with pytest.raises(error, match="manual_seed: seed"):
        polyad.Generator().manual_seed(seed)


def test_negative_seeds_count_down_from_the_top():
    assert polyad.Generator().manual_seed(-1).initial_seed() == 2**64 - 1


def test_fork_rng_leaves_no_trace():
    polyad.manual_seed(9)
    with fork_rng():
        inside = polyad.rand(3).tolist()
        polyad.manual_seed(1)
    assert polyad.rand(3).tolist() == inside


def test_threads_share_no_words():
    g = polyad.Generator().manual_seed(6)
    found: list[float] = []

    def draw():
        for _ in range(50):
            found.extend(polyad.rand(8, dtype=polyad.float64, generator=g).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 4 * 50 * 8


def test_a_replayed_graph_draws_anew():
    graph = jit.capture(lambda x: x + polyad.rand(4), polyad.zeros(4))
    polyad.manual_seed(0)
    first, second = graph(polyad.zeros(4)).tolist(), graph(polyad.zeros(4)).tolist()
    polyad.manual_seed(0)
    assert first == polyad.rand(4).tolist()
    assert second == polyad.rand(4).tolist()
