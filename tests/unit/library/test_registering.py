"""Ops that a schema defines: `Library`, `define`, `impl`, and schemas as texts."""

import copy
import gc
import pickle

import pytest

import polyad
from polyad import _C, library
from polyad.library import Library, define, impl, opcheck
from polyad.library.parsing import parse_schema
from polyad.library.registering import _scoped_library


@pytest.fixture
def lib():
    with _scoped_library("reg", "DEF") as made:
        yield made


@pytest.mark.parametrize(
    "text",
    [
        "n::f(Tensor x) -> Tensor",
        "n::f.out(Tensor a, Scalar b=2, *, Tensor(a!) out) -> Tensor(a!)",
        "f(Tensor(a) self, int[2]? size=None, str mode='x', bool[3] m=[True, False, True]) -> (Tensor(a), int)",
        "f(Tensor?[] xs, SymInt n, float e=1e-05, *, ScalarType? dtype=None) -> Tensor[]",
        "f() -> ()",
        "f(Tensor(a!)[] xs, *, Tensor(a -> *) y) -> (Tensor values, Tensor indices)",
    ],
)
def test_a_schema_is_read_and_written_again(text):
    assert str(parse_schema(text)) == text


def test_what_a_schema_says():
    schema = parse_schema("f(Tensor(a!) x, int[2] n=3, *, float s=1) -> Tensor")
    first, n, s = schema.arguments
    assert first.alias_info.is_write
    assert first.alias_info.before_set == {"a"}
    assert (n.default_value, n.has_default_value(), n.length) == (3, True, 2)
    assert s.kwarg_only
    assert isinstance(s.default, float)
    assert schema.is_mutable
    assert schema.written == ("x",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f(Tensor x -> Tensor", "expected ,, found ->"),
        ("f(Foo x) -> Tensor", "Foo is no type"),
        ("f(Tensor x)", "expected ->, found its end"),
        ("f(Tensor x, Tensor x) -> Tensor", "x is no name of an argument"),
        ("f(Tensor[x] y) -> Tensor", "x is no length"),
        ("f(Tensor x) -> Tensor y z", "expected its end, found z"),
        ("f(int x=?) -> Tensor", "\\? is no value"),
    ],
)
def test_a_schema_that_cannot_be_read(text, problem):
    with pytest.raises(RuntimeError, match=problem):
        parse_schema(text)
    with pytest.raises(ValueError, match=problem):
        define("reg::bad", text[1:])


def test_kernels_come_later_and_may_be_overloads(lib):
    assert lib.define("scale(Tensor x, float factor=2.0) -> Tensor") == "scale"
    assert lib.define("scale.both(Tensor x, Tensor y) -> Tensor") == "scale.both"
    op, x = polyad.ops.reg.scale, polyad.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="reg::scale: it has no kernel for cpu"):
        op(x)
    lib.impl("scale", lambda x, factor=2.0: x * factor, "CPU")
    lib.impl(op.both, lambda x, y: x + y, "CompositeExplicitAutograd")
    op(x, 3.0).sum().backward()  # the kernel's ops have the gradient
    assert x.grad.tolist() == [3, 3]
    assert op(x, polyad.ones(2)).tolist() == [2, 2]
    assert op.overloads() == ["default", "both"]
    assert pickle.loads(pickle.dumps(op.both)) is op.both is copy.deepcopy(op.both)
    assert dir(polyad.ops.reg) == ["scale"]
    assert str(op.default._schema) == "reg::scale(Tensor x, float factor=2.0) -> Tensor"
    with pytest.raises(AttributeError, match="no overload name 'none'"):
        op.none  # noqa: B018
    with pytest.raises(RuntimeError, match="defined already"):
        lib.define("scale(Tensor x) -> Tensor")
    assert set(opcheck(op.default, (x,)).values()) == {"SUCCESS"}


def test_autograd_and_autocast_are_asked_before_the_op(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.clone(), "CPU")
    seen = []

    class Once(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with _C._AutoDispatchBelowAutograd():
                return polyad.ops.reg.f(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    def autocast_kernel(x):
        seen.append(x.dtype)
        with _C._ExcludeDispatchKeyGuard(_C.DispatchKeySet(_C.DispatchKey.AutocastCPU)):
            return polyad.ops.reg.f(x.to(polyad.bfloat16))

    lib.impl("f", Once.apply, "Autograd")
    lib.impl("f", autocast_kernel, "AutocastCPU")
    x = polyad.ones(1, requires_grad=True)
    polyad.ops.reg.f(x).backward()
    assert x.grad.item() == 7
    assert seen == []
    with polyad.autocast("cpu"):
        assert polyad.ops.reg.f(x).dtype is polyad.bfloat16
    assert seen == [polyad.float32]


def test_views_writes_and_other_results(lib):
    lib.define("half(Tensor(a) x) -> Tensor(a)")
    lib.define("fill_(Tensor(a!) x, float value) -> ()")
    lib.define("count(Tensor x) -> int")
    lib.define("pair(Tensor x, int[2] by) -> (Tensor, Tensor)")
    impl(lib, "half", "CompositeImplicitAutograd")(lambda x: x[: len(x) // 2])
    impl("reg::fill_", "default", lambda x, value: [x.fill_(value)][1:] or None, lib=lib)
    lib.impl("count", lambda x: x.numel(), "CPU")
    lib.impl("pair", lambda x, by: (x * by[0], x * by[1]), "CPU")
    x = polyad.zeros(4)
    polyad.ops.reg.fill_(polyad.ops.reg.half(x), 2.0)
    assert x.tolist() == [2, 2, 0, 0]
    assert polyad.ops.reg.count(x) == 4
    assert [part.tolist() for part in polyad.ops.reg.pair(x, 3)] == [[6, 6, 0, 0]] * 2
    with pytest.raises(TypeError, match=r"by is float 1\.5|by is float, not of type int"):
        polyad.ops.reg.pair(x, 1.5)


def test_definitions_go_with_their_library():
    library_of_its_own = Library("gone", "DEF")
    library_of_its_own.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="another library defines the namespace gone"):
        Library("gone", "DEF")
    assert hasattr(polyad.ops.gone, "f")
    del library_of_its_own
    gc.collect()
    assert not hasattr(polyad.ops.gone, "f")


def test_kernels_before_their_op(lib):
    kernels = Library("reg", "IMPL")
    kernels.impl("early", lambda x: x + 1, "CPU")
    impl("reg::early2.default", "cpu", lambda x: x * 3, lib=kernels)
    assert not hasattr(polyad.ops.reg, "early")
    for name in ("early", "early2"):
        lib.define(f"{name}(Tensor x) -> Tensor")
    assert polyad.ops.reg.early(polyad.ones(2)).tolist() == [2.0, 2.0]
    assert polyad.ops.reg.early2(polyad.ones(2)).tolist() == [3.0, 3.0]
    kernels.impl("never", abs, "CPU")
    del kernels
    gc.collect()
    lib.define("never(Tensor x) -> Tensor")
    for name in ("early", "never"):
        with pytest.raises(NotImplementedError, match="no kernel for cpu"):
            getattr(polyad.ops.reg, name)(polyad.ones(2))


def test_what_is_refused(lib):
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="'Nonsense' is no dispatch key"):
        lib.impl("f", abs, "Nonsense")
    with pytest.raises(NotImplementedError, match="Functionalize"):
        lib.impl("f", abs, "Functionalize")
    with pytest.raises(NotImplementedError, match="plug-in"):
        Library("aten", "IMPL").impl("add.Tensor", abs, "CPU")
    with pytest.raises(RuntimeError, match="'Nonsense' is no dispatch key"):
        lib.impl("g", abs, "Nonsense")
    with pytest.raises(NotImplementedError, match="Triton"):
        library.triton_op("reg::t", mutates_args=())
    with pytest.raises(NotImplementedError, match="depends on data"):
        library.get_ctx().new_dynamic_size()
    with pytest.raises(ValueError, match="mutates_args and the schema differ"):
        library.custom_op("reg::h", mutates_args=("x",), schema="(Tensor x) -> Tensor")(abs)
