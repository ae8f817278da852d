"""``polyad demo``: train a small convolutional classifier on real handwriting, and look at what it learned.

Read :mod:`.train` first: it is the whole of the learning, in the five steps of every tutorial. Around it:

================  ===============================================================
:mod:`.model`     the network
:mod:`.train`     an epoch of training, and prediction
:mod:`.run`       the run from options to result: data, epochs, checkpoints, checks
:mod:`.checkpoint`  what is saved after each epoch, and how a run goes on from there
:mod:`.screen`    what the terminal shows
================  ===============================================================
"""

from .model import DigitClassifier
from .run import Demo, Options
from .train import predict, train_one_epoch

__all__ = ["Demo", "DigitClassifier", "Options", "predict", "train_one_epoch"]
