"""`polyad.utils.data.collate` at PyTorch's path."""

from polyad.utils.data.collate import collate, default_collate, default_collate_fn_map, default_convert, plainly

__all__ = [
    "collate", "collate_float_fn", "collate_int_fn", "collate_numpy_array_fn", "collate_numpy_scalar_fn",
    "collate_str_fn", "collate_tensor_fn", "default_collate", "default_collate_fn_map", "default_convert",
]  # fmt: skip

collate_tensor_fn = plainly
collate_numpy_array_fn = plainly
collate_numpy_scalar_fn = plainly
collate_float_fn = plainly
collate_int_fn = plainly
collate_str_fn = plainly
