"""Functions of the user's as ops."""

import re
from collections.abc import Iterator, Sequence

import pytest

import polyad
from polyad import Tensor
from polyad.library import CustomOpError, custom_op, infer_schema, opcheck
from polyad.library.definition import DEFINED


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    before = dict(DEFINED)
    yield
    DEFINED.clear()
    DEFINED.update(before)


def sine():
    """sin by way of NumPy, with a gradient in ops."""

    @custom_op("test::sine", mutates_args=())
    def sine(x: Tensor, scale: float = 1.0) -> Tensor:
        return polyad.from_numpy(scale * numpy_sin(x))

    sine.register_autograd(
        lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None),
        setup_context=lambda ctx, inputs, output: (
            ctx.save_for_backward(inputs[0]),
            setattr(ctx, "scale", inputs[1]),
        ),
    )
    return sine


def numpy_sin(x):
    import numpy

    return numpy.sin(x.numpy()).astype(x.numpy().dtype)


def test_a_call_computes_and_differentiates_twice() -> None:
    op, x = sine(), polyad.tensor([0.5, 1.0], dtype=polyad.float64, requires_grad=True)
    out = op(x, 2.0)
    assert polyad.allclose(out, 2 * x.sin())
    assert out.grad_fn.name() == "test::sineBackward"
    (slope,) = polyad.autograd.grad(out.sum(), x, create_graph=True)
    slope.sum().backward()
    assert polyad.allclose(x.grad, -2 * x.sin())
    assert polyad.autograd.gradcheck(op, x)


def test_it_is_found_by_namespace_and_name() -> None:
    op, x = sine(), polyad.ones(2)
    assert repr(polyad.ops.test.sine) == "<OpOverloadPacket(op='test.sine')>"
    assert polyad.ops.test.sine(x).tolist() == op(x).tolist()
    assert polyad.ops.test.sine.default(x).tolist() == op(x).tolist()

    @custom_op("linalg::thing", mutates_args=())
    def thing(x: Tensor) -> Tensor:
        return x * 1

    assert polyad.ops.linalg.__name__ == "polyad.ops.linalg"
    assert polyad.ops.linalg.thing.default._call is thing

    @custom_op("attention::flash", mutates_args=())  # a path that a family once had
    def flash(x: Tensor) -> Tensor:
        return x * 1

    assert polyad.ops.attention.flash.default._call is flash


def test_what_is_not_registered_is_said_when_it_is_needed() -> None:
    @custom_op("test::plain", mutates_args=())
    def plain(x: Tensor) -> Tensor:
        return x * 2

    out = plain(polyad.ones(2, requires_grad=True))
    assert out.requires_grad
    with pytest.raises(
        RuntimeError,
        match=r"test::plain: it has no gradient\n.*library\.register_autograd",
    ):
        out.sum().backward()


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda g: g[:1], r"test::wrong: backward \(test_custom_op\.py:\d+\): gradient 0 has another shape"),
        (lambda g: (g, g), r"test::wrong: backward \(test_custom_op\.py:\d+\) returned 2 gradients for 1 arguments"),
    ],
)
def test_wrong_gradients_are_told_with_op_and_line(returned, words) -> None:
    @custom_op("test::wrong", mutates_args=())
    def wrong(x: Tensor) -> Tensor:
        return x * 2

    wrong.register_autograd(lambda ctx, g: returned(g))
    with pytest.raises(RuntimeError, match=words):
        wrong(polyad.ones(2, 2, requires_grad=True)).sum().backward()


def test_lists_of_tensors_keywords_and_several_results() -> None:
    seen = {}

    @custom_op("test::mix", mutates_args=())
    def mix(xs: Sequence[Tensor], y: Tensor | None = None, *, factor: float = 2.0) -> tuple[Tensor, Tensor]:
        total = xs[0] * factor
        for x in xs[1:]:
            total = total + x
        return total, total * 0 if y is None else y * factor

    def setup_context(ctx, inputs, output, keyword_only_inputs):
        seen["inputs"], ctx.factor = len(inputs), keyword_only_inputs["factor"]
        seen["needs"] = ctx.needs_input_grad

    def backward(ctx, of_total, of_y):
        return [of_total * ctx.factor, of_total], of_y * ctx.factor

    mix.register_autograd(backward, setup_context=setup_context)
    a, b, y = (polyad.ones(2, requires_grad=True) for _ in range(3))
    first, second = mix([a, b], y, factor=3.0)
    (first + second).sum().backward()
    assert seen == {"inputs": 2, "needs": ([True, True], True, False)}
    assert [one.grad.tolist() for one in (a, b, y)] == [[3.0, 3.0], [1.0, 1.0], [3.0, 3.0]]
    first, second = mix([a, b])
    assert second.tolist() == [0.0, 0.0]


def test_a_list_of_results() -> None:
    @custom_op("test::split", mutates_args=())
    def split(x: Tensor) -> list[Tensor]:
        return [x[:1].clone(), x[1:].clone()]

    split.register_autograd(lambda ctx, grads: polyad.cat(grads) * 10)
    x = polyad.ones(3, requires_grad=True)
    one, two = split(x)
    (one.sum() + 2 * two.sum()).backward()
    assert x.grad.tolist() == [10.0, 20.0, 20.0]


def test_writing_ops_count_as_writes_and_refuse_gradients() -> None:
    @custom_op("test::fill", mutates_args=("x",))
    def fill(x: Tensor, value: float) -> None:
        x.numpy()[...] = value

    x = polyad.zeros(2)
    assert fill(x, 3.0) is None
    assert x.tolist() == [3.0, 3.0]
    assert x._version == 1
    w = polyad.ones(2, requires_grad=True)
    y = (w * x).sum()
    fill(x, 4.0)
    with pytest.raises(RuntimeError, match=r"changed in place(.|\n)*by test::fill"):
        y.backward()
    with pytest.raises(RuntimeError, match="test::fill: it writes into x, and has no gradient"):
        fill(w, 1.0)
    with polyad.no_grad():
        fill(w, 5.0)
    assert w.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="writes into its arguments"):
        fill.register_autograd(lambda ctx, g: g)
    assert opcheck(fill, (x, 2.0))["test_schema"] == "SUCCESS"


def test_modes_see_one_op() -> None:
    op = sine()
    graph = polyad.jit.capture(lambda x: op(x + 1) * 2, polyad.ones(3))
    assert [node.name for node in graph] == ["add", "test::sine", "mul"]
    x = polyad.tensor([0.0, 1.0, 2.0], requires_grad=True)
    assert polyad.allclose(graph(x), 2 * (x + 1).sin())
    graph(x).sum().backward()
    assert polyad.allclose(x.grad, 2 * (x + 1).cos())
    with polyad.trace_dispatch() as log:
        op(polyad.ones(2))
    assert "test::sine" in [entry.op for entry in log]


def test_arguments_are_checked_against_the_schema() -> None:
    op = sine()
    with pytest.raises(TypeError, match="test::sine: x is float, not a tensor"):
        op(3.0)
    with pytest.raises(TypeError, match="test::sine: scale is Tensor, not of type float"):
        op(polyad.ones(1), polyad.ones(1))
    with pytest.raises(TypeError, match=r"test::sine: missing a required argument: 'x'\n.*sine\(Tensor x, float"):
        op()


def test_results_are_checked_against_the_schema() -> None:
    @custom_op("test::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    @custom_op("test::view", mutates_args=())
    def view(x: Tensor) -> Tensor:
        return x[1:]

    @custom_op("test::number", mutates_args=())
    def number(x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 1, 5

    x = polyad.ones(3)
    for op in (same, view):
        with pytest.raises(
            CustomOpError, match=r"test::\w+ \(test_custom_op\.py:\d+\): a result is x, or a view of it"
        ):
            op(x)
    with pytest.raises(CustomOpError, match="returned tuple of Tensor, int, not 2 tensors"):
        number(x)


@pytest.mark.parametrize(
    ("function", "mutates", "words"),
    [
        (lambda x: x, (), "parameter x has no annotation"),
        ("x: Tensor", (), "the result has no annotation"),
        ("*xs: Tensor", (), "an op has no *xs"),
        ("x: dict", (), "parameter x is of a type that no op takes: <class 'dict'>"),
        ("x: Tensor", ("y",), "mutates_args names y, which is no argument"),
        ("x: int", ("x",), "mutates_args names x, which is no tensor"),
        ("x: Tensor", "x", "mutates_args is 'x'"),
    ],
)
def test_functions_without_a_schema(function, mutates, words) -> None:
    if isinstance(function, str):
        scope: dict = {"Tensor": Tensor}
        exec(f"def function({function}){'' if 'result' in words else ' -> Tensor'}: ...", scope)
        function = scope["function"]
    with pytest.raises(ValueError, match=re.escape(f"test::bad: {words}")):
        custom_op("test::bad", function, mutates_args=mutates)
    with pytest.raises(ValueError, match="'bad' has no namespace"):
        custom_op("bad", function, mutates_args=())


def test_schemas_as_text() -> None:
    def function(
        x: Tensor, ys: list[Tensor], z: Tensor | None, n: Sequence[int], *, kind: polyad.dtype | None = None
    ) -> tuple[Tensor, Tensor]: ...

    wanted = "(Tensor x, Tensor(a1!)[] ys, Tensor? z, int[] n, *, ScalarType? kind=None) -> (Tensor, Tensor)"
    assert infer_schema(function, mutates_args=["ys"]) == wanted


def test_kernels_by_device() -> None:
    @custom_op("test::where", mutates_args=(), device_types="nowhere")
    def where(x: Tensor) -> Tensor:
        return x * 1

    with pytest.raises(NotImplementedError, match="test::where: it has no kernel for cpu"):
        where(polyad.ones(1))

    @where.register_kernel("cpu")
    def _(x):
        return x * 2

    assert where(polyad.ones(1)).tolist() == [2.0]
    polyad.library.register_kernel("test::where", None, lambda x: x * 3)
    with where.set_kernel_enabled("cpu", False):
        assert where(polyad.ones(1)).tolist() == [3.0]
    assert where(polyad.ones(1)).tolist() == [2.0]
    with pytest.raises(ValueError, match="there is no custom op 'test::nothing'"):
        polyad.library.register_kernel("test::nothing", "cpu", lambda x: x)


def test_vmap_with_a_rule_and_without(recwarn) -> None:
    op = sine()
    batch = polyad.randn(4, 3)
    assert polyad.allclose(polyad.func.vmap(op)(batch), batch.sin())
    assert polyad.allclose(polyad.func.vmap(op, in_dims=1)(batch), batch.sin().T)
    calls = []

    @op.register_vmap
    def _(info, in_dims, x, scale):
        calls.append((info.batch_size, in_dims))
        return op(x, scale), in_dims[0]

    assert polyad.allclose(polyad.func.vmap(op)(batch), batch.sin())
    assert calls == [(4, (0, None))]


def test_transforms_nest_around_an_op() -> None:
    op, x = sine(), polyad.randn(4, 3, dtype=polyad.float64)
    op.register_vmap(lambda info, in_dims, x, scale: (op(x, scale), in_dims[0]))
    func = polyad.func
    for slope in (
        func.vmap(func.grad(lambda row: op(row).sum()))(x),
        func.grad(lambda batch: func.vmap(op)(batch).sum())(x),
        func.jvp(op, (x,), (polyad.ones_like(x),))[1],
    ):
        assert polyad.allclose(slope, x.cos())


def test_opcheck_finds_what_is_wrong() -> None:
    @custom_op("test::bad", mutates_args=())
    def bad(x: Tensor) -> Tensor:
        return polyad.from_numpy(x.numpy().ravel(order="K")[::-1].reshape(x.shape).copy() ** 2)

    bad.register_autograd(lambda ctx, g: g)
    bad.register_fake(lambda x: polyad.empty(1))
    bad.register_vmap(lambda info, in_dims, x: (x * 0, in_dims[0]))
    found = opcheck(bad, (polyad.randn(3, 3, requires_grad=True),), raise_exception=False)
    assert found["test_schema"] == found["test_capture"] == found["test_devices"] == "SUCCESS"
    for name in ("test_layouts", "test_autograd_registration", "test_faketensor", "test_vmap"):
        assert isinstance(found[name], RuntimeError), name
    with pytest.raises(ValueError, match="there is no check 'nothing'"):
        opcheck(bad, (polyad.ones(1),), test_utils="nothing")


def test_opcheck_of_a_right_op() -> None:
    op = sine()
    op.register_fake(lambda x, scale: polyad.empty_like(x))
    op.register_vmap(lambda info, in_dims, x, scale: (op(x, scale), in_dims[0]))
    x = polyad.randn(2, 3, requires_grad=True)
    assert set(opcheck(op, (x,), {"scale": 2.0}).values()) == {"SUCCESS"}
    assert x.grad is None


def test_what_results_look_like_is_the_kernel_without_data() -> None:
    @custom_op("testlib::joined", mutates_args=(), device_types="cpu")
    def joined(x: Tensor) -> Tensor:
        return polyad.from_numpy(x.numpy().repeat(2, 0))

    x = polyad.empty(3, 4, device="meta")
    with pytest.raises(NotImplementedError, match=r"testlib::joined: nothing says .*\n.*register_fake"):
        joined(x)

    @joined.register_fake
    def _(x: Tensor) -> Tensor:
        return x.new_empty((2 * x.shape[0], x.shape[1]))

    assert joined(x).shape == joined(polyad.ones(3, 4)).shape == (6, 4)
    assert joined(x).is_meta
