"""Hooks that reduce a bucket of gradients to the mean over processes, as it is or in half the bytes.

A hook is called with a group, or None for all processes, and a bucket, and returns a future of the reduced buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....base.dtypes import DType, bfloat16, float16
from ....futures import Future
from ....tensor import Tensor
from ...collectives import all_reduce
from ...grad_bucket import GradBucket
from ...groups import get_world_size

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip

Hook = Callable[[Any, GradBucket], Future[Any]]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean, in the gradients' dtype: what is done without a hook."""
    return _begin_mean(process_group, bucket.buffer())


def _begin_mean(group: Any, buffer: Tensor) -> Future[Tensor]:
    buffer.div_(get_world_size(group))
    work = all_reduce(buffer, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def _compressed(group: Any, bucket: GradBucket, dtype: DType) -> Future[Tensor]:
    wide = bucket.buffer().dtype
    return _begin_mean(group, bucket.buffer().to(dtype)).then(lambda future: future.value().to(wide))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean, sent as float16."""
    return _compressed(process_group, bucket, float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean, sent as bfloat16."""
    return _compressed(process_group, bucket, bfloat16)


def _wrap_hook(hook: Hook, dtype: DType) -> Hook:
    def compressing(state: Any, bucket: GradBucket) -> Future[Tensor]:
        wide = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(dtype))
        return hook(state, bucket).then(lambda future: future.value().to(wide))

    return compressing


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """*hook*, with buckets in float16."""
    return _wrap_hook(hook, float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """*hook*, with buckets in bfloat16."""
    return _wrap_hook(hook, bfloat16)
