"""Several processes: collectives, training, and what happens when a process is lost. They do what is in programs.py."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest

import polyad.distributed as dist

pytestmark = pytest.mark.skipif(not dist.is_mpi_available(), reason="no MPI library is installed")

PROGRAMS = pathlib.Path(__file__).with_name("programs.py")
TESTS = pathlib.Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
TOGETHER = ("conformance", "training", "accumulation", "unused", "other_models", "forked")
MENDED = ("dropped", "copies", "buffers_and_dtypes", "other_calls", "destroyed")


def launch(count: int, *command: str, timeout: int = 240) -> subprocess.CompletedProcess[str]:
    """The outcome of a program in *count* processes."""
    return subprocess.run(
        [sys.executable, "-m", "polyad.distributed.run", "--standalone", "--nproc-per-node", str(count), *command],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=ENVIRONMENT,
        check=False,
    )


@pytest.mark.parametrize("size", [1, 3])
def test_collectives_and_training(size):
    """One start of the processes for all of TOGETHER: it takes longer than what they do."""
    names = TOGETHER + MENDED if size > 1 else TOGETHER[:2]
    outcome = launch(size, str(PROGRAMS), *names)
    assert outcome.returncode == 0, outcome.stderr
    for name in names:
        assert outcome.stdout.count(f"{name} passed") == size


def test_a_lost_process_is_named():
    """By the others, without a launcher that ends them."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(taken.getsockname()[1]), "WORLD_SIZE": "3"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAMS), "lost"],
            env={**ENVIRONMENT, **place, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, -signal.SIGKILL], outputs
    assert "rank 0 saw it" in outputs[0][0]
    assert "rank 1 saw it" in outputs[1][0]


@pytest.mark.parametrize("program", ["late", "alone", "left"])
def test_a_process_that_does_not_come_is_named(program):
    outcome = launch(2, "--monitor-interval", "0.5", str(PROGRAMS), program)
    assert "rank 0 saw it" in outcome.stdout, outcome.stderr


def test_restarts_and_prefixed_output(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\nprint('attempt', os.environ['TORCHELASTIC_RESTART_COUNT'], flush=True)\n"
        "sys.exit(3 * (os.environ['RANK'] == '1' and os.environ['TORCHELASTIC_RESTART_COUNT'] == '0'))\n"
    )
    logs = tmp_path / "logs"
    outcome = launch(2, "--max-restarts", "1", "-t", "3", "--log-dir", str(logs), str(script))
    assert outcome.returncode == 0, outcome.stderr
    assert "[default1]:attempt 1" in outcome.stdout
    assert "exit code 3" in outcome.stderr
    (kept,) = logs.glob("*/attempt_0/1/stdout.log")
    assert kept.read_text() == "attempt 0\n"


@pytest.mark.parametrize("arguments", [("--nproc-per-node", "none"), ("--nnodes", "1:4"), ("--node-rank", "2")])
def test_options_that_cannot_be_followed(arguments):
    outcome = launch(1, *arguments, "script.py")
    assert outcome.returncode == 2
    assert arguments[0] in outcome.stderr
