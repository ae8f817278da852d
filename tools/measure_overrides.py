"""Times NumPy's kernels of composites against the composites' bodies.

Run it as ``POLYAD_NATIVE=0 python tools/measure_overrides.py [OP ...]``. A kernel of polyad_numpy whose op has a body
must pay for its lines: what is printed, the body's time by the kernel's at about 64, 2**14 and 2**20 elements and at
the last of these its peak of memory, is the reason that backends/polyad_numpy/measured.py states. It is the processor
time of one thread, the two by turns, the best of five or more.
"""

from __future__ import annotations

import signal
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import polyad
from polyad.base.device import Device
from polyad.dispatch.catalogue import OPS
from polyad.dispatch.declared import Op
from polyad.inspection.diagnosis.ops_call import example_call
from polyad_numpy.kernels import KERNELS

SIDES = (8, 128, 1024)
MOST = {8: 1 << 20, 128: 32 << 20, 1024: 1 << 30}
"""Bytes that a call of a side may take: what takes more is not measured there, nor at larger sides."""
ENOUGH = 0.01
"""Seconds that are enough for the two together."""

Call = Callable[[], Any]


LONGEST = 1.0
"""Seconds after which a size is left out."""


def floats(*shape: int) -> Any:
    """Numbers between 0.1 and 0.9."""
    return polyad.from_numpy(np.random.default_rng(0).uniform(0.1, 0.9, shape).astype(np.float32))


def ints(most: int, *shape: int) -> Any:
    """Numbers from 0 on, below *most*."""
    return polyad.from_numpy(np.random.default_rng(0).integers(0, most, shape))


def step(name: str, states: int) -> Callable[[int], Call]:
    """A step of an optimizer with so many states like the parameter."""

    def made(n: int) -> Call:
        like = [floats(n, n) for _ in range(states + 2)]
        return lambda: OPS[name].call(*like, polyad.tensor(3.0), 0.01, 0.9, 0.99, 1e-8, 0.0, False, False)

    return made


def call(name: str, *arguments: Callable[[int], Any]) -> Callable[[int], Call]:
    """A call of the op *name*, each argument made of the side."""

    def made(n: int) -> Call:
        values = [argument(n) for argument in arguments]
        return lambda: OPS[name].call(*values)

    return made


def program(run: Callable[..., Any], *arguments: Callable[[int], Any]) -> Callable[[int], Call]:
    """A call of a public function, and its backward pass, which calls the op."""

    def made(n: int) -> Call:
        values = [argument(n) for argument in arguments]
        leaf = next((each for each in values if isinstance(each, polyad.Tensor) and each.is_floating_point()), None)
        if leaf is not None:
            leaf.requires_grad_()

        def both() -> None:
            result = run(*values)
            if leaf is not None and result.requires_grad:
                leaf.grad = None
                result.sum().backward()

        return both

    return made


def recurrent(kind: str) -> Callable[[int], Call]:
    """A layer of the kind over a sequence, and back."""

    def made(n: int) -> Call:
        size = round(n ** (2 / 3))
        layer = getattr(polyad.nn, kind)(size, size)
        return program(lambda x: layer(x)[0], lambda _: floats(size, size, size))(n)

    return made


def square(n: int) -> Any:
    """A square of floats."""
    return floats(n, n)


def row(n: int) -> Any:
    """A row of it."""
    return floats(n)


def flat(n: int) -> Any:
    """As many floats in a vector."""
    return floats(n * n)


def always(value: Any) -> Callable[[int], Any]:
    """The same for each side."""
    return lambda n: value


def classes(n: int) -> Any:
    """A class for each row."""
    return ints(n, n)


def bags(mode: str) -> Callable[[int], Call]:
    """Bags of four rows each, and back."""

    def sums(w: Any, i: Any) -> Any:
        return polyad.nn.functional.embedding_bag(i, w, mode=mode)

    return program(sums, square, lambda n: ints(n, n, 4))


def ctc(logs: Any, targets: Any) -> Any:
    """The loss of sequences that are all of one length."""
    lengths = (len(logs),) * logs.shape[1], (targets.shape[1],) * logs.shape[1]
    return polyad.nn.functional.ctc_loss(logs.log_softmax(-1), targets, *lengths)


def class_losses(name: str) -> dict[str, Callable[[int], Call]]:
    """A loss of classes, and its backward op."""
    rest = (classes, always(None), always("mean"), always(-100), always(0.0))
    return {
        name: call(name, square, *rest),
        f"{name}_backward": call(f"{name}_backward", lambda n: polyad.tensor(1.0), square, *rest),
    }


EPS = always(1e-5)
F = polyad.nn.functional
CTC = program(ctc, lambda n: floats(n, max(n // 32, 1), 32), lambda n: 1 + ints(31, max(n // 32, 1), max(n // 4, 1)))
POOL = program(lambda x: F.max_pool2d(x, 2), lambda n: floats(1, n // 8, 8, n))
CALLS: dict[str, Callable[[int], Call]] = {
    "adam_step": step("adam_step", 2),
    "amsgrad_step": step("amsgrad_step", 3),
    "addmv": call("addmv", row, square, row, always(1), always(1)),
    "attention": program(F.scaled_dot_product_attention, *[lambda n: floats(1, n, 8)] * 3),
    "attention_backward": program(F.scaled_dot_product_attention, *[lambda n: floats(1, n, 8)] * 3),
    "baddbmm": call("baddbmm", *[lambda n: floats(n // 4, n // 4, n // 4)] * 3, always(1), always(1)),
    "bag_max": bags("max"),
    "bag_sum": bags("sum"),
    "batch_norm": call("batch_norm", square, row, row, EPS),
    "batch_norm_by": call("batch_norm_by", square, row, row, row, row, EPS),
    "batch_norm_backward": call("batch_norm_backward", square, square, row, row, row, EPS),
    "cdist": program(lambda x: polyad.cdist(x.detach(), x.detach() + 1), lambda n: floats(n, 8)),
    "clamp": program(lambda x: x.detach().clamp(0.2, 0.8), square),
    "clamp_backward": program(lambda x: x.clamp(0.2, 0.8), square),
    "combinations": program(lambda x: polyad.combinations(x.detach()), row),
    "pdist": program(lambda x: F.pdist(x.detach()), lambda n: floats(n, 8)),
    "bin_counts": program(lambda x: polyad.histogram(x.detach(), 32)[0], flat),
    "bincount": program(lambda n: polyad.bincount(n), lambda n: ints(n, n * n)),
    "bmm": call("bmm", lambda n: floats(n, 8, n // 8), lambda n: floats(n, n // 8, 8)),
    "ctc_loss": CTC,
    "ctc_loss_backward": CTC,
    "distinct": call("distinct", flat),
    "dot": call("dot", flat, flat),
    "embedding_backward": program(lambda w, i: F.embedding(i, w), square, classes),
    "fft_c2c": program(lambda x: polyad.fft.fft(x.detach() + 0j).real, square),
    "fft_c2r": program(lambda x: polyad.fft.irfft(x.detach() + 0j), square),
    "fft_r2c": program(lambda x: polyad.fft.rfft(x.detach()), square),
    "gru_gates": program(polyad.gru_cell, square, square, *[lambda n: floats(3 * n, n)] * 2),
    "gru_sequence": recurrent("GRU"),
    "gru_sequence_backward": recurrent("GRU"),
    "index": program(lambda x, i: x[i], square, classes),
    "index_put": program(lambda x, i, v: x.index_put((i,), v), square, classes, square),
    "kthvalue": program(lambda x: x.kthvalue(2)[0], square),
    "layer_norm": call("layer_norm", square, row, row, always(1), EPS),
    "layer_norm_backward": program(lambda x: F.layer_norm(x, x.shape[1:]), square),
    "linalg_lstsq": program(lambda a, b: polyad.linalg.lstsq(a.detach(), b)[0], square, square),
    "linalg_lu_solve": program(lambda a, b: polyad.linalg.lu_solve(*polyad.linalg.lu_factor(a), b), square, square),
    "linear_weight_grad": call("linear_weight_grad", *[lambda n: floats(n // 4, 4, n)] * 2),
    "linspace": program(lambda n: polyad.linspace(0, 1, n * n), lambda n: n),
    "lstm_gates": program(
        lambda x, h, *w: polyad.lstm_cell(x, (h, h), *w)[0], square, square, *[lambda n: floats(4 * n, n)] * 2
    ),
    "lstm_sequence": recurrent("LSTM"),
    "lstm_sequence_backward": recurrent("LSTM"),
    "masked_scatter": program(lambda x, v: x.masked_scatter(x > 0.5, v), square, square),
    "max_pool": program(lambda x: F.max_pool2d(x.detach(), 2), lambda n: floats(1, n // 8, 8, n)),
    "max_pool_backward": POOL,
    "mv": call("mv", square, row),
    "pad_constant": program(lambda x: F.pad(x, (1, 1)), flat),
    "pad_repeated": program(lambda x: F.pad(x[None], (1, 1), "replicate"), square),
    "pad_repeated_backward": program(lambda x: F.pad(x[None], (1, 1), "replicate"), square),
    "rms_norm": call("rms_norm", square, row, always(1), EPS),
    "rms_norm_backward": program(lambda x: F.rms_norm(x, x.shape[1:]), square),
    "rnn_sequence": recurrent("RNN"),
    "rnn_sequence_backward": recurrent("RNN"),
    "vdot": call("vdot", flat, flat),
    **class_losses("nll_loss"),
    **class_losses("cross_entropy"),
}
"""By the side n of a square, what to call where not all operands are squares of floats."""


def call_of(op: Op, side: int) -> Call | None:
    """A call of *op* on squares, floats between 0.1 and 0.9; None if none can be made up."""
    if op.name in CALLS:
        return CALLS[op.name](side)
    example = example_call(op, None, ((side, side),))
    if example is None:
        return None

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(each) for each in value]
        is_float = isinstance(value, polyad.Tensor) and value.is_floating_point() and value.numel()
        return floats(*value.shape).to(value.dtype) if is_float else value

    values = tuple(map(filled, example.values(op, Device("cpu"))))
    return lambda: op.call(*values)


def seconds(run: Call, times: int = 1) -> float:
    """The processor time of so many calls."""
    began = time.thread_time()
    for _ in range(times):
        run()
    return time.thread_time() - began


def peak(run: Call) -> int:
    """The most bytes that a call holds."""
    tracemalloc.start()
    run()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def compared(op: Op, side: int) -> tuple[float, float] | None:
    """The body's time and its peak of memory, each by the kernel's."""
    run = call_of(op, side)
    if run is None:
        return None
    table = next(each for each in KERNELS._loaded.values() if op.name in each)
    kernel = table[op.name]
    plans: list[dict[Any, Any]] = []
    peaks, best = [], [float("inf"), float("inf")]
    try:
        for used in (kernel, None):
            use(op, table, used, {})
            run()
            peaks.append(peak(run))
            if peaks[-1] > MOST[side]:
                return None
            plans.append(dict(op.plans))
        use(op, table, kernel, plans[0])
        times = max(1, min(2000, int(0.001 / max(seconds(run), 1e-7))))
        began = time.thread_time()
        for turn in range(50):
            for at, used in enumerate((kernel, None)):
                use(op, table, used, plans[at])
                best[at] = min(best[at], seconds(run, times))
            spent = time.thread_time() - began
            if (spent > ENOUGH and turn > 3) or spent > 0.3:
                break
    finally:
        use(op, table, kernel, {})
    return best[1] / best[0], peaks[1] / max(peaks[0], 1)


def use(op: Op, table: dict[str, Any], kernel: Any, plans: dict[Any, Any]) -> None:
    """Let calls of *op* have these plans, and new plans this kernel."""
    if kernel is None:
        table.pop(op.name, None)
    else:
        table[op.name] = kernel
    op.plans.clear()
    op.plans.update(plans)


def stop(number: int, frame: Any) -> None:
    """Leave a size that takes too long."""
    raise TimeoutError(f"more than {LONGEST} s")


def main(names: list[str]) -> None:
    """Print a line for each op."""
    polyad.set_num_threads(1)
    signal.signal(signal.SIGPROF, stop)
    list(KERNELS)  # loads all
    for name in names or sorted(name for name in KERNELS if OPS[name].body is not None):
        found: list[Any] = []
        try:
            for side in SIDES:
                signal.setitimer(signal.ITIMER_PROF, LONGEST)
                found.append(compared(OPS[name], side))
                if found[-1] is None:
                    break
        except Exception as error:
            print(f"# {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        found = [each for each in found if each is not None]
        ratios = ", ".join(f"{each[0]:.2f}" for each in found)
        print(f'"{name}": ({ratios}),', "# memory", f"{found[-1][1]:.2f}" if found else None, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
