"""What a store holds, and the commands by which it is read and written: for a server and for a file alike."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from .frames import pack, unpack_from

__all__ = ["CHANGING", "KeyValues", "Later"]

Later = Callable[[], list[bytes] | None]
"""An answer that may have to be waited for: None until it is there."""

CHANGING = frozenset({"set", "add", "append", "exchange", "delete", "push", "pop"})
"""The commands that change what is held."""


class KeyValues:
    """Values and queues of values by key; *data* is what `dump` gave. Each ``do_`` method is a command."""

    def __init__(self, data: bytes = b"") -> None:
        self._values: dict[bytes, bytes] = {}
        self._queues: defaultdict[bytes, deque[bytes]] = defaultdict(deque)
        fields = (unpack_from(bytearray(data)) or []) if data else []
        for kind, key, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            if kind == b"v":
                self._values[key] = value
            else:
                self._queues[key].append(value)

    def dump(self) -> bytes:
        """All of it."""
        fields = [field for key, value in self._values.items() for field in (b"v", key, value)]
        fields += [field for key, queue in self._queues.items() for value in queue for field in (b"q", key, value)]
        return pack(*fields)

    def carry_out(self, command: str, operands: Sequence[bytes]) -> list[bytes] | Later:
        """The answer to *command*. Raises ValueError for one that does not exist, TypeError for other operands."""
        method = getattr(self, f"do_{command}", None)
        if method is None:
            raise ValueError(f"{command!r} is no command")
        answer: list[bytes] | Later = method(*operands)
        return answer

    def do_set(self, *pairs: bytes) -> list[bytes]:
        self._values.update(zip(pairs[::2], pairs[1::2], strict=True))
        return []

    def do_get(self, *keys: bytes) -> Later:
        """The values, once all keys are there."""
        return lambda: [self._values[key] for key in keys] if all(key in self._values for key in keys) else None

    def do_wait(self, *keys: bytes) -> Later:
        return lambda: [] if all(key in self._values for key in keys) else None

    def do_check(self, *keys: bytes) -> list[bytes]:
        return [b"%d" % all(key in self._values for key in keys)]

    def do_add(self, key: bytes, amount: bytes) -> list[bytes]:
        total = self._values[key] = b"%d" % (int(self._values.get(key, b"0")) + int(amount))
        return [total]

    def do_append(self, key: bytes, value: bytes) -> list[bytes]:
        self._values[key] = self._values.get(key, b"") + value
        return []

    def do_exchange(self, key: bytes, expected: bytes, desired: bytes) -> list[bytes]:
        """Set the value if it is *expected*, or if there is none and *expected* is empty; what is there then."""
        present = self._values.get(key)
        if present == expected or (present is None and not expected):
            present = self._values[key] = desired
        return [expected if present is None else present]

    def do_delete(self, key: bytes) -> list[bytes]:
        return [b"%d" % (self._values.pop(key, None) is not None)]

    def do_count(self) -> list[bytes]:
        return [b"%d" % len(self._values)]

    def do_keys(self) -> list[bytes]:
        return list(self._values)

    def do_push(self, key: bytes, value: bytes) -> list[bytes]:
        self._queues[key].append(value)
        return []

    def do_pop(self, key: bytes, block: bytes) -> Later:
        """The first value of a queue: empty or one field; with *block* it waits for one."""

        def first() -> list[bytes] | None:
            queue = self._queues[key]
            return [queue.popleft()] if queue else None if block == b"1" else []

        return first

    def do_length(self, key: bytes) -> list[bytes]:
        return [b"%d" % len(self._queues[key])]
