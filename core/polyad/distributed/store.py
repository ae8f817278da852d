"""Keys and values that all processes of a program read and write: PyTorch's ``Store`` and its kinds."""

from __future__ import annotations

import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta

from ..base.locks import Lock
from ..errors import safe_repr, wrong_type
from .errors import DistNetworkError, DistStoreError, QueueEmptyError
from .frames import pack, unpack_from
from .key_values import CHANGING, KeyValues
from .store_server import StoreServer

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

_LOOPBACK = ("127.0.0.1", "localhost")

DEFAULT_TIMEOUT = timedelta(seconds=300)


def _seconds(timeout: timedelta | float) -> float:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def _encode(text: str | bytes, name: str) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise wrong_type("Store", name, text, "a string")
    return text.encode()


class Store(ABC):
    """Keys and values that all processes of a program read and write.

    What is asked for is waited for: at most `timeout`, after which DistStoreError is raised.
    """

    timeout: timedelta = DEFAULT_TIMEOUT

    @abstractmethod
    def _request(self, command: str, *operands: bytes, timeout: timedelta | float | None = None) -> list[bytes]:
        """Carry out a command of `store_server.StoreServer`."""

    def _key(self, key: str | bytes) -> bytes:
        return _encode(key, "key")

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait at most *timeout* from now on."""
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Give *key* a value, whether it had one or not."""
        self._request("set", self._key(key), _encode(value, "value"))

    def get(self, key: str) -> bytes:
        """The value of *key*, once there is one.

        Raises:
            DistStoreError: there is none in time.
        """
        return self._request("get", self._key(key))[0]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all *keys* have values.

        Raises:
            DistStoreError: they have not in time.
        """
        self._request("wait", *(self._key(key) for key in keys), timeout=timeout)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all *keys* have values."""
        return self._request("check", *(self._key(key) for key in keys)) == [b"1"]

    def add(self, key: str, amount: int) -> int:
        """Add *amount* to the number that *key* has, 0 at first; what it is then."""
        return int(self._request("add", self._key(key), b"%d" % amount)[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Put *value* after the value of *key*."""
        self._request("append", self._key(key), _encode(value, "value"))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Give *key* the value *desired* if it has *expected*, or none and *expected* is empty; what it has then."""
        return self._request(
            "exchange", self._key(key), _encode(expected, "expected_value"), _encode(desired, "desired_value")
        )[0]

    def delete_key(self, key: str) -> bool:
        """Take *key* and its value away; whether it was there."""
        return self._request("delete", self._key(key)) == [b"1"]

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._request("count")[0])

    def list_keys(self) -> list[str]:
        """The keys."""
        return [key.decode() for key in self._request("keys")]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of *keys*, once there are all."""
        return self._request("get", *(self._key(key) for key in keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Give each of *keys* its value."""
        pairs = zip(keys, values, strict=True)
        self._request("set", *(field for k, v in pairs for field in (self._key(k), _encode(v, "value"))))

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put *value* at the end of the queue *key*."""
        self._request("push", self._key(key), _encode(value, "value"))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of the queue *key*, once there is one.

        Raises:
            QueueEmptyError: there is none, and *block* is False.
        """
        found = self._request("pop", self._key(key), b"%d" % block)
        if not found:
            raise QueueEmptyError(f"queue_pop: the queue {safe_repr(key)} is empty", fix="pass block=True to wait")
        return found[0]

    def queue_len(self, key: str) -> int:
        """How many values the queue *key* has."""
        return int(self._request("length", self._key(key))[0])


class TCPStore(Store):
    """A store that one process serves to all at a port.

    Args:
        host_name: the machine of the process that serves.
        port: where it listens; 0, for the process that serves alone, is a free one: see `port`.
        world_size: how many processes there are; with *wait_for_workers* they are waited for.
        is_master: whether this process serves.
        timeout: how long to wait for anything.
        wait_for_workers: wait for all processes before going on.
        multi_tenant: share the server of this process that listens at the port, if there is one.
        master_listen_fd: a socket that listens already, by its descriptor.
        use_libuv: taken for programs written for PyTorch; there is one server.

    Raises:
        DistNetworkError: the port is taken, or there is no server in time.

    >>> import polyad.distributed as dist
    >>> store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("answer", "42")
    >>> store.get("answer")
    b'42'
    """

    _servers: dict[int, StoreServer] = {}  # noqa: RUF012  of this process, by port

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta | float = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        self.timeout = timeout if isinstance(timeout, timedelta) else timedelta(seconds=timeout)
        self.host = host_name
        self._server: StoreServer | None = None
        if is_master:
            self._server = self._serve(port, multi_tenant, master_listen_fd)
            port = self._server.port
        self.port = port
        self._lock = Lock()
        self._number = 0
        self._read = bytearray()
        self._end = self._connect()
        if wait_for_workers and world_size is not None:
            self._await_workers(world_size)

    def _serve(self, port: int, shared: bool, descriptor: int | None) -> StoreServer:
        if shared and port in self._servers:
            return self._servers[port]
        try:
            listening = None if descriptor is None else socket.socket(fileno=descriptor)
            server = StoreServer(self.host if self.host in _LOOPBACK else "", port, listening)
        except OSError as error:
            raise DistNetworkError(
                f"TCPStore: port {port} cannot be listened at: {error.strerror or error}",
                fix="choose another MASTER_PORT, or end the program that has it (ss -ltnp shows which)",
            ) from error
        self._servers[server.port] = server
        return server

    def _connect(self) -> socket.socket:
        end, pause = time.monotonic() + self.timeout.total_seconds(), 0.01
        host = "127.0.0.1" if self._server is not None else self.host
        while True:
            try:
                connection = socket.create_connection(
                    (host, self.port), timeout=min(10, max(0.1, end - time.monotonic()))
                )
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            except OSError as error:
                if time.monotonic() + pause > end:
                    raise DistNetworkError(
                        f"TCPStore: nothing answers at {self.host}:{self.port}: {error.strerror or error}",
                        notes={"waited": f"{self.timeout.total_seconds():g} s"},
                        fix="start the process of rank 0, and compare MASTER_ADDR and MASTER_PORT of all processes",
                    ) from error
                time.sleep(pause)
                pause = min(0.5, pause * 2)

    def _await_workers(self, count: int) -> None:
        if self.add("polyad/workers", 1) >= count:
            self.set("polyad/all workers", "")
        try:
            self.wait(["polyad/all workers"])
        except DistStoreError:
            here = int(self.get("polyad/workers"))
            raise DistStoreError(
                f"TCPStore: {here} of {count} processes came in {self.timeout.total_seconds():g} s",
                fix="start the others, or say how many there are by world_size",
            ) from None

    def _request(self, command: str, *operands: bytes, timeout: timedelta | float | None = None) -> list[bytes]:
        wait = _seconds(self.timeout if timeout is None else timeout)
        with self._lock:
            self._number += 1
            number = b"%d" % self._number
            try:
                self._end.settimeout(max(wait, 0.001))
                self._end.sendall(pack(number, command.encode(), *operands))
                return self._answer(number, time.monotonic() + wait)
            except TimeoutError:
                keys = b", ".join(operands).decode("utf-8", "replace")
                raise DistStoreError(
                    f"Store: {command} was not answered in {wait:g} s: {safe_repr(keys)}",
                    fix="see whether the process that sets it still runs; a longer timeout= waits longer",
                ) from None
            except OSError as error:
                raise DistNetworkError(
                    f"TCPStore: the server at {self.host}:{self.port} is gone: {error.strerror or error}",
                    fix="see why the process of rank 0 ended",
                ) from error

    def _answer(self, number: bytes, end: float) -> list[bytes]:
        while True:
            while (fields := unpack_from(self._read)) is not None:
                if fields[0] != number:  # it came too late for who asked
                    continue
                if fields[1]:
                    raise DistStoreError(f"Store.{fields[1].decode()}", fix="see what the key was set to")
                return fields[2:]
            self._end.settimeout(max(end - time.monotonic(), 0.001))
            chunk = self._end.recv(1 << 16)
            if not chunk:
                raise ConnectionResetError("it closed the connection")
            self._read += chunk

    def clone(self) -> TCPStore:
        """The same store by a connection of its own."""
        return TCPStore("127.0.0.1" if self._server is not None else self.host, self.port, timeout=self.timeout)

    def close(self) -> None:
        """End the connection, and the server if this process has it."""
        self._end.close()
        if self._server is not None and self._servers.pop(self._server.port, None) is not None:
            self._server.close()

    def __repr__(self) -> str:
        return f"TCPStore({self.host}:{self.port}{', serves' if self._server is not None else ''})"


class HashStore(TCPStore):
    """A store inside of a process.

    >>> import polyad.distributed as dist
    >>> dist.HashStore().add("steps", 3)
    3
    """

    def __init__(self) -> None:
        super().__init__("127.0.0.1", 0, is_master=True)


class FileStore(Store):
    """A store in a file that all processes see, which begins empty.

    Args:
        file_name: the file; it is made if it is not there.
        world_size: how many processes there are, or -1.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path = str(file_name)
        self.world_size = world_size
        with open(self.path, "ab"):
            pass

    def _request(self, command: str, *operands: bytes, timeout: timedelta | float | None = None) -> list[bytes]:
        end, pause = time.monotonic() + _seconds(self.timeout if timeout is None else timeout), 0.001
        while True:
            if (answer := self._once(command, operands)) is not None:
                return answer
            if time.monotonic() > end:
                raise DistStoreError(
                    f"FileStore: {command} was not answered in time: {safe_repr(operands)}",
                    notes={"file": self.path},
                    fix="see whether the process that sets it runs, and sees the same file",
                )
            time.sleep(pause)
            pause = min(0.05, pause * 1.5)

    def _once(self, command: str, operands: tuple[bytes, ...]) -> list[bytes] | None:
        """Read what was written, carry the command out, and write what it changed, while no other process does."""
        import fcntl

        with open(self.path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            held = KeyValues(file.read())
            outcome = held.carry_out(command, operands)
            answer = outcome() if callable(outcome) else outcome
            if command in CHANGING:
                file.seek(0)
                file.write(held.dump())
                file.truncate()
        return answer


class PrefixStore(Store):
    """Another store, with *prefix* before all keys.

    >>> import polyad.distributed as dist
    >>> store = dist.HashStore()
    >>> dist.PrefixStore("a", store).set("key", "value")
    >>> store.get("a/key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store

    def _key(self, key: str | bytes) -> bytes:
        return self.underlying_store._key(self.prefix.encode() + b"/" + _encode(key, "key"))

    def _request(self, command: str, *operands: bytes, timeout: timedelta | float | None = None) -> list[bytes]:
        return self.underlying_store._request(command, *operands, timeout=timeout)
