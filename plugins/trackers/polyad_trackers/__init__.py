"""polyad.trackers: where the values of a run are written.

    tracker.py   `Tracker`: what a tracker can be given, and `open_tracker`, which finds one by name
    files.py     `CSVTracker`
    terminal.py  `TerminalTracker`, and curves drawn with characters
    curve.py     `learning_curve`: a picture of a run

A tracker of another package registers its class in the entry-point group ``polyad.trackers``. Names of methods are
those that Lightning's loggers have.
"""

from .curve import learning_curve
from .files import CSVTracker, read_csv
from .terminal import TerminalTracker
from .tracker import GROUP, Tracker, available, open_tracker

__all__ = [
    "GROUP",
    "CSVTracker",
    "TerminalTracker",
    "Tracker",
    "available",
    "learning_curve",
    "open_tracker",
    "read_csv",
]
