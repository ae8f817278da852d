"""Libraries written for PyTorch, unedited, on polyad and on PyTorch: the same programs in two environments.

    python -m ecosystem GROUP --polyad PYTHON --pytorch PYTHON [-k PATTERN] [--rounds N] [--write]

`nox -s ecosystem` makes the two environments and runs every group. polyad's has no PyTorch.

    requirements/<group>.txt   what both environments of a group hold beside the tensor library, with pinned versions
    jobs/<library>.py          what is run: small functions, registered by `ecosystem.job.job`
    job.py                     what a job is given: the tensor library, numbers, weights; what it reports
    worker.py                  the process in each environment that runs the jobs of one library, each in a fork
    agreement.py               how far two results are apart, and how far they may be
    comparison.py              runs a library's jobs on both sides, and times them in turn
    results.py                 what the last runs came to, in docs/ecosystem/<library>.json
    page.py                    docs/ecosystem.md, made of these

PyTorch's side goes first and leaves the weights of its models, which polyad's loads. Numbers that a job draws come from
NumPy, with a seed, so that they are the same on both. A job that fails stays in the page, in red.

To add a library, put its version into requirements/<group>.txt and write jobs/<library>.py; `GROUPS` in comparison.py
says which library is of which group.
"""
