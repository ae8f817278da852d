"""Programs as users write them: policies that learn, and a variational autoencoder."""

from __future__ import annotations

import subprocess
import sys

import polyad as torch
from polyad import nn
from polyad.distributions import Categorical, Independent, Normal, kl_divergence


def test_reinforce():
    """The score of an action is raised by its reward: of three arms the best is found."""
    torch.manual_seed(0)
    policy = nn.Linear(2, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.1)
    rewards = torch.tensor([0.0, 1.0, 0.2])
    for _ in range(60):
        distribution = Categorical(logits=policy(torch.ones(32, 2)))
        action = distribution.sample()
        reward = rewards[action]
        loss = -(distribution.log_prob(action) * (reward - reward.mean())).mean() - 0.01 * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert Categorical(logits=policy(torch.ones(2))).mode == 1


def test_actor_and_critic():
    """A policy of one continuous action with a learned baseline comes near the best action."""
    torch.manual_seed(0)
    actor, critic, log_std = nn.Linear(1, 1), nn.Linear(1, 1), nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters(), log_std], lr=0.05)
    for _ in range(150):
        state = torch.ones(64, 1)
        distribution = Normal(actor(state), log_std.exp())
        action = distribution.sample()
        reward, value = -((action - 2) ** 2), critic(state)
        advantage = (reward - value).detach()
        loss = -(distribution.log_prob(action) * advantage).mean() + ((value - reward) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert abs(actor(torch.ones(1)).item() - 2) < 0.3


def test_variational_autoencoder():
    """The evidence bound rises, through samples that carry gradients."""
    torch.manual_seed(0)
    data = torch.randn(64, 1) @ torch.randn(1, 5)
    encoder, decoder = nn.Linear(5, 4), nn.Linear(2, 5)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.02)
    bounds = []
    for _ in range(80):
        loc, log_scale = encoder(data).chunk(2, -1)
        posterior = Independent(Normal(loc, log_scale.exp()), 1)
        z = posterior.rsample()
        likelihood = Independent(Normal(decoder(z), 1.0), 1).log_prob(data)
        prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        loss = (kl_divergence(posterior, prior.expand(posterior.batch_shape)) - likelihood).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bounds.append(-loss.item())
    assert bounds[-1] > bounds[0] + 0.5


def test_vmap_over_log_prob():
    values = torch.randn(4, 3)
    loc = torch.randn(4)
    mapped = torch.func.vmap(lambda m, x: Normal(m, 1.0).log_prob(x).sum())(loc, values)
    assert torch.allclose(mapped, Normal(loc.unsqueeze(1), 1.0).log_prob(values).sum(-1))


def test_nothing_is_loaded_before_it_is_wanted():
    code = "import sys, polyad; assert not any('distributions' in m for m in sys.modules); polyad.distributions.Normal"
    subprocess.run([sys.executable, "-c", code], check=True)
