"""stable-baselines3: its policies forward and backward, and short runs of PPO, A2C, DQN, SAC and TD3."""

from __future__ import annotations

import gymnasium
import numpy as np
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3

from ..job import Run, job

PACKAGE = "stable-baselines3"


class Walk(gymnasium.Env):  # type: ignore[misc]
    """A point on a line that is to come to 0."""

    def __init__(self, discrete: bool) -> None:
        self.discrete = discrete
        self.observation_space = gymnasium.spaces.Box(-5, 5, (3,), np.float32)
        box = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(3) if discrete else box

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[np.ndarray, dict]:
        self.place, self.steps = np.array([2.0, -1.0, 0.5], np.float32), 0
        return self.place.copy(), {}

    def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.place[0] += 0.5 * (float(np.asarray(action).reshape(-1)[0]) - self.discrete)
        self.place = np.clip(self.place, -5, 5)
        self.steps += 1
        return self.place.copy(), -abs(float(self.place[0])), False, self.steps >= 20, {}


@job("policies: values, densities, gradients")
def policies(run: Run) -> None:
    for name, discrete in (("discrete", True), ("continuous", False)):
        policy = run.same(PPO("MlpPolicy", Walk(discrete), device="cpu").policy)
        seen = run.normal(6, 3)
        actions = run.integers(3, 6) if discrete else run.normal(6, 1, seed=1)
        values, density, entropy = policy.evaluate_actions(seen, actions)
        run.record(name, [values, density, entropy])
        (values.sum() + density.sum()).backward()
        run.record(f"{name} gradient", {n: p.grad for n, p in policy.named_parameters() if p.grad is not None})
        run.record(f"{name} chosen", policy.predict(np.ones((2, 3), np.float32), deterministic=True)[0])


@job("short runs of five algorithms; saved and loaded")
def learning(run: Run) -> None:
    made = [
        PPO("MlpPolicy", Walk(True), n_steps=32, batch_size=16, n_epochs=2, seed=0, device="cpu"),
        A2C("MlpPolicy", Walk(False), n_steps=8, seed=0, device="cpu"),
        DQN("MlpPolicy", Walk(True), learning_starts=10, buffer_size=200, seed=0, device="cpu"),
        SAC("MlpPolicy", Walk(False), learning_starts=10, buffer_size=200, seed=0, device="cpu"),
        TD3("MlpPolicy", Walk(False), learning_starts=10, buffer_size=200, seed=0, device="cpu"),
    ]
    seen = np.ones((2, 3), np.float32)
    for model in made:
        name = type(model).__name__
        model.learn(64)
        chosen = model.predict(seen, deterministic=True)[0]
        model.save(run.folder / name)
        again = type(model).load(run.folder / name, device="cpu").predict(seen, deterministic=True)[0]
        run.record(name, [model.num_timesteps, bool(np.allclose(chosen, again)), chosen.shape])
