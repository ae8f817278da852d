"""From a call that works to one that nobody would write: arguments are exchanged, dropped, doubled, named, laid out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from .targets import WRAPPERS, Call, Target, fitting, start, targets, tensor
from .values import DIMS, NUMBERS, OBJECTS

LAYOUTS = (
    "{}.t()", "{}[::2]", "{}.expand(2, 3)", "{}[None]", "{}.conj()", "{}.requires_grad_()", "{}.clone()", "{}[..., 0]",
    "{}[:0]", "{}.detach()", "{}.reshape(-1)", "{}.double()", "{}.half()", "{}.long()", "{}.bool()",
    "{}.to(torch.complex64)", "{}.to(torch.bfloat16)", "{}.to(torch.uint8)", "{}.to(torch.int32)", "{} * nan", "-{}",
    "{}.to(other_device)", "{}.as_subclass(Sub)", "{}.cpu().numpy()", "{}.tolist()", "{}.flatten()[:1]", "{}.sum()",
    "{}.unsqueeze(-1)", "{}.squeeze()", "torch.cat([{0}, {0}])", "{} + 2**40",
)  # fmt: skip


def random_call(seed: int, number: int, common: tuple[str, ...] = (), part: str = "ops") -> Call:
    """Call *number* of those that *seed* draws: each follows from these arguments alone.

    Most samples are of a dtype among the *common*, if there are such: a device that compiles a kernel for each dtype
    would do little else.
    """
    random = Random(f"{seed} {number}")
    target = random.choice(targets(part))
    call = start(random, target, common)
    if random.random() < 0.1:
        return call
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        call = _changed(random, target, call)
    return call


ODD = (
    "None", "Tensor", "bad('__repr__')", "[bad('__repr__')]", "bad('__bool__')", "bad('__eq__')", "bad('__hash__')",
    "bad('__len__', '__getitem__')", "lying('__array__', None)", "lying('__index__', 'a')", "lying('__len__', 2**62)",
    "lying('__iter__', 5)", "recursive()", "deep(2000)", "np.ones((2, 3))", "np.zeros(0)", "np.array(['a'])",
    "np.zeros(2, [('a', int)])", "np.uint64(2**63)", "-1", "2**40", "2**64", "10**400", "nan", "'text'", "'a\\0b'",
    "{}", "torch.sin", "filled('float32', 2)", "filled('int64', 2, value=2**62)", "filled('float32', *(1,) * 64)",
    "torch.empty(0, 2**40, device=device)",
)  # fmt: skip
"""What every argument is exchanged for in turn."""


def exchanged_calls(seed: int, common: tuple[str, ...] = (), part: str = "ops") -> Iterator[Call]:
    """For every target a call, with each of its arguments exchanged for each of the `ODD` values: one at a time, also
    those that may be given by name alone.
    """
    for number, target in enumerate(dict.fromkeys((one.source, *one.parameters.items()) for one in targets(part))):
        found = next(one for one in targets(part) if (one.source, *one.parameters.items()) == target)
        call = start(Random(f"{seed} {number}"), found, common)
        names = [name for name in found.parameters if not name.startswith("*") and name != "self"]
        known = {*names[: len(call.args) - found.method], *call.kwargs}
        free = [] if found.fixed else [name for name in names if name not in known and name != "forward"]
        for value in ODD:
            for place in range(call.keep, len(call.args)):
                yield replace(call, args=(*call.args[:place], value, *call.args[place + 1 :]))
            for name in (*call.kwargs, *free):
                if found.parameters.get(name, "")[:1] != "=":
                    yield replace(call, kwargs={**call.kwargs, name: value})


def other_value(random: Random, name: str) -> str:
    """A value for a parameter called *name*: mostly of the sort that is not far from right."""
    tries = {"dim": DIMS, "dims": DIMS, "axis": DIMS, "size": DIMS, "shape": DIMS}
    pools = [NUMBERS, NUMBERS, DIMS, OBJECTS, OBJECTS, None, None]
    if name in tries:
        pools += [DIMS] * 5
    pool = random.choice(pools)
    return tensor(random) if pool is None else random.choice(pool)


def _changed(random: Random, target: Target, call: Call) -> Call:
    args, kwargs = list(call.args), dict(call.kwargs)
    names = [name for name in target.parameters if not name.startswith("*") and name != "self"]
    free = list(range(call.keep, len(args)))
    how = random.random()
    if how < 0.4 and free:
        place = random.choice(free)
        name = names[place] if place < len(names) else ""
        args[place] = other_value(random, name)
    elif how < 0.5 and args:
        place = random.choice(free if call.keep > 1 and free else range(len(args)))
        if args[place].startswith(("filled", "sampled", "torch.empty", "leaf", "result")):
            args[place] = random.choice(LAYOUTS).format(args[place])
    elif how < 0.55 and args and not (call.keep > 1 or (call.keep and (target.fixed or call.target in WRAPPERS))):
        args[0] = tensor(random)
    elif how < 0.75 and names:
        unused = [name for name in names[len(args) :] if name not in ("forward",)] or [
            name for name in names if name in kwargs
        ]
        if unused and not target.fixed:
            name = random.choice(unused)
            kwargs[name] = (
                fitting(random, target.parameters[name], name) if random.random() < 0.4 else other_value(random, name)
            )
            if name == "out" and random.random() < 0.7:
                kwargs[name] = tensor(random)
    elif how < 0.8 and kwargs:
        kwargs[random.choice(list(kwargs))] = other_value(random, "")
    elif how < 0.81 and free and not target.fixed:
        del args[random.choice(free)]
    elif how < 0.84 and len(free) > 1:
        one, other = random.sample(free, 2)
        args[one], args[other] = args[other], args[one]
    elif how < 0.85 and not (target.fixed or call.target in WRAPPERS):
        args.append(other_value(random, ""))
    elif how < 0.88 and free and not target.fixed:
        place = random.choice(free)
        args[place] = f"[{args[place]}]" if random.random() < 0.5 else f"({args[place]}, {other_value(random, '')})"
    elif free:
        place = random.choice(free)
        args[place] = random.choice(NUMBERS)
    return replace(call, args=tuple(args), kwargs=kwargs)
