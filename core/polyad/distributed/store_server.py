"""The server of a `TCPStore`: keys and values, who is alive, and the wire-up of MPI processes; one thread, no locks.

A connection speaks one of two protocols, told apart by its first four bytes:

requests   `frames`: a length, then fields with a length each. The first field is a number that comes back with the
           answer, the second the command. A command that waits for something is answered when it is there.
``cmd=``   PMI 1, the text protocol by which MPICH's processes find each other (its ``src/pmi`` describes it): so
           processes that anybody has started become one MPI job, without ``mpiexec``.

A process that says hello is watched: when its connection ends without a farewell, it is lost, and whoever beats next
hears of it.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
import uuid
from collections.abc import Callable

from .frames import MOST_BYTES, pack, unpack_from
from .key_values import KeyValues

__all__ = ["StoreServer"]

_PMI = b"cmd="


class _Connection:
    """One client: what it has sent so far, what it has not read yet, and who it is."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.read = bytearray()
        self.unsent = bytearray()
        self.is_pmi: bool | None = None
        self.rank: int | None = None
        self.said_bye = False


class _Member:
    """A process that said hello: what it does, and since when it has not been heard of."""

    def __init__(self, size: int) -> None:
        self.size, self.doing, self.heard = size, b"", time.monotonic()


class StoreServer:
    """Serves a store at *host* and *port* (0: one that is free) until `close`.

    Raises:
        OSError: the port is taken, or the host is not this machine.
    """

    def __init__(self, host: str = "", port: int = 0, listening: socket.socket | None = None) -> None:
        self._listening = listening or socket.create_server((host, port), backlog=512)
        self.port: int = self._listening.getsockname()[1]
        self._values = KeyValues()
        self._waiting: list[tuple[_Connection, bytes, Callable[[], list[bytes] | None]]] = []
        self._members: dict[int, _Member] = {}
        self._lost: dict[int, str] = {}
        self._run = b""
        self._pmi_name = f"kvs_{uuid.uuid4().hex[:16]}"  # unique on a machine: MPICH names shared memory after it
        self._pmi_values: dict[str, str] = {}
        self._pmi_sizes: dict[_Connection, int] = {}
        self._pmi_barrier: list[_Connection] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ, None)
        self._wakes, self._wake = socket.socketpair()
        self._selector.register(self._wakes, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve, name="polyad store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._thread.join(5)

    # ------------------------------------------------------------------------------------------------------ bytes

    def _serve(self) -> None:
        while True:
            for key, events in self._selector.select():
                if key.fileobj is self._wakes:
                    self._shut()
                    return
                if key.fileobj is self._listening:
                    self._accept()
                    continue
                client: _Connection = key.data
                try:
                    if events & selectors.EVENT_WRITE:
                        self._flush(client)
                    if events & selectors.EVENT_READ:
                        self._receive(client)
                except (OSError, ValueError):  # gone, or it speaks no protocol of ours
                    self._drop(client)

    def _shut(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._wake.close()
        self._selector.close()

    def _accept(self) -> None:
        try:
            end, _ = self._listening.accept()
        except OSError:
            time.sleep(0.01)  # no descriptor is free; the client waits
            return
        with contextlib.suppress(OSError):
            end.setblocking(False)
            with contextlib.suppress(OSError):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(end, selectors.EVENT_READ, _Connection(end))

    def _receive(self, client: _Connection) -> None:
        chunk = client.end.recv(1 << 20)
        if not chunk:
            raise ConnectionResetError
        client.read += chunk
        if client.is_pmi is None and len(client.read) >= 4:
            client.is_pmi = client.read[:4] == _PMI
        if client.is_pmi:
            while (end := client.read.find(b"\n")) >= 0:
                line = client.read[:end].decode("ascii", "replace")
                del client.read[: end + 1]
                self._answer_pmi(client, line)
        elif client.is_pmi is False:
            while (fields := unpack_from(client.read)) is not None:
                self._answer(client, fields)
        if len(client.read) > MOST_BYTES:
            raise ValueError("a request that does not end")

    def _send(self, client: _Connection, data: bytes) -> None:
        client.unsent += data
        self._flush(client)

    def _flush(self, client: _Connection) -> None:
        with contextlib.suppress(BlockingIOError):
            while client.unsent:
                del client.unsent[: client.end.send(client.unsent)]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
        self._selector.modify(client.end, wanted, client)

    def _drop(self, client: _Connection) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.end)
        client.end.close()
        self._waiting = [entry for entry in self._waiting if entry[0] is not client]
        self._pmi_sizes.pop(client, None)
        if client in self._pmi_barrier:
            self._pmi_barrier.remove(client)
        if client.rank is not None:
            self._members.pop(client.rank, None)
            self._lost[client.rank] = "it left by destroy_process_group" if client.said_bye else "its process has ended"
            for waiting in self._pmi_barrier:  # MPI would wait for ever
                self._drop(waiting)

    # --------------------------------------------------------------------------------------------------- requests

    def _answer(self, client: _Connection, fields: list[bytes]) -> None:
        if len(fields) < 2:
            raise ValueError("a request without a command")
        number, command, *operands = fields
        name = command.decode("ascii", "replace")
        about_members = getattr(self, f"_do_{name}", None)
        try:
            outcome = (
                self._values.carry_out(name, operands) if about_members is None else about_members(client, *operands)
            )
        except (TypeError, ValueError) as error:
            self._send(client, pack(number, f"{name}: {error}".encode()))
            return
        if callable(outcome):
            if (ready := outcome()) is None:
                self._waiting.append((client, number, outcome))
                return
            outcome = ready
        self._send(client, pack(number, b"", *outcome))
        self._wake_waiting()

    def _wake_waiting(self) -> None:
        still = []
        for client, number, ready in self._waiting:
            if (answer := ready()) is None:
                still.append((client, number, ready))
            else:
                try:
                    self._send(client, pack(number, b"", *answer))
                except OSError:
                    pass  # its next event drops it
        self._waiting = still

    # ---------------------------------------------------------------------------------------------------- members

    def _do_hello(self, client: _Connection, rank: bytes, size: bytes, run: bytes) -> list[bytes]:
        """Take a process in; one field: empty, or why not. *run* is the name of the launcher's run."""
        number, count = int(rank), int(size)
        sizes = {member.size for member in self._members.values()}
        self._run = run if not self._members else self._run
        if run != self._run:
            return [b"it belongs to another run; two programs meet at one port"]
        if number in self._members:
            return [b"rank %d is there already: two processes were given the same rank" % number]
        if sizes - {count}:
            return [b"this process says world_size %d, others say %d" % (count, min(sizes - {count}))]
        client.rank = number
        self._lost.pop(number, None)
        self._members[number] = _Member(count)
        return [b""]

    def _do_beat(self, client: _Connection, doing: bytes) -> list[bytes]:
        """Hear what a process does; the ranks that are lost and why, in turns."""
        if client.rank is not None and (member := self._members.get(client.rank)):
            member.doing, member.heard = doing, time.monotonic()
        return [field for rank, why in self._lost.items() for field in (b"%d" % rank, why.encode())]

    def _do_members(self, client: _Connection) -> list[bytes]:
        """Of each process: rank, how many milliseconds ago it was heard of, what it did then."""
        now = time.monotonic()
        return [
            field
            for rank, member in sorted(self._members.items())
            for field in (b"%d" % rank, b"%d" % round((now - member.heard) * 1000), member.doing)
        ]

    def _do_bye(self, client: _Connection) -> list[bytes]:
        client.said_bye = True
        return []

    # -------------------------------------------------------------------------------------------------------- PMI

    def _answer_pmi(self, client: _Connection, line: str) -> None:
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        command = words.get("cmd")
        if command == "barrier_in":
            self._pmi_barrier.append(client)
            if len(self._pmi_barrier) == self._pmi_sizes.get(client):
                waiting, self._pmi_barrier = self._pmi_barrier, []
                for each in waiting:
                    with contextlib.suppress(OSError):  # gone meanwhile
                        self._send(each, b"cmd=barrier_out rc=0\n")
            return
        if command == "init":
            self._pmi_sizes[client] = int(words.get("size", "0")) or self._pmi_size()
            answer = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
        elif command == "get_maxes":
            answer = "cmd=maxes rc=0 kvsname_max=256 keylen_max=256 vallen_max=4096"
        elif command == "get_my_kvsname":
            answer = f"cmd=my_kvsname rc=0 kvsname={self._pmi_name}"
        elif command == "get_universe_size":
            answer = f"cmd=universe_size rc=0 size={self._pmi_size()}"
        elif command == "get_appnum":
            answer = "cmd=appnum rc=0 appnum=0"
        elif command == "put" and "key" in words:
            self._pmi_values[words["key"]] = words.get("value", "")
            answer = "cmd=put_result rc=0 msg=success"
        elif command == "get":
            found = self._pmi_values.get(words.get("key", ""))
            answer = (
                "cmd=get_result rc=-1 msg=key_not_found value=unknown"
                if found is None
                else f"cmd=get_result rc=0 msg=success value={found}"
            )
        elif command == "finalize":
            answer = "cmd=finalize_ack rc=0"
        else:
            answer = f"cmd={command}_result rc=-1 msg=not_supported"
        self._send(client, answer.encode() + b"\n")

    def _pmi_size(self) -> int:
        return next((member.size for member in self._members.values()), 0)
