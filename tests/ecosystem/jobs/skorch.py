"""skorch: estimators of scikit-learn's kind: fit, predict, pickle, cross-validation, a search."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, cross_val_score
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, LRScheduler

from ..job import Run, job

PACKAGE = "skorch"


class Net(torch.nn.Module):
    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        nn = torch.nn
        self.layers = nn.Sequential(nn.Linear(5, hidden), nn.ReLU(), nn.Linear(hidden, 2), nn.Softmax(-1))
        numbers = np.random.default_rng(hidden)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.from_numpy(0.3 * numbers.standard_normal(parameter.shape)))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


def data() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    return x, (x[:, 0] > 0).astype(np.int64)


@job("classifier: fit, predict, pickle, parameters kept in files")
def classifier(run: Run) -> None:
    x, y = data()
    callbacks = [EarlyStopping(), LRScheduler("StepLR", step_size=1)]
    net = NeuralNetClassifier(Net, max_epochs=3, lr=0.1, callbacks=callbacks, verbose=0)
    net.fit(x, y)
    run.record("probabilities", net.predict_proba(x), depth=16)
    run.record("losses", np.array(net.history[:, "train_loss"], np.float32), depth=16)
    run.record("unpickled", pickle.loads(pickle.dumps(net)).predict_proba(x), depth=16)
    net.save_params(f_params=run.folder / "parameters.pt", f_optimizer=run.folder / "optimizer.pt")
    fresh = NeuralNetClassifier(Net).initialize()
    fresh.load_params(f_params=run.folder / "parameters.pt")
    run.record("loaded", fresh.predict_proba(x), depth=16)


@job("cross-validation and a grid search; a regressor")
def search(run: Run) -> None:
    x, y = data()
    net = NeuralNetClassifier(Net, max_epochs=2, train_split=None, verbose=0)
    run.record("scores", cross_val_score(net, x, y, cv=2))
    found = GridSearchCV(net, {"lr": [0.01, 0.2], "module__hidden": [4, 8]}, cv=2).fit(x, y)
    run.record("best", [found.best_params_["lr"], found.best_params_["module__hidden"]])
    regressor = NeuralNetRegressor(Net, max_epochs=2, lr=0.1, optimizer=torch.optim.Adam, verbose=0, train_split=None)
    regressor.fit(x, np.stack([x[:, 0], x[:, 1]], 1))
    run.record("predicted", regressor.predict(x), depth=32)
