"""How a backend is tested: one module a subject, functions that raise AssertionError and know nothing of pytest.

    values.py      value, dtype and shape; NaN and infinity; layouts; inputs unchanged, results not aliased;
                   the method form
    lengths.py     each op on lengths around those of vectors and blocks of work
    extremes.py    huge and tiny numbers
    integers.py    integers of the whole range of their dtypes; sums past 2**31
    rounding.py    what IEEE 754 prescribes; numbers from Python with all their digits
    large.py       what lengths.py cannot make longer: scatters, sorting, products, windows; many dimensions
    promotion.py   mixed dtypes, 0-d tensors and numbers against PyTorch's table
    gradients.py   first gradients against finite differences of the reference, second ones against those of the first
    writing.py     in-place forms, their versions, and ``out=``
    overrides.py   a fused kernel against the op's decomposition
    errors.py      refused calls: type, message, inputs unchanged
    storage.py     tier 0: memory, copies, casts, fill, strided windows
    ordering.py    tier 0: work that has not finished, memory that was given up, threads
    streams.py     tier 0: streams, events, pinned memory
    accounts.py    tier 0: what is declared, the allocator's account, memory that is not there
    guards.py      memory beside a call's results
    devices.py     mixed devices
    distributions.py  samples, densities and gradients of distributions against those of the host
    modules.py     layers: results, gradients, modes, state, moves, refused shapes
    training.py    a small training run against the same run in NumPy

A check is ``check(sample, dtype, target)`` or ``check(target)``: `polyad_conformance.calls.Target` is the device under
test.
"""
