"""The names that PyTorch has and polyad has not, where there are many of a kind; `polyad.compatibility.absent` says of
each kind why, and what to use instead.
"""

from __future__ import annotations

__all__ = ["BY_PROCESSES", "COMPILED", "EXPORTED", "MASKED_BLOCKS", "NESTED", "PACKAGED", "QUANTIZED", "SPARSE"]


def _in(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" if module else name for name in names.split())


SPARSE = _in(
    "sparse",
    """
    SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS
    as_sparse_gradcheck to_sparse_semi_structured
    """,
)

NESTED = (
    *_in(
        "nested",
        """
        as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged
        to_padded_tensor
        """,
    ),
)

QUANTIZED = (
    *_in(
        "ao.quantization",
        """
        DeQuantStub FakeQuantize HistogramObserver MinMaxObserver QConfig QConfigMapping QuantStub
        QuantWrapper convert default_dynamic_qconfig default_qconfig fuse_modules fuse_modules_qat
        get_default_qat_qconfig get_default_qconfig get_default_qconfig_mapping prepare prepare_qat
        quantize quantize_dynamic
        """,
    ),
    *_in(
        "quantization",
        """
        DeQuantStub FakeQuantize HistogramObserver MinMaxObserver QConfig QConfigMapping QuantStub
        QuantWrapper convert default_dynamic_qconfig default_qconfig fuse_modules fuse_modules_qat
        get_default_qat_qconfig get_default_qconfig get_default_qconfig_mapping prepare prepare_qat
        quantize quantize_dynamic
        """,
    ),
    *_in(
        "",
        """
        dequantize int_repr quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic
        """,
    ),
)

PACKAGED = (
    *_in(
        "package",
        """
        EmptyMatchError Importer OrderedImporter PackageExporter PackageImporter PackagingError
        is_from_package sys_importer
        """,
    ),
)

EXPORTED = (
    *_in(
        "export",
        """
        Constraint
        """,
    ),
)

COMPILED = (
    *_in(
        "compiler",
        """
        keep_portable_guards_unsafe keep_tensor_guards_unsafe load_cache_artifacts
        load_compiled_function save_cache_artifacts skip_all_guards_unsafe
        skip_guard_on_all_nn_modules_unsafe skip_guard_on_globals_unsafe
        skip_guard_on_inbuilt_nn_modules_unsafe
        """,
    ),
)

MASKED_BLOCKS = (
    *_in(
        "nn.attention.flex_attention",
        """
        FlexKernelOptions
        """,
    ),
)

BY_PROCESSES = (
    *_in(
        "distributed",
        """
        AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BackendConfig
        BarrierOptions BroadcastOptions DeviceMesh GatherOptions GroupName
        ProcessGroupGloo ReduceOptions ReduceScatterOptions ScatterOptions breakpoint
        get_backend_config
        init_device_mesh record_comm shrink_group
        """,
    ),
    *_in(
        "distributed.rpc",
        """
        BackendType RRef RpcBackendOptions TensorPipeRpcBackendOptions WorkerInfo get_worker_info
        init_rpc remote rpc_async rpc_sync shutdown
        """,
    ),
    *_in(
        "distributed.checkpoint",
        """
        BytesStorageMetadata CheckpointException ChunkStorageMetadata DefaultLoadPlanner
        DefaultSavePlanner FileSystemReader FileSystemWriter HuggingFaceStorageReader
        HuggingFaceStorageWriter LoadPlan LoadPlanner Metadata QuantizedHuggingFaceStorageReader
        ReadItem SavePlan SavePlanner StorageReader StorageWriter TensorStorageMetadata WriteItem
        async_save load load_sharded_optimizer_state_dict load_state_dict save save_state_dict
        """,
    ),
    *_in(
        "distributed.checkpoint.state_dict",
        """
        StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict set_model_state_dict
        set_optimizer_state_dict set_state_dict
        """,
    ),
    *_in("distributed.checkpoint.optimizer", "load_sharded_optimizer_state_dict"),
    *_in("distributed.algorithms.join", "Join JoinHook Joinable"),
    *_in("distributed.checkpoint._consolidate_hf_safetensors", "consolidate_safetensors_files"),
    *_in("distributed.checkpoint.default_planner", "DefaultLoadPlanner DefaultSavePlanner"),
    *_in("distributed.checkpoint.hf_storage", "HuggingFaceStorageReader HuggingFaceStorageWriter"),
    *_in("distributed._functional_collectives", "all_to_all_single_autograd wait_tensor"),
    *_in("distributed.pipelining", "ScheduleGPipe SplitPoint pipeline"),
    *_in("distributed.tensor._utils", "compute_local_shape_and_global_offset"),
    *_in("distributed.tensor.experimental", "context_parallel"),
    *_in("distributed.tensor.placement_types", "_StridedShard"),
    *_in("distributed.checkpoint.format_utils", "dcp_to_torch_save torch_save_to_dcp"),
    *_in("distributed.checkpoint.state_dict_loader", "_load_state_dict load load_state_dict"),
    *_in("distributed.algorithms", "Join JoinHook Joinable"),
    *_in(
        "distributed.algorithms._checkpoint.checkpoint_wrapper",
        "CheckpointImpl CheckpointWrapper apply_activation_checkpointing checkpoint_wrapper",
    ),
    *_in("distributed.algorithms.ddp_comm_hooks.post_localSGD_hook", "PostLocalSGDState post_localSGD_hook"),
    *_in("distributed.algorithms.model_averaging.averagers", "ModelAverager PeriodicModelAverager"),
    *_in("distributed._composable", "checkpoint contract fully_shard replicate"),
    *_in("distributed._composable.fsdp", "FSDPModule MixedPrecisionPolicy fully_shard"),
    *_in("distributed._tensor", "DTensor DeviceMesh distribute_module distribute_tensor"),
    *_in("distributed.fsdp.api", "FullStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictType"),
    *_in("distributed.fsdp.fully_sharded_data_parallel", "FullyShardedDataParallel MixedPrecision ShardingStrategy"),
    *_in("distributed.fsdp.sharded_grad_scaler", "ShardedGradScaler"),
    *_in(
        "distributed.fsdp.wrap",
        """
        CustomPolicy ModuleWrapPolicy always_wrap_policy enable_wrap lambda_auto_wrap_policy
        size_based_auto_wrap_policy transformer_auto_wrap_policy wrap
        """,
    ),
    *_in(
        "distributed.device_mesh",
        """
        DeviceMesh init_device_mesh
        """,
    ),
    *_in(
        "distributed.fsdp",
        """
        BackwardPrefetch CPUOffload CPUOffloadPolicy DataParallelMeshDims FSDPModule
        FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel
        LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision MixedPrecisionPolicy
        OffloadPolicy OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig
        ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings StateDictType
        UnshardHandle fully_shard register_fsdp_forward_method share_comm_ctx
        """,
    ),
    *_in(
        "distributed.optim",
        """
        DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer as_functional_optim
        """,
    ),
    *_in(
        "distributed.tensor",
        """
        DTensor distribute_module distribute_tensor empty full
        ones rand randn zeros
        """,
    ),
    *_in(
        "distributed.tensor.parallel",
        """
        ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput
        PrepareModuleOutput RowwiseParallel SequenceParallel loss_parallel parallelize_module
        """,
    ),
)
