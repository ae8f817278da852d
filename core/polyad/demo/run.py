"""The demo from its options to its result.

What goes wrong with an option ends in a PolyadError before the first epoch begins; after that, whatever stops the
run, the checkpoint of the last finished epoch is on the disk.
"""

from __future__ import annotations

import copy
import importlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polyad
from polyad import Generator, Tensor
from polyad.datasets import Digits, FashionMNIST
from polyad.errors import ArgumentError, NonFiniteError
from polyad.files import trouble
from polyad.optim import Adam
from polyad.utils.data import DataLoader, TensorDataset

from .checkpoint import read_checkpoint, restore, write_checkpoint
from .model import DigitClassifier
from .screen import Screen
from .train import Tally, accuracy, predict, train_one_epoch

__all__ = ["Demo", "Interrupted", "Options"]

EPOCHS = {"digits": 10, "fashion-mnist": 1}
MOST_PICTURES = 8
SAVE_EVERY = 200


@dataclass(slots=True)
class Options:
    """What the command line says; None where it says nothing, which leaves it to the checkpoint or to the default.

    Attributes:
        resume: a checkpoint to go on from; True means the checkpoint in the output folder.
        save_every: batches of an epoch after which a checkpoint is written.
    """

    device: str | None = None
    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    seed: int | None = None
    data: str | None = None
    root: Path | None = None
    resume: Path | bool = False
    output: Path = Path("polyad-demo")
    save_every: int | None = None


class Interrupted(Exception):
    """Ctrl-C, with what is safe on the disk."""


class Clothes(TensorDataset):
    """Fashion-MNIST in the form of `Digits`: images float32 (n, 1, 28, 28) in [0, 1], labels int64 (n,)."""

    def __init__(self, root: Path, train: bool) -> None:
        found = FashionMNIST(root, train)
        self.images, self.labels, self.classes = found.images.float() / 255, found.targets, found.classes
        super().__init__(self.images, self.labels)


class Demo:
    """A run, prepared by its options.

    Raises:
        PolyadError: an option that cannot be followed; the message says which and what to do.
    """

    def __init__(self, options: Options) -> None:
        checkpoint: dict[str, Any] = {}
        self.output = options.output
        self.path = self.output / "checkpoint.polyad"
        resumed_from = None
        if options.resume:
            resumed_from = self.path if options.resume is True else Path(options.resume)
            checkpoint = read_checkpoint(resumed_from)
        args = checkpoint.get("args", {})
        self.resumed_from = resumed_from

        self.data = options.data or args.get("data") or "digits"
        if checkpoint and self.data != args.get("data"):
            raise ArgumentError(
                f"--resume: {resumed_from} was trained on {args.get('data')}, not on {self.data}",
                fix=f"pass --data {args.get('data')}, or start anew without --resume",
            )
        self.seed = _first(options.seed, checkpoint.get("seed"), 0)
        self.batch_size = _first(options.batch_size, args.get("batch_size"), 64)
        self.lr = _first(options.lr, args.get("lr"), 3e-3)
        self.epochs = options.epochs or EPOCHS[self.data]
        self.save_every = options.save_every or SAVE_EVERY
        self.device = _usable_device(options.device)
        self.train_data, self.held_out = _load_data(self.data, options.root)
        _make_writable(self.output)

        polyad.manual_seed(self.seed)
        self.shuffling = Generator().manual_seed(self.seed)
        self.model = self._fresh_model()
        self.optimizer = Adam(self.model.parameters(), lr=self.lr)
        self.loader = DataLoader(self.train_data, batch_size=self.batch_size, shuffle=True, generator=self.shuffling)
        self.history: list[dict[str, float]] = list(checkpoint.get("history", []))
        self.epochs_before = self.epochs_saved = len(self.history)
        self.middle: dict[str, Any] | None = checkpoint.get("middle")
        self.batches_saved = 0
        if resumed_from is not None:
            restore(checkpoint, resumed_from, self.model, self.optimizer, self.shuffling, self.loader)
            for group in self.optimizer.param_groups:
                group["lr"] = self.lr

    def run(self, screen: Screen) -> bool:
        """Train, show, save, and check; True if the saved model predicts what the trained model does.

        Raises:
            Interrupted: Ctrl-C; the message says what is on the disk.
            FileTrouble: the checkpoint or the picture could not be written, the disk being full, say.
            NonFiniteError: the loss, or what the model predicts, is no number any more; the message says where the
                first NaN or infinity arose.
        """
        try:
            self.introduce(screen)
            self.train(screen)
            predictions = predict(self.model, self.held_out.images, self.device)
            self.show_result(predictions, screen)
            self.show_misread(predictions, screen)
            screen.line()
            self.picture(screen)
            return self.check_checkpoint(predictions, screen)
        except KeyboardInterrupt:
            raise Interrupted(self.what_is_safe()) from None

    def _fresh_model(self) -> DigitClassifier:
        return DigitClassifier(size=self.train_data.images.shape[-1]).to(self.device)

    def introduce(self, screen: Screen) -> None:
        count = sum(parameter.numel() for parameter in self.model.parameters())
        height, width = self.train_data.images.shape[-2:]
        screen.line("polyad demo", "bold")
        screen.fact(
            "data",
            f"{self.data}, {height} x {width} pixels: "
            f"{len(self.train_data):,} to learn from, {len(self.held_out):,} held out",
        )
        screen.fact("model", f"two convolutions and a linear layer, {count:,} parameters, on {self.device}")
        screen.fact(
            "training", f"{_epochs(self.epochs)}, batches of {self.batch_size}, Adam, lr {self.lr:g}, seed {self.seed}"
        )
        screen.fact("checkpoint", str(self.path))
        if self.resumed_from is not None:
            batch = f", batch {self.middle['loader']['batches']} of the next" if self.middle else ""
            screen.fact("resumed", f"after epoch {self.epochs_before}{batch}, from {self.resumed_from}")

    def train(self, screen: Screen) -> None:
        with polyad.lint():  # says so if the loop is edited and a step of it forgotten
            self._train(screen)

    def _train(self, screen: Screen) -> None:
        if self.epochs_before >= self.epochs:
            screen.line()
            screen.line(
                f"Nothing to train: {self.epochs_before} of {self.epochs} epochs are done. Pass more --epochs to go on."
            )
            if self.resumed_from != self.path:
                self._save()
            return
        screen.epoch_header()
        for entry in self.history:
            screen.epoch_row(entry, is_best=False)
        for epoch in range(self.epochs_before + 1, self.epochs + 1):
            start = time.perf_counter()
            before = self._state()
            tally = Tally(*(self.middle or {}).get("tally", ()))
            self.middle = None
            try:
                with screen.progress(epoch, self.epochs, len(self.loader)) as advance:
                    after_batch = self._after_batch(advance, tally)
                    loss, train_accuracy = train_one_epoch(
                        self.model, self.loader, self.optimizer, self.device, after_batch, tally
                    )
                    predictions = predict(self.model, self.held_out.images, self.device)
            except NonFiniteError as error:
                raise self._explained(error, epoch, before) from None
            entry = {
                "epoch": epoch,
                "loss": loss,
                "train": train_accuracy,
                "held_out": accuracy(predictions, self.held_out.labels),
                "seconds": time.perf_counter() - start,
            }
            is_best = all(entry["held_out"] > earlier["held_out"] for earlier in self.history)
            self.history.append(entry)
            self._save()
            screen.epoch_row(entry, is_best)

    def _after_batch(self, advance: Callable[[], None], tally: Tally) -> Callable[[], None]:
        """What is done after each batch: the bar goes on, and now and then a checkpoint is written."""
        batches = 0

        def after_batch() -> None:
            nonlocal batches
            advance()
            batches += 1
            if batches % self.save_every == 0:
                state = self.loader.state_dict()
                self._save({"loader": state, "tally": [tally.loss, tally.right, tally.seen]})
                self.batches_saved = state["batches"]

        return after_batch

    def _state(self) -> tuple[Any, ...]:
        """A copy of all that an epoch depends on."""
        parts = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        return (*parts, self.loader.state_dict(), self.shuffling.get_state(), polyad.get_rng_state())

    def _explained(self, error: NonFiniteError, epoch: int, before: tuple[Any, ...]) -> NonFiniteError:
        """*error* with the op that made the first NaN or infinity: the epoch is run again, looking at every result."""
        model, optimizer, loader, shuffling, default = before
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.loader.load_state_dict(loader)
        self.shuffling.set_state(shuffling)
        polyad.set_rng_state(default)
        notes = {}
        try:
            with polyad.detect_nonfinite():
                train_one_epoch(self.model, self.loader, self.optimizer, self.device)
                predict(self.model, self.held_out.images, self.device)
        except NonFiniteError as first:
            if first.lines:  # of an op; without lines it is the same error as before
                # The line of the user's program is that of the command: there is no other.
                notes = {"first": first.message, **{name: text for name, text in first.lines.items() if name != "line"}}
        notes["safe"] = self.what_is_safe()
        return NonFiniteError(
            f"epoch {epoch}: {error.message}",
            notes=notes,
            fix=f"take shorter steps: a smaller --lr than {self.lr:g}",
        )

    def _save(self, middle: dict[str, Any] | None = None) -> None:
        args = {"data": self.data, "batch_size": self.batch_size, "lr": self.lr}
        before = self._file_on_disk()
        try:
            write_checkpoint(
                self.path, self.model, self.optimizer, self.shuffling, self.history, self.seed, args, middle
            )
        finally:
            # Ctrl-C may come when the new file is in its place already.
            if self._file_on_disk() != before:
                self.epochs_saved = len(self.history)
                self.batches_saved = 0

    def _file_on_disk(self) -> tuple[int, int] | None:
        """What tells the checkpoint's file from the file that replaces it; None if there is none."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def what_is_safe(self) -> str:
        """What a run that is stopped now leaves on the disk."""
        if self.batches_saved:
            return (
                f"The checkpoint of epoch {self.epochs_saved + 1}, batch {self.batches_saved} is safe in {self.path}; "
                "go on with --resume."
            )
        if self.epochs_saved > self.epochs_before:
            return f"The checkpoint of epoch {self.epochs_saved} is safe in {self.path}; go on with --resume."
        if self.path.exists():
            return f"No epoch was finished, so {self.path} is as it was before this run."
        return "No epoch was finished, so there is no checkpoint yet."

    def show_result(self, predictions: Tensor, screen: Screen) -> None:
        right = int((predictions == self.held_out.labels).sum().item())
        seconds = sum(entry["seconds"] for entry in self.history)
        share = right / len(predictions)
        screen.line()
        screen.line(
            f"Held-out accuracy {share:.4f}: {right:,} of {len(predictions):,} right, "
            f"after {_epochs(len(self.history))} in {seconds:.1f} s",
            "bold",
        )

    def show_misread(self, predictions: Tensor, screen: Screen) -> None:
        wrong = [index for index, right in enumerate((predictions == self.held_out.labels).tolist()) if not right]
        if not wrong:
            return
        classes = self.held_out.classes
        pictures = []
        for index in wrong[:MOST_PICTURES]:
            image, label, read = self.held_out.images[index, 0], self.held_out.labels[index], predictions[index]
            pictures.append((image.tolist(), f"{classes[int(label)]}, read {classes[int(read)]}"))
        screen.line()
        screen.line(f"Misread, {len(wrong):,} in all:", "bold")
        screen.line()
        screen.gallery(pictures)

    def picture(self, screen: Screen) -> None:
        trackers = importlib.import_module("polyad.trackers")  # a module that a plug-in shows
        if not trackers.can_draw():
            screen.fact("curve", "not drawn, matplotlib is not installed (pip install 'polyad[plot]')")
            return
        path = self.output / "learning-curve.png"
        rows = [
            {
                "epoch": entry["epoch"],
                "training loss": entry["loss"],
                "training": entry["train"],
                "held out": entry["held_out"],
            }
            for entry in self.history
        ]
        panels = {"loss": ["training loss"], "accuracy": ["training", "held out"]}
        trackers.learning_curve(rows, path, title=f"polyad demo, {self.data}", x="epoch", panels=panels)
        screen.fact("curve", str(path))

    def check_checkpoint(self, predictions: Tensor, screen: Screen) -> bool:
        """Load the checkpoint into a fresh model and compare what it predicts."""
        fresh = self._fresh_model()
        fresh.load_state_dict(read_checkpoint(self.path)["model"])
        again = predict(fresh, self.held_out.images, self.device)
        equal = int((again == predictions).sum().item())
        screen.fact(
            "checkpoint",
            f"{self.path}: loaded into a fresh model, {equal:,} of {len(again):,} predictions equal",
            style="green" if equal == len(again) else "bold red",
        )
        return equal == len(again)


def _epochs(count: int) -> str:
    return f"{count} epoch{'' if count == 1 else 's'}"


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)


def _usable_device(name: str | None) -> polyad.device:
    """The device, after a number has been put there and back."""
    device = polyad.get_default_device() if name is None else polyad.device(name)
    polyad.ones(1, device=device).item()
    return device


def _load_data(name: str, root: Path | None) -> tuple[Any, Any]:
    """The part to learn from and the part held out."""
    if name == "digits":
        if root is not None:
            raise ArgumentError(
                "--root: the digits are bundled and need no folder", fix="leave --root out, or add --data fashion-mnist"
            )
        return Digits(train=True), Digits(train=False)
    if root is None:
        raise ArgumentError("--data fashion-mnist: no folder was given", fix=f"add --root DIR; {FashionMNIST.install}")
    return Clothes(root, train=True), Clothes(root, train=False)


def _make_writable(folder: Path) -> None:
    """Create the folder, and be sure that files can be created in it, before any work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise trouble("--output", folder, error, "choose a folder that you may write to: --output DIR") from error
