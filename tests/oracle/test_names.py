"""Every public function and method of PyTorch's namespaces of tensors is here, or has a reason why it is not."""

from __future__ import annotations

import re
from functools import reduce
from types import ModuleType
from typing import Any

import pytest
import torch

import polyad

NAMESPACES = ("", "Tensor", "nn.functional", "linalg", "fft", "special")

REASONS: dict[str, str] = {
    r".*quantize.*|q_.*|qscheme|int_repr|fbgemm_.*|empty_quantized|fake_quantize.*|fused_moving_avg_obs_fake_quant"
    r"|choose_qparams_optimized": "no quantized tensors",
    r"(ccol_|col_|crow_|row_)?indices_copy|values_copy|sparse_resize_.*|resize_as_sparse_|slice_inverse|smm|sspaddmm"
    r"|to_padded_tensor": "of sparse tensors alone, or of nested ones",
    r"cudnn_.*|miopen_.*|mkldnn_.*|to_mkldnn|is_vulkan_available|ipu|mtia|xpu|profiler_allow_.*": "of one vendor",
    r"native_.*|batch_norm_.*|convolution|grid_sampler_[23]d|embedding_bag|conv_tbc|.*max_pool[123]d_with_indices"
    r"|hash_tensor": "a layer below nn.functional, of which programs use the upper one",
    r".*autocast.*": "no mixed precision yet",
    r"eig|lstsq|matrix_rank|solve|symeig": "removed from PyTorch: raises there",
    r"sym_.*|cond|while_loop|fork|wait|import_ir_.*|parse_.*|merge_type_.*|unify_type_list|get_file_path"
    r"|boolean_dispatch|assert_int_or_pair|(handle|has)_torch_function.*|classproperty|Optional": "of PyTorch's"
    " compilers, and of how its Python is written",
    r"is_distributed|prepare_multiprocessing_environment|from_file": "several processes come with what needs them",
    r"chalf": "no complex32",
    r"reinforce|resize|resize_as|index|module_load|const_data_ptr": "left over from old PyTorch, or not documented",
    r"(get|set)_deterministic_debug_mode|is_warn_always_enabled|set_warn_always|set_anomaly_enabled|set_flush_denormal"
    r"|init_num_threads|thread_safe_generator|get_device_module|compiled_with_cxx11_abi": "settings of PyTorch's"
    " library",
}
"""Names, as regular expressions, with the reason why polyad has them not."""


def _public(owner: Any) -> set[str]:
    names = {name for name in dir(owner) if not name.startswith("_")}
    return {name for name in names if callable(value := getattr(owner, name)) and not isinstance(value, _NO_FUNCTIONS)}


_NO_FUNCTIONS = (type, ModuleType)


def missing(namespace: str) -> set[str]:
    """The functions of PyTorch's *namespace* that polyad's has not."""
    path = [part for part in namespace.split(".") if part]
    theirs, ours = reduce(getattr, path, torch), reduce(getattr, path, polyad)
    return {name for name in _public(theirs) if not hasattr(ours, name)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_names(namespace: str) -> None:
    lacking = {name for name in missing(namespace) if not any(re.fullmatch(rule, name) for rule in REASONS)}
    assert not lacking, f"polyad.{namespace} lacks {sorted(lacking)}; bring them, or say why not in REASONS"


@pytest.mark.filterwarnings("ignore")
def test_the_list_is_up_to_date() -> None:
    names = set().union(*(missing(namespace) for namespace in NAMESPACES))
    stale = [
        rule for rule in REASONS for part in rule.split("|") if not any(re.fullmatch(rule, name) for name in names)
    ]
    assert not stale, f"delete these entries of REASONS: {stale}"
