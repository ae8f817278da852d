"""Loops as programs for a GPU write them: what they ask of the device, by the names that they use."""

import pytest

import polyad as torch
from polyad import nn
from polyad.nn import functional as F
from polyad.utils.data import DataLoader, TensorDataset

N = 12


@pytest.fixture
def data():
    torch.manual_seed(0)
    return TensorDataset(torch.rand(N, 6), torch.randint(0, 3, (N,)))


class Prefetcher:
    """Copies the next batch in a stream of its own while the present one is used."""

    def __init__(self, loader):
        self.loader, self.stream = iter(loader), torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.next_input, self.next_target = next(self.loader, (None, None))
        if self.next_input is None:
            return
        with torch.cuda.stream(self.stream):
            self.next_input = self.next_input.cuda(non_blocking=True).sub_(0.5)
            self.next_target = self.next_target.cuda(non_blocking=True)

    def __iter__(self):
        while self.next_input is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.next_input, self.next_target
            for tensor in batch:
                tensor.record_stream(torch.cuda.current_stream())
            self.preload()
            yield batch


def test_mixed_precision_with_a_prefetcher(data):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = False
    torch.cuda.manual_seed_all(1)
    torch.cuda.reset_peak_memory_stats()
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, fused=True)
    scaler = torch.cuda.amp.GradScaler()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    losses, total = [], torch.tensor(0.0).to(device)
    start.record()
    for _ in range(4):
        for x, y in Prefetcher(DataLoader(data, batch_size=4, pin_memory=True)):
            with torch.cuda.nvtx.range("step"), torch.autocast("cuda", dtype=torch.float16):
                assert torch.is_autocast_enabled()
                assert torch.get_autocast_gpu_dtype() is torch.float16
                loss = F.cross_entropy(model(x) / torch.sqrt(torch.tensor(2.0)), y)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            total += loss.detach()
        losses.append(total.item() / (N / 4))
        total.zero_()
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0
    assert losses[-1] < losses[0]
    assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated() > 0
    assert torch.cuda.memory_stats()["active_bytes.all.peak"] == torch.cuda.max_memory_allocated()


def test_tensor_types_of_a_gan():
    floats = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
    generator, critic = nn.Linear(2, 4).cuda(), nn.Linear(4, 1).cuda()
    real = torch.rand(3, 4).type(floats)
    fake = generator(floats(3, 2).normal_())
    alpha = floats([0.1, 0.5, 0.9]).unsqueeze(1)
    mixed = (alpha * real + (1 - alpha) * fake.detach()).requires_grad_(True)
    (slope,) = torch.autograd.grad(
        critic(mixed), mixed, grad_outputs=floats(3, 1).fill_(1.0), create_graph=True, retain_graph=True
    )
    loss = ((slope.norm(2, dim=1) - 1) ** 2).mean() + F.binary_cross_entropy_with_logits(
        critic(fake), floats(3, 1).fill_(1.0)
    )
    loss.backward()
    assert isinstance(loss, floats)
    assert generator.weight.grad.is_cuda


def test_programs_that_take_a_smaller_batch_know_the_error():
    """By the words that PyTorch's error has, its class, and the count."""
    before = torch.cuda.memory_stats()["num_ooms"]
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 40, device="cuda")
    torch.cuda.empty_cache()
    (text,) = caught.value.args
    assert text.startswith("CUDA out of memory. ")
    assert isinstance(caught.value, torch.cuda.OutOfMemoryError)
    assert torch.cuda.memory_stats()["num_ooms"] == before + 1


def test_shuffled_rows_and_two_devices():
    x = torch.arange(8.0, device="cuda").reshape(4, 2)
    assert sorted(x[torch.randperm(4)][:, 0].tolist()) == [0, 2, 4, 6]
    first, second = nn.Linear(2, 3).to("cuda:0"), nn.Linear(3, 1).to("cuda:1")
    second(first(x).relu().to("cuda:1")).sum().backward()
    norm = nn.utils.clip_grad_norm_([*first.parameters(), *second.parameters()], 1.0)
    assert norm.item() > 0
    assert (first.weight.grad.get_device(), second.weight.grad.get_device()) == (0, 1)
