"""Tensors, parameters and modules in pickles and deep copies, and in other processes."""

import copy
import copyreg
import multiprocessing
import pickle

import pytest

import polyad
from pickled import Marked, Tied, Weight, described, echo
from polyad import nn

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def a():
    return polyad.arange(6.0).reshape(2, 3)


def marked():
    tensor = polyad.ones(2).as_subclass(Marked)
    tensor.note = [1, "two"]
    return tensor


def noted():
    tensor = polyad.ones(2, requires_grad=True)
    tensor.note = "leaf"
    return tensor


TENSORS = {
    "rows": a,
    "transposed": lambda: a().t(),
    "a row": lambda: a()[1],
    "every second": lambda: polyad.arange(9)[::2],
    "expanded": lambda: polyad.ones(1).expand(4),
    "empty": lambda: polyad.empty(0, 3),
    "number": lambda: polyad.tensor(3, dtype=polyad.int16),
    "bool": lambda: polyad.tensor([True, False]),
    "bfloat16": lambda: polyad.tensor([1.5, -2.0], dtype=polyad.bfloat16),
    "complex": lambda: polyad.tensor([1 + 2j]),
    "conjugate": lambda: polyad.tensor([1 + 2j]).conj(),
    "leaf": noted,
    "parameter": lambda: nn.Parameter(a()),
    "frozen parameter": lambda: nn.Parameter(a(), requires_grad=False),
    "subclass": marked,
    "subclass of Parameter": lambda: Weight(polyad.ones(2)),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_comes_back_as_it_was(name, protocol):
    tensor = TENSORS[name]()
    again = pickle.loads(pickle.dumps(tensor, protocol=protocol))
    assert described(again) == described(tensor)
    if again.dtype is not polyad.bool:
        with polyad.no_grad():
            again.add_(1)  # its memory is its own, and can be written to
        assert described(tensor) == described(TENSORS[name]())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_object_stays_one_object_and_shared_memory_is_divided(protocol):
    tensor = a()
    first, same, row = pickle.loads(pickle.dumps((tensor, tensor, tensor[0]), protocol=protocol))
    assert first is same
    row.add_(10)
    assert first.tolist() == a().tolist()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_history_and_gradient_stay_behind(protocol):
    leaf = noted()
    result = leaf * 3
    result.sum().backward()
    again = pickle.loads(pickle.dumps(leaf, protocol=protocol))
    assert (again.grad, again.requires_grad) == (None, True)
    of_result = pickle.loads(pickle.dumps(leaf * 3, protocol=protocol))
    assert (of_result.is_leaf, of_result.requires_grad, of_result.tolist()) == (True, True, [3, 3])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_module_comes_back_with_what_is_tied(protocol):
    model = Tied().eval()
    again = pickle.loads(pickle.dumps(model, protocol=protocol))
    x = polyad.ones(1, 3)
    assert again(x).tolist() == model(x).tolist()
    assert again.first.weight is again.second.weight
    assert (list(again.state_dict()), again.training) == (list(model.state_dict()), False)
    assert isinstance(again.first.weight, nn.Parameter)
    with polyad.no_grad():
        again.first.weight.zero_()
    assert model.first.weight.abs().sum().item() > 0


def test_data_out_of_band_is_not_copied():
    tensor = polyad.arange(1000)
    buffers = []
    text = pickle.dumps(tensor, protocol=5, buffer_callback=buffers.append)
    assert len(text) < 1000
    assert [buffer.raw().nbytes for buffer in buffers] == [8000]
    again = pickle.loads(text, buffers=[bytearray(buffer.raw()) for buffer in buffers])
    assert again.tolist() == list(range(1000))
    shown = pickle.loads(text, buffers=buffers)
    shown[0] = 7
    assert tensor[0].item() == 7


def test_what_belongs_to_tensors():
    for value in (polyad.float32, polyad.Size([1, 2]), polyad.device("cpu"), polyad.contiguous_format):
        for protocol in PROTOCOLS:
            again = pickle.loads(pickle.dumps(value, protocol=protocol))
            assert again == value
            assert type(again) is type(value)
        assert copy.deepcopy(value) == value
    generator = polyad.Generator().manual_seed(5)
    polyad.rand(3, generator=generator)
    for again in (pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator)):
        assert polyad.rand(3, generator=again).tolist() == polyad.rand(3, generator=copy.copy(generator)).tolist()


def test_a_reducer_of_the_users_comes_first():
    """As for any other class: ``copyreg``, and the table of a pickler."""
    import io

    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.dispatch_table = copyreg.dispatch_table.copy()
    pickler.dispatch_table[polyad.Tensor] = lambda tensor: (str, ("replaced",))
    pickler.dump([polyad.ones(1)])
    assert pickle.loads(file.getvalue()) == ["replaced"]
    assert pickle.loads(pickle.dumps(polyad.ones(1))).tolist() == [1]


# ---------------------------------------------------------------------------------------------------------- deep copies


@pytest.mark.parametrize("name", TENSORS)
def test_a_deep_copy_is_equal_and_apart(name):
    tensor = TENSORS[name]()
    again = copy.deepcopy(tensor)
    assert described(again) == described(tensor)
    assert again.stride() == tensor.stride()
    if "note" in vars(tensor) and isinstance(tensor.note, list):
        assert again.note is not tensor.note
    if again.dtype is not polyad.bool and name != "expanded":
        with polyad.no_grad():
            again.add_(1)
        assert described(tensor) == described(TENSORS[name]())


def test_a_deep_copy_keeps_sharing_and_gradients():
    tensor = a()
    whole, row = copy.deepcopy((tensor, tensor[0]))
    row.add_(10)
    assert whole.tolist() == [[10, 11, 12], [3, 4, 5]]
    assert tensor.tolist() == a().tolist()
    leaf = noted()
    (leaf * 3).sum().backward()
    again = copy.deepcopy(leaf)
    assert again.grad.tolist() == [3, 3]
    again.grad.zero_()
    assert leaf.grad.tolist() == [3, 3]
    model = copy.deepcopy(Tied())
    assert model.first.weight is model.second.weight


def test_a_result_with_history_is_not_deeply_copied():
    with pytest.raises(RuntimeError, match="only leaf tensors"):
        copy.deepcopy(noted() * 2)


def test_a_shallow_copy_shows_the_same_memory():
    tensor = a()
    copy.copy(tensor).add_(1)
    assert tensor.tolist() == [[1, 2, 3], [4, 5, 6]]


# ------------------------------------------------------------------------------------------------------ other processes


@pytest.mark.parametrize("method", [m for m in ("spawn", "forkserver") if m in multiprocessing.get_all_start_methods()])
def test_tensors_in_another_process(method):
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=echo, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        for make in TENSORS.values():
            tensor = make()
            ours.send(tensor)
            seen, again = ours.recv()
            assert seen == described(again) == described(tensor)
        model = Tied()
        ours.send(model)
        again = ours.recv()[1]
        assert again.first.weight is again.second.weight
        assert again(polyad.ones(1, 3)).tolist() == model(polyad.ones(1, 3)).tolist()
        ours.send({"nested": [a(), nn.Parameter(a())]})
        nested = ours.recv()[1]["nested"]
        assert [described(each) for each in nested] == [described(a()), described(nn.Parameter(a()))]
    finally:
        ours.send(None)
        process.join(60)
    assert process.exitcode == 0
