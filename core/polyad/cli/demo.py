"""``polyad demo``: the options of :mod:`polyad.demo`."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

__all__ = ["add_parser"]

DESCRIPTION = """\
Train a small convolutional classifier on real handwriting, show how it learns and what it misreads, save a
checkpoint after each epoch and now and then within it, and check that the saved model predicts what the trained
model does.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("demo", help="train a classifier on bundled handwriting", description=DESCRIPTION)
    parser.set_defaults(run=run)
    parser.add_argument(
        "--device", metavar="DEVICE", help='where to train, such as "cpu" (default: the default device)'
    )
    parser.add_argument(
        "--epochs", type=_count, metavar="N", help="passes over the data (default: 10; fashion-mnist: 1)"
    )
    parser.add_argument("--batch-size", type=_count, metavar="N", help="pictures a step (default: 64)")
    parser.add_argument("--lr", type=_rate, metavar="RATE", help="Adam's learning rate (default: 0.003)")
    parser.add_argument("--seed", type=_seed, metavar="N", help="what all random numbers follow from (default: 0)")
    parser.add_argument(
        "--data",
        choices=("digits", "fashion-mnist"),
        help="the bundled digits (default), or the IDX files of Fashion-MNIST in --root",
    )
    parser.add_argument("--root", type=Path, metavar="DIR", help="folder of the fashion-mnist files")
    parser.add_argument(
        "--resume",
        nargs="?",
        const=True,
        default=False,
        metavar="FILE",
        help="go on from a checkpoint (default: the one in the output folder), with its options where none are given",
    )
    parser.add_argument(
        "--save-every",
        type=_count,
        metavar="N",
        help="write a checkpoint after so many batches of an epoch, too (default: 200)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("polyad-demo"),
        metavar="DIR",
        help="folder of checkpoint and picture (default: ./polyad-demo)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; say what is wrong with an option in one message."""
    from rich.console import Console

    from ..demo.run import Demo, Interrupted, Options
    from ..demo.screen import Screen
    from ..errors import NonFiniteError, PolyadError
    from ..files import FileTrouble

    resume = Path(arguments.resume) if isinstance(arguments.resume, str) else arguments.resume
    options = Options(
        device=arguments.device,
        epochs=arguments.epochs,
        batch_size=arguments.batch_size,
        lr=arguments.lr,
        seed=arguments.seed,
        data=arguments.data,
        root=arguments.root,
        resume=resume,
        output=arguments.output,
        save_every=arguments.save_every,
    )
    try:
        demo = Demo(options)
    except PolyadError as error:
        return _fail(error)
    try:
        return 0 if demo.run(Screen(Console(highlight=False))) else 1
    except FileTrouble as error:
        return _fail(error)
    except NonFiniteError as error:
        _fail(error)
        return 1
    except Interrupted as stopped:
        print(f"\nInterrupted. {stopped}", file=sys.stderr)
        return 130


def _fail(error: Exception) -> int:
    print(f"polyad demo: {error}", file=sys.stderr)
    return 2


def _count(text: str) -> Any:
    return _number(int, text, lambda value: value >= 1, "a whole number of at least 1")


def _seed(text: str) -> Any:
    return _number(int, text, lambda value: 0 <= value < 2**63, "a whole number from 0 to 2**63 - 1")


def _rate(text: str) -> Any:
    return _number(float, text, lambda value: math.isfinite(value) and value > 0, "a number above 0")


def _number(convert: Any, text: str, is_allowed: Any, rule: str) -> Any:
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or not is_allowed(value):
        raise argparse.ArgumentTypeError(f"{text} is not {rule}")
    return value
