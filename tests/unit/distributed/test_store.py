"""Stores: keys and values for all processes, and the server that watches them."""

from __future__ import annotations

import random
import socket
import threading
from datetime import timedelta

import pytest

import polyad.distributed as dist
from polyad.distributed.frames import pack, unpack_from
from polyad.distributed.store_server import StoreServer
from polyad.distributed.watching import Watcher

SHORT = timedelta(seconds=0.2)


@pytest.fixture(params=["tcp", "file", "prefix"])
def store(request, tmp_path):
    if request.param == "file":
        return dist.FileStore(tmp_path / "store")
    served = dist.HashStore()
    return dist.PrefixStore("inner", served) if request.param == "prefix" else served


def test_values(store):
    store.set("a", "1")
    assert store.get("a") == b"1"
    assert store.add("n", 5) == 5
    assert store.add("n", -2) == 3
    store.append("a", b"2")
    assert store.get("a") == b"12"
    assert store.check(["a", "n"])
    assert not store.check(["a", "missing"])
    assert store.compare_set("a", "other", "x") == b"12"
    assert store.compare_set("a", "12", "x") == b"x"
    assert store.compare_set("new", "", "y") == b"y"
    store.multi_set(["k", "l"], ["1", "2"])
    assert store.multi_get(["l", "k"]) == [b"2", b"1"]
    assert store.num_keys() == 5
    assert store.delete_key("k")
    assert not store.delete_key("k")


def test_queues(store):
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2
    assert [store.queue_pop("q"), store.queue_pop("q")] == [b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("q", block=False)


def test_what_does_not_come_in_time_is_named(store):
    beneath = store.underlying_store if isinstance(store, dist.PrefixStore) else store
    beneath.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError, match="absent"):
        store.get("absent")
    with pytest.raises(dist.DistStoreError):
        store.wait(["absent"], SHORT)
    store.set("later", "x")  # an answer that comes too late is not taken for another
    assert store.get("later") == b"x"


def test_a_value_that_comes_later_is_waited_for():
    store = dist.HashStore()
    other = store.clone()
    threading.Timer(0.1, other.set, ("key", "value")).start()
    assert store.get("key") == b"value"


def test_a_port_that_is_taken_and_one_where_nothing_answers():
    served = dist.HashStore()
    with pytest.raises(dist.DistNetworkError, match=str(served.port)):
        dist.TCPStore("127.0.0.1", served.port, is_master=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(dist.DistNetworkError, match="nothing answers"):
        dist.TCPStore("127.0.0.1", port, timeout=SHORT)


def test_workers_that_do_not_come_are_counted():
    with pytest.raises(dist.DistStoreError, match="1 of 2 processes"):
        dist.TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=SHORT)


def test_members_are_watched():
    store = dist.HashStore()
    first, second = Watcher(store, 0, 3, str), Watcher(store, 1, 3, str)
    with pytest.raises(dist.DistNetworkError, match="rank 1 is there already"):
        Watcher(store, 1, 3, str)
    with pytest.raises(dist.DistNetworkError, match="world_size 4"):
        Watcher(store, 2, 4, str)
    assert [member.rank for member in first.members()] == [0, 1]
    second._stop.set()
    second._store._end.close()  # as when its process is killed
    for _ in range(100):
        if first.lost:
            break
        threading.Event().wait(0.05)
    assert list(first.lost) == [1]
    first.close()


def test_requests_that_are_none_end_their_connection_and_nothing_else():
    server = StoreServer("127.0.0.1")
    store = dist.TCPStore("127.0.0.1", server.port)
    store.set("key", "value")
    random_bytes = random.Random(0)
    for number in range(200):
        data = bytearray(pack(b"1", b"set", b"k", b"v"))
        for _ in range(random_bytes.randint(1, 4)):
            data[random_bytes.randrange(len(data))] = random_bytes.randrange(256)
        with socket.create_connection(("127.0.0.1", server.port)) as end:
            end.sendall(data if number % 2 else b"cmd=" + data)
    assert store.get("key") == b"value"
    server.close()


def test_frames():
    data = bytearray(pack(b"a", b"", b"ccc") + pack())
    assert unpack_from(data) == [b"a", b"", b"ccc"]
    assert unpack_from(data) == []
    assert unpack_from(data) is None
    with pytest.raises(ValueError, match="beyond"):
        unpack_from(bytearray(b"\0\0\0\4\0\0\0\xff"))
