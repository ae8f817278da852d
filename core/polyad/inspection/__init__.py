"""Looking at programs, models and installations.

tracing.py    which kernel ran and why: `polyad.trace_dispatch`, `polyad.explain`
op_times.py   the time of each op: `polyad.autograd.profiler`
profiling.py  the same for chosen steps of a training: `polyad.profiler`
summary.py    a model as a table: `polyad.summary`
linting/      likely mistakes in a training program: `polyad.lint`
viz/          a model or a history as a picture: `polyad.utils.viz`
diagnosis/    what is installed, whether it works, what is known of ops: ``polyad doctor``, ``polyad ops``
"""
