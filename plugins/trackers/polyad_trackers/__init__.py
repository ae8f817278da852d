"""polyad.trackers: where the values of a run are written.

    tracker.py      `Tracker`: what a tracker can be given, and `open_tracker`, which finds one by name
    files.py        `CSVTracker`
    terminal.py     `TerminalTracker`, and curves drawn with characters
    tensorboard.py, wandb.py, mlflow.py, trackio.py
                    a tracker for each of these tools, which is imported when the tracker is made
    given.py        pictures, histograms and hyper-parameters as tools take them
    graph.py        what a model consists of
    curve.py        `learning_curve`: a picture of a run

A tracker of another package registers its class in the entry-point group ``polyad.trackers``. Names of methods are
those that Lightning's loggers have.
"""

from .curve import can_draw, learning_curve
from .files import CSVTracker, read_csv
from .mlflow import MLflowTracker
from .tensorboard import TensorBoardTracker
from .terminal import TerminalTracker
from .tracker import GROUP, Tracker, available, open_tracker
from .trackio import TrackioTracker
from .wandb import WandbTracker

__all__ = [
    "GROUP",
    "CSVTracker",
    "MLflowTracker",
    "TensorBoardTracker",
    "TerminalTracker",
    "Tracker",
    "TrackioTracker",
    "WandbTracker",
    "available",
    "can_draw",
    "learning_curve",
    "open_tracker",
    "read_csv",
]
