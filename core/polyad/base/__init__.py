"""What everything stands on, and what stands on nothing but errors: no call, no tensor and no device is known here.

dtypes.py          the dtypes, their limits, which number has which
device.py          a device's name: "cuda:1"
shapes_and_strides.py  where elements lie: shapes, strides, offsets, views, as arithmetic
memory_formats.py  channels_last and its like
state.py           what a thread and the process remember: modes, gradients on or off, warnings given
trees.py           nested lists, tuples and dicts as leaves and a shape
kinds.py           annotations that say what an argument may be: `Positive`, `Probability`, ...
provided.py        functions that lower layers call and higher ones bring
locks.py           locks that a forked process finds open
extras.py          packages that an extra of polyad's brings
"""
