"""PyTorch as the oracle: the same calls in polyad and in PyTorch, and what differs.

    nox -s oracle                                   everything, about ten minutes on two cores
    pytest tests/oracle -k cumsum                   one function, where PyTorch is installed
    pytest tests/oracle --oracle-examples=1000      longer; --oracle-seed=N draws other inputs

Compared are values, dtypes, shapes, strides, whether a result shares memory with an input, what a call wrote into its
inputs, gradients for a random incoming gradient, and the types of exceptions.

    calls.py         a call that can be made in both libraries: tensors as memory and layout, arguments, form
    libraries.py     the two libraries: which function is whose twin, how a call is made
    outcomes.py      what a call did, and the comparison of two outcomes
    accuracy.py      how far two results of an op may be apart
    crashes.py       what PyTorch does not survive
    undefined.py     what PyTorch leaves undefined, so that nothing can be compared
    differences/     what differs on purpose, with the reason and a call that shows it
    templates.py     valid calls of every function, from the conformance samples and from `more_calls`
    mutations.py     Hypothesis strategies: these calls with other dtypes, shapes, layouts, values and parameters
    programs.py      Hypothesis strategies: chains of ops, views and writes
    test_*.py        the tests

A new public function needs nothing here: its conformance samples are its calls. What differs on purpose goes into
`differences.DIFFERENCES`, with a call that shows it; an entry whose call no longer differs fails.

Nothing here is collected unless it is asked for, since it needs PyTorch, on which polyad does not depend.
"""
