"""polyad.trainer: the training loop, with what belongs around it. Read in this order:

    module.py     `LightningModule`: a model that says what a step is, and `LightningDataModule`
    trainer.py    `Trainer`: what a run is told, and its fit, validate, test, predict
    loop.py       the loop: epochs, batches, steps of optimizers, validation
    evaluation.py a pass that learns nothing
    optimizers.py what `configure_optimizers` may return, and an optimizer's step with clipping and half precision
    results.py    what `log` was told, means over an epoch
    state.py      a checkpoint: all that a run needs to go on as if it had not stopped
    callbacks.py  hooks, and `EarlyStopping`, `LearningRateMonitor`
    saving.py     `ModelCheckpoint`
    screen.py     the progress bar
    interrupts.py Ctrl-C, which waits for the end of a step

Names, arguments and hooks are those of Lightning, so its modules run after changing an import.
"""

from .callbacks import Callback, EarlyStopping, LearningRateMonitor
from .module import LightningDataModule, LightningModule
from .saving import ModelCheckpoint
from .seeds import seed_everything
from .trainer import Trainer

__all__ = [
    "Callback",
    "EarlyStopping",
    "LearningRateMonitor",
    "LightningDataModule",
    "LightningModule",
    "ModelCheckpoint",
    "Trainer",
    "seed_everything",
]
