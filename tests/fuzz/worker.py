"""The process that makes the calls: one of them may kill it, or never end.

It reads one call a line, as JSON [target, args, kwargs], and answers with a line [ran, sort, words, exception]. The
stack of a thread that crashes, or of one that is sent SIGUSR1 because it takes too long, goes to stderr.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import io
import json
import os
import signal
import sys

from .judgement import judged, little_memory
from .values import names


def other_device(device: str) -> str:
    """A device beside *device*, for arguments that lie elsewhere."""
    if device != "cpu":
        return "cpu"
    from pathlib import Path

    sys.path.append(str(Path(__file__).parent.parent / "backends" / "fake" / "src"))
    from polyad_fake.backend import FakeBackend

    from polyad import backends

    backends.register("fake", FakeBackend())
    return "fake"


def main() -> None:
    """Answer calls until the input ends."""
    faulthandler.enable(all_threads=True)
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=False)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    words = names(sys.argv[1], other_device(sys.argv[1]))
    eval("filled('float32', 2) + filled('float32', 2)", words)
    answers.write("ready\n")
    sys.setrecursionlimit(1000)
    with little_memory():
        for number, line in enumerate(sys.stdin):
            target, args, kwargs = json.loads(line)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                made = judged(target, args, kwargs, words)
            if number % 200 == 0:
                gc.collect()
            found = made.finding
            answer = [made.ran, found and found.sort, found and found.words[:4000], made.error]
            answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
