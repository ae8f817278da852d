"""What PyTorch has and polyad has not is there to be imported and asked after, and says so when it is used."""

import importlib
import pickle

import pytest

import polyad
from polyad.compatibility import absent
from polyad.errors import NotSupported


@pytest.mark.parametrize("module", sorted(absent.modules()))
def test_its_modules_can_be_imported(module):
    found = importlib.import_module(f"polyad.{module}")
    assert found.__name__ == f"polyad.{module}"
    with pytest.raises(AttributeError, match="no attribute 'nobody_has_this'"):
        found.nobody_has_this()
    assert not hasattr(found, "__wrapped__")


def test_names_fail_where_they_are_used():
    import polyad.ao.quantization as quantization
    from polyad.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from polyad.nested import nested_tensor

    with pytest.raises(
        NotImplementedError, match=r"nested\.nested_tensor: tensors have one shape(.|\n)*fix +use padding"
    ):
        nested_tensor([polyad.ones(2), polyad.ones(3)])
    with pytest.raises(NotSupported):
        quantization.quantize_dynamic(polyad.nn.Linear(1, 1))
    assert not isinstance(polyad.nn.Linear(1, 1), FullyShardedDataParallel)
    assert not issubclass(int, FullyShardedDataParallel)
    with pytest.raises(NotSupported, match="not split between processes"):
        FullyShardedDataParallel(polyad.nn.Linear(1, 1))
    with pytest.raises(NotSupported, match="not split between processes"):
        ShardingStrategy.FULL_SHARD.name  # noqa: B018
    assert not hasattr(ShardingStrategy, "FULL_SHARD")
    assert polyad.package.PackageImporter.__name__ == "PackageImporter"
    assert polyad.export.ExportedProgram is polyad.export.ExportedProgram
    assert "nested_tensor" in dir(polyad.nested)


def test_modules_that_nobody_knows_are_not_found():
    for name in ("polyad.nested.nobody_has_this", "polyad.nobody_has_this"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_what_is_absent_is_no_data():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(polyad.nested.nested_tensor)
