"""The Tensor: an array handle, its type, the storage it shares, and its autograd record.

Nothing here computes: methods that do come from op declarations (`polyad.tensor.methods`), and what is no op is
brought by the layers above (`polyad.base.provided`). Attributes that begin with an underscore belong to core and may
be read by its layers, not by users:

    _array    the backend's strided handle
    _type     TensorType: dtype, device, 0-d or not
    _storage  Storage shared with aliases; None while nothing aliases it
    _view     ViewOf(base, offset) for a view (UnrecordedViewOf if taken with gradients off), None for a tensor that
              begins its storage; InferenceView for all that is made in inference_mode
    _node     autograd Node: a Leaf if the user asked for a gradient, an op's node for its result, None without history
    _grad     the accumulated gradient

Invariant: ``_node is not None`` means exactly ``requires_grad``.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, ClassVar, TypeVar

from ..backend import memory
from ..backend.interface import TensorType
from ..base import provided
from ..base.device import Device
from ..base.dtypes import FLOATING, DType, get_default_dtype
from ..base.memory_formats import MemoryFormat, MemoryLayout, check_format, contiguous_format, is_contiguous_in, strided
from ..base.shapes_and_strides import Size, contiguous_strides, element_strides, is_contiguous, normalize_dim
from ..base.state import UNDER_INFERENCE, state
from ..devices.registry import device_of_older_types
from ..dispatch.catalogue import PUBLIC
from ..dispatch.effects import Effect, Record, Result, declare
from ..dispatch.overriding import disabled, dispatch_disabled, functions_off, made
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceError,
    DTypeError,
    IndexOutOfRange,
    NoData,
    OutOfMemory,
    ShapeError,
    safe_repr,
    wrong_type,
)
from ..history.hooks import RemovableHandle, register
from ..history.node import Leaf, Node, Output, add_hook
from .methods import TensorMethods
from .pending import PendingArray, settle
from .storage import INFERENCE, InferenceView, Storage, UnrecordedViewOf, ViewOf
from .subclasses import PROTOCOLS, NoArray, of_class, prepare

T = TypeVar("T", bound="Tensor")


class ElementTypeError(ArgumentTypeError, RuntimeError):
    """Something that no tensor holds, asked for with ``in``: PyTorch says RuntimeError."""


class Tensor(TensorMethods):
    """A multi-dimensional array of one dtype on one device. Create tensors with `polyad.tensor`, `polyad.zeros`, ...

    >>> import polyad
    >>> x = polyad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, x.device
    (polyad.Size([2, 2]), polyad.float32, device(type='cpu'))
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_grad", "_node", "_storage", "_type", "_view")

    _is_wrapped: ClassVar[bool] = False
    _copies_grad: ClassVar[bool] = True

    _array: Any
    _type: TensorType
    _node: Node | None
    _storage: Storage | None
    _grad: Tensor | None
    _view: ViewOf[Tensor] | UnrecordedViewOf[Tensor] | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Prepare a derived class; with a ``__torch_function__`` that is `polyad.dispatch.overriding.disabled`, what is
        computed from its objects is a plain Tensor.
        """
        super().__init_subclass__(**kwargs)
        prepare(cls, Tensor)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call *func*, and give its tensors as objects of this class. A class that overrides this sees all calls of
        functions with its objects, as *func*, and may answer otherwise; ``super().__torch_function__`` is this.

        >>> import polyad
        >>> class Logged(polyad.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return super().__torch_function__(func, types, args, kwargs)
        >>> y = polyad.exp(polyad.zeros(2).as_subclass(Logged))
        exp
        >>> type(y).__name__
        'Logged'
        """
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        kwargs = kwargs or {}
        with functions_off():
            result = func(*args, **kwargs)
        if cls is Tensor or func in UNCONVERTED:
            return result
        with functions_off():
            return of_class(result, cls, Tensor, (*args, *kwargs.values()))

    def __new__(cls, *data: Any, size: Any = None, device: Any = None) -> Any:
        """``Tensor(data)`` or ``Tensor(2, 3)`` (zeros of that shape, where PyTorch leaves memory unset),
        in the default dtype; on the cpu, whatever the default device is, unless `polyad.set_default_tensor_type` chose
        another. Raises TypeError for a number that is no size: `polyad.tensor` takes it.
        """
        given = data if size is None else (Size(size),)
        where = device_of_older_types() if device is None else device
        created = cls._from_sizes_or_data("Tensor", given, get_default_dtype(), where)
        if cls is not Tensor:
            created.__class__ = cls
            made(created)
        return created

    @staticmethod
    def _from_sizes_or_data(function: str, data: tuple[Any, ...], dtype: DType, device: Any) -> Tensor:
        """What PyTorch's older constructors give: zeros of a size, or a tensor of *data*, in *dtype*."""
        zeros = PUBLIC["zeros"].call
        value: Any = data[0] if len(data) == 1 else None
        if len(data) != 1 or isinstance(value, (int, Size)):
            return zeros(*(data or (0,)), dtype=dtype, device=device)  # type: ignore[no-any-return]
        if hasattr(value, "untyped"):
            return _showing(function, zeros(0, dtype=dtype, device=value.device), value)
        if isinstance(value, Tensor):
            if value.dtype is not dtype and function != "Tensor":
                raise ArgumentTypeError(
                    f"{function}: it cannot show a tensor of {value.dtype.name}",
                    operands={"data": value},
                    fix=f"convert it: data.to(polyad.{dtype.name})",
                )
            return value.detach()
        if hasattr(value, "__float__") and not hasattr(value, "__len__"):
            if hasattr(value, "__index__"):
                return zeros(value, dtype=dtype, device=device)  # type: ignore[no-any-return]
            raise ArgumentTypeError(
                f"{function}: {safe_repr(value)} is neither a size nor a sequence",
                fix="use polyad.tensor to hold one number",
            )
        return PUBLIC["tensor"].call(value, dtype=dtype, device=device)  # type: ignore[no-any-return]

    def new(self, *data: Any, size: Any = None, device: Any = None) -> Tensor:
        """As ``Tensor(...)``, in this tensor's dtype and on its device; PyTorch's older form of ``new_tensor``,
        ``new_zeros`` and others.

        >>> import polyad
        >>> polyad.arange(2).new([3, 4]), polyad.arange(2).new(2, 3).shape
        (tensor([3, 4]), polyad.Size([2, 3]))
        """
        given = data if size is None else (Size(size),)
        return self._from_sizes_or_data("new", given, self.dtype, self.device if device is None else device)

    # ------------------------------------------------------------------------------------------------ construction

    @staticmethod
    def _of(array: Any, type_: TensorType) -> Tensor:
        """A tensor that owns *array*."""
        out: Tensor = object.__new__(Tensor)
        out._array = array
        out._type = type_
        out._node = out._storage = out._grad = None
        out._view = INFERENCE if state.no_modes is UNDER_INFERENCE else None
        return out

    @staticmethod
    def _make_subclass(cls: type[T], data: Tensor, require_grad: bool = False) -> T:
        """*data*'s memory as an object of *cls*, a class derived from Tensor, without its history."""
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise wrong_type("_make_subclass", "cls", cls, "a class derived from Tensor")
        out: T = check_tensor(data, "_make_subclass", "data")._alias(cls)  # type: ignore[assignment]
        out.requires_grad = require_grad
        return out

    @staticmethod
    def _make_wrapper_subclass(
        cls: type[T],
        size: Any,
        *,
        strides: Any = None,
        dtype: DType | None = None,
        device: Any = None,
        layout: MemoryLayout = strided,
        requires_grad: bool = False,
        **unused: Any,
    ) -> T:
        """An object of *cls*, which has ``__torch_dispatch__`` or a ``__torch_function__`` of its own, of a shape,
        dtype and device, and without elements: what is computed with it is what the class answers.
        """
        if not (isinstance(cls, type) and issubclass(cls, Tensor) and _answers(cls)):
            raise wrong_type(
                "_make_wrapper_subclass", "cls", cls, "a class derived from Tensor with a __torch_dispatch__"
            )
        of = PUBLIC["empty"].call(0, dtype=dtype, device=device)._type
        shape = tuple(Size(size))
        counted = contiguous_strides(shape) if strides is None else tuple(strides)
        out: T = object.__new__(cls)
        out._array = NoArray(cls, shape, tuple([one * of.dtype.itemsize for one in counted]))
        out._type = of.nd if shape else of.zd
        out._node = out._storage = out._grad = out._view = None
        made(out)
        if requires_grad:
            out._node = Leaf(out)
        return out

    __torch_dispatch__ = dispatch_disabled

    def _make_storage(self) -> Storage:
        if self._array.__class__ is PendingArray:
            settle(self)
            if self._storage is not None:
                return self._storage
        storage = self._storage = Storage(self._array, self._type.backend, self._type.dtype.itemsize)
        return storage

    def _alias(self, cls: type[Tensor] | None = None) -> Tensor:
        """Another tensor object over the same memory, without history."""
        storage = self._storage
        if storage is None:
            storage = self._make_storage()
        if cls is None and self._array.__class__ is NoArray:
            out = object.__new__(type(self))
            out.__dict__.update(self.__dict__)
        else:
            out = object.__new__(cls or Tensor)
        if out.__class__ is not Tensor:
            made(out)
        out._array = self._array
        out._type = self._type
        out._node = out._grad = None
        out._storage = storage
        place = self._view
        if place is not None:
            place = (
                InferenceView(None, place.offset) if place.__class__ is InferenceView else ViewOf(None, place.offset)
            )
        out._view = place
        return out

    # ------------------------------------------------------------------------------------------------ properties

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return tuple.__new__(Size, self._array.shape)

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return self._type.dtype

    @property
    def device(self) -> Device:
        """Where the elements live."""
        return self._type.device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._array.shape)

    @property
    def layout(self) -> MemoryLayout:
        """`polyad.strided`; of a sparse tensor its own."""
        return strided

    @property
    def requires_grad(self) -> bool:
        """Whether backward computes a gradient for this tensor. Settable on leaves.

        Raises RuntimeError when set to True on a tensor that is neither floating nor complex, or to False on an op's
        result.
        """
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if state.modes:
            REQUIRE_GRAD.through_modes(self, value)
            return
        if not isinstance(value, bool):
            raise ArgumentTypeError(
                f"requires_grad: {safe_repr(value)} is no bool", operands={"self": self}, fix="set True or False"
            )
        if not self.is_leaf:
            if not value:
                raise AutogradError(
                    "requires_grad: only leaf tensors can stop requiring a gradient",
                    operands={"self": self},
                    fix="use tensor.detach()",
                )
            return
        if value and self._node is None:
            if self._type.dtype.category < FLOATING:
                raise DTypeError(
                    "requires_grad: only floating point and complex tensors can require a gradient",
                    operands={"self": self},
                    fix="convert it first: tensor.float()",
                )
            if self.is_inference() and state.no_modes is not UNDER_INFERENCE:
                raise AutogradError(
                    "requires_grad: a tensor made in inference_mode cannot require a gradient outside of it",
                    operands={"self": self},
                    fix="clone() it first",
                )
            self._node = Leaf(self)
        elif not value:
            self._node = None

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op computed this tensor."""
        return self._node is None or isinstance(self._node, Leaf)

    @property
    def grad_fn(self) -> Node | None:
        """The node of the op that computed this tensor, None for a leaf."""
        settle(self)
        node = self._node
        if isinstance(node, Output):
            return node.parent
        return None if isinstance(node, Leaf) else node

    @property
    def output_nr(self) -> int:
        """Which of its op's results this tensor is."""
        settle(self)
        return self._node.number if isinstance(self._node, Output) else 0

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated, or None.

        Settable to None or to a tensor of the same shape, dtype and device.
        """
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if state.modes:
            SET_GRAD.through_modes(self, value)
            return
        if value is not None:
            if not isinstance(value, Tensor):
                raise ArgumentTypeError(
                    "grad: it must be a tensor or None",
                    operands={"self": self, "value": value},
                    fix="assign a tensor or None",
                )
            if value is self:
                raise AutogradError("grad: a tensor cannot be its own gradient", fix="assign a clone() of it")
            if value._array.shape != self._array.shape or value._type is not self._type:
                raise ShapeError(
                    "grad: the gradient must have the tensor's shape, dtype and device",
                    operands={"self": self, "value": value},
                    fix="convert the value first",
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def data(self) -> Tensor:
        """The same memory without history, where writes are not noticed by backward; assigning makes this tensor show
        another's memory.
        """
        out = self.detach()
        settle(out)
        if out._storage is not None:
            out._storage = out._storage.unnoticed()
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        if state.modes:
            SET_DATA.through_modes(self, value)
            return
        if not isinstance(value, Tensor):
            raise ArgumentTypeError("data: it must be a tensor", operands={"value": value}, fix="assign a tensor")
        if self._node is not None and value._type.dtype.category < FLOATING:
            raise DTypeError(
                "data: a tensor that requires a gradient holds floating point or complex numbers",
                operands={"self": self, "value": value},
                fix="call requires_grad_(False) first, or convert the value",
            )
        storage = value._storage or value._make_storage()
        self._array, self._type, self._storage = value._array, value._type, storage
        self._view = None if value._view is None else ViewOf(None, value._view.offset)
        if isinstance(self._node, Leaf):
            self._node.shape, self._node.type = self._array.shape, self._type

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self._type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.shape.numel() * self._type.dtype.itemsize

    @property
    def _version(self) -> int:
        if self._view.__class__ is InferenceView:
            raise AutogradError(
                "_version: writes to a tensor made in inference_mode are not counted",
                operands={"self": self},
                fix="clone() it outside of inference_mode",
            )
        settle(self)
        return 0 if self._storage is None else self._storage.version

    @property
    def _base(self) -> Tensor | None:
        settle(self)
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._base is not None

    # ------------------------------------------------------------------------------------------------ layout

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self._array.shape[self._dimension(dim, "size")]

    def _dimension(self, dim: int, function: str) -> int:
        """*dim* from 0 on, of a tensor that has any."""
        place = normalize_dim(dim, self.ndim, function)
        if not self._array.shape:
            raise IndexOutOfRange(
                f"{function}: a 0-d tensor has no dimension {place}",
                operands={"self": self},
                fix=f"leave dim out: {function}() is ()",
            )
        return place

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self.shape.numel()

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element."""
        return self._type.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """How many elements lie between neighbours along each dimension, or along one."""
        array = self._array
        strides = element_strides(array.shape, array.strides, self._type.dtype.itemsize)
        return strides if dim is None else strides[self._dimension(dim, "stride")]

    def storage_offset(self) -> int:
        """Where the first element lies in the storage, in elements."""
        return 0 if self._view is None else self._view.offset

    def is_contiguous(self, *, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie without gaps in the order of a memory format, row-major unless another is given."""
        shape, strides = self._array.shape, self.stride()
        if memory_format is contiguous_format:
            return is_contiguous(shape, strides)
        return is_contiguous_in(shape, strides, check_format(memory_format, "is_contiguous", contiguous_format))

    def data_ptr(self) -> int:
        """The address (or handle number) of the first element; 0 if there is none."""
        settle(self)
        return 0 if 0 in self._array.shape else self._type.backend.data_ptr(self._array)

    # ------------------------------------------------------------------------------------------------ autograd

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place and return the tensor."""
        self.requires_grad = requires_grad
        return self

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradient of this tensor to ``.grad`` of the leaves it was computed from;
        see `polyad.autograd.backward`.

        >>> import polyad
        >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        if gradient is not None and not isinstance(gradient, Tensor):
            raise wrong_type("backward", "gradient", gradient, "a tensor of this tensor's shape or None")
        provided.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """The same memory in a tensor without history."""
        if state.modes:
            return DETACH.through_modes(self)  # type: ignore[no-any-return]
        return self._alias()

    def _detached(self) -> Tensor:
        return self._alias()

    def detach_(self) -> Tensor:
        """Drop the history in place. Raises RuntimeError on a view, whose history belongs to its base."""
        check_tensor(self, "detach_", "self")
        if state.modes:
            return DETACH_IN_PLACE.through_modes(self)  # type: ignore[no-any-return]
        return self._forget()

    def _forget(self) -> Tensor:
        if self._view is not None and self._view.base is not None:
            raise AutogradError(
                "detach_: a view cannot be detached in place", operands={"self": self}, fix="use tensor.detach()"
            )
        self._node = None
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf tensor in ``.grad`` too."""
        if state.modes:
            RETAIN_GRAD.through_modes(self)
            return
        if self._node is None:
            raise AutogradError(
                "retain_grad: the tensor requires no gradient",
                operands={"self": self},
                fix="call requires_grad_() on a leaf before computing it",
            )
        if not isinstance(self._node, Leaf):
            provided.node_of_its_own(self).retain = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this non-leaf tensor."""
        settle(self)
        return self._node is not None and self._node.retain is not None

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call *hook* with this tensor's gradient when it is computed; a returned tensor takes its place.

        Raises RuntimeError if the tensor requires no gradient.
        """
        if state.modes:
            return REGISTER_HOOK.through_modes(self, hook)  # type: ignore[no-any-return]
        if self._node is None:
            raise AutogradError(
                "register_hook: the tensor requires no gradient",
                operands={"self": self},
                fix="call requires_grad_() first",
            )
        return add_hook(provided.node_of_its_own(self) or self._node, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call *hook* with this leaf each time backward has added to its ``.grad``. Raises RuntimeError on no leaf.

        >>> import polyad
        >>> x = polyad.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.mul_(10))
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        if state.modes:
            return REGISTER_ACCUMULATED_HOOK.through_modes(self, hook)  # type: ignore[no-any-return]
        leaf = self._node
        if leaf is None:
            raise AutogradError(
                "register_post_accumulate_grad_hook: the tensor requires no gradient",
                operands={"self": self},
                fix="call requires_grad_() first",
            )
        if not isinstance(leaf, Leaf):
            raise AutogradError(
                "register_post_accumulate_grad_hook: the tensor is no leaf, nothing is accumulated in it",
                operands={"self": self},
                fix="use register_hook, which sees the gradient on its way",
            )
        if leaf.accumulated_hooks is None:
            leaf.accumulated_hooks = {}
        return register(leaf.accumulated_hooks, hook)

    # ----------------------------------------------------------------------------------------------- Python's protocols

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise ShapeError(
                f"bool: the truth of a tensor with {self.numel()} elements is not defined",
                operands={"self": self},
                fix="use .any(), .all() or compare one element",
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._real("int"))

    def __float__(self) -> float:
        return float(self._real("float"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def _number(self, function: str) -> Any:
        if self.numel() != 1:
            raise ArgumentError(
                f"{function}: a tensor with {self.numel()} elements is not one number",
                operands={"self": self},
                fix="index one element first, or use .tolist()",
            )
        return self.item()

    def _real(self, function: str) -> Any:
        number = self._number(function)
        if not isinstance(number, complex):
            return number
        if number.imag:
            raise DTypeError(
                f"{function}: {number} is no real number",
                operands={"self": self},
                fix="take its real part, or its absolute value",
            )
        return number.real

    def __index__(self) -> int:
        if self._type.dtype.category >= FLOATING or self.numel() != 1:
            raise ArgumentTypeError(
                "index: only an integer tensor of one element can be an index",
                operands={"self": self},
                fix="use .item() on one integer element",
            )
        return int(self.item())

    def __len__(self) -> int:
        if not self._array.shape:
            raise ArgumentTypeError(
                "len: a 0-d tensor has no length", operands={"self": self}, fix="use .numel() or .item()"
            )
        return int(self._array.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.shape:
            raise ArgumentTypeError(
                "iteration: a 0-d tensor cannot be iterated", operands={"self": self}, fix="use .item()"
            )
        return (self[position] for position in range(len(self)))

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, bool, int, float, complex)):
            raise ElementTypeError(
                f"in: {type(element).__name__} is neither a number nor a tensor",
                operands={"element": element, "self": self},
                fix="ask for a number",
            )
        return bool((self == element).any().item())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return provided.tensor_repr(self)

    def __format__(self, spec: str) -> str:
        if not isinstance(spec, str):
            raise wrong_type("format", "spec", spec, "a string")
        if not self._array.shape and (spec or (type(self) is Tensor and has_data(self))):
            return format(self.item(), spec)
        if spec:
            raise ArgumentTypeError(
                f"format: only a 0-d tensor takes a format such as {safe_repr(spec)}",
                operands={"self": self},
                fix="format tensor.item(), or the numbers of tensor.tolist()",
            )
        return str(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not isinstance(protocol, int):
            raise wrong_type("__reduce_ex__", "protocol", protocol, "an int")
        return provided.reduced(self, protocol)

    def __copy__(self) -> Tensor:
        out = self._alias(type(self))
        out._node = self._node if not self.is_leaf else None
        if self.is_leaf:
            out.requires_grad_(self.requires_grad)
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        import copy

        if not isinstance(memo, dict):
            raise wrong_type("deepcopy", "memo", memo, "a dict")
        if not self.is_leaf:
            raise AutogradError(
                "deepcopy: only leaf tensors can be deep-copied",
                operands={"self": self},
                fix="copy tensor.detach(), or clone() to keep the history",
            )
        settle(self)
        alone = self._storage is None
        out = self._copied_memory(memo)._alias(type(self))
        if alone:
            out._storage = out._view = None
        memo[id(self)] = out
        out.requires_grad_(self.requires_grad)
        if self._grad is not None and self._copies_grad:
            out._grad = copy.deepcopy(self._grad, memo)
        out.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return out

    def _copied_memory(self, memo: dict[int, Any]) -> Tensor:
        """A copy with the same strides; what shares memory with this tensor shares the copy's, by way of *memo*."""
        if self._array.__class__ is NoArray:
            return self.detach().clone()
        storage, itemsize = self._storage, self._type.dtype.itemsize
        if storage is None or storage.nbytes % itemsize:
            return Tensor._of(self._array, self._type).clone()
        whole = storage.origin or storage
        if id(whole) not in memo:
            memo[id(whole)] = self.detach().as_strided((storage.nbytes // itemsize,), (1,), 0).clone()
        copied: Tensor = memo[id(whole)]
        if copied.dtype is not self.dtype:
            copied = copied.view(self.dtype)
        window: Tensor = copied.as_strided(self.shape, self.stride(), self.storage_offset())
        return window

    # ------------------------------------------------------------------------------------------------ to the host

    def item(self) -> Any:
        """The only element as a Python number; waits for it. Raises RuntimeError unless there is exactly one."""
        if self.numel() != 1:
            raise ShapeError(
                f"item: the tensor has {self.numel()} elements, not one",
                operands={"self": self},
                fix="index one element first, or use .tolist()",
            )
        if state.modes:
            return ITEM.through_modes(self)
        try:
            return self._type.backend.to_host(self._array).reshape(()).item()
        except NoData as error:
            raise error.told_by("item", {"self": self}) from None

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers (a number for a 0-d tensor)."""
        if state.modes:
            return TOLIST.through_modes(self)
        try:
            return self._type.backend.to_host(self._array).tolist()
        except NoData as error:
            raise error.told_by("tolist", {"self": self}) from None
        except MemoryError as error:
            raise OutOfMemory(
                f"tolist: there is no memory for {self.numel()} numbers",
                operands={"self": self},
                fix="take a part of the tensor",
            ) from error

    def numpy(self, *, force: bool = False) -> Any:
        """A ``numpy.ndarray`` of the values, sharing memory where the device's memory is the host's.

        Unless ``force``, raises RuntimeError for a tensor that requires a gradient while gradients are recorded, and
        TypeError for a tensor on another device.
        """
        if state.modes:
            return NUMPY.through_modes(self, force)
        return provided.to_numpy(self, force)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is not None and not isinstance(copy, bool):
            raise wrong_type("__array__", "copy", copy, "a bool or None")
        if state.modes:
            return ARRAY.through_modes(self, dtype, copy)
        return provided.as_array(self, dtype, copy)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return provided.from_ufunc(array)

    def new_tensor(
        self,
        data: Any,
        *,
        dtype: DType | None = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        """A tensor of *data* with this tensor's dtype and device unless others are given."""
        return PUBLIC["tensor"].call(  # type: ignore[no-any-return]
            data,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
            requires_grad=requires_grad,
            pin_memory=pin_memory,
        )


UNCONVERTED = frozenset({Tensor.grad.__get__, Tensor._base.__get__})
"""Of these the results are tensors that others hold, too: `Tensor.__torch_function__` gives them as they are."""


def written_on_tensor() -> Iterator[tuple[Any, Any]]:
    """The methods and getters that no declaration made, with what ``__torch_function__`` is told was called."""
    for cls in (Tensor, TensorMethods):
        for name, attribute in list(vars(cls).items()):
            if isinstance(attribute, property) and name[:1] != "_":
                yield attribute.fget, attribute.__get__
            elif cls is Tensor and isinstance(attribute, FunctionType) and (name[:1] != "_" or name in PROTOCOLS):
                yield attribute, None


def _showing(function: str, tensor: Tensor, storage: Any) -> Tensor:
    """*tensor*, from now on all that is in *storage*."""
    dtype = getattr(storage, "dtype", tensor.dtype)
    if dtype is not tensor.dtype:
        raise DTypeError(
            f"{function}: a tensor of {tensor.dtype.name} cannot show a storage of {dtype.name}",
            fix="pass storage.untyped() to read its bytes as another dtype",
        )
    return tensor.set_(storage)


def _answers(cls: Any) -> bool:
    """Whether a class derived from Tensor answers for its objects, so that these need no elements."""
    plain: Any = Tensor.__torch_function__
    function = getattr(cls.__torch_function__, "__func__", disabled)
    return cls.__torch_dispatch__ is not dispatch_disabled or function not in (disabled, plain.__func__)


def _with_data(tensor: Tensor, value: Tensor) -> Tensor:
    tensor.data = value
    return tensor


# What modes see of the methods above that are no ops.
ITEM = declare(Effect("item", Tensor.item, reads=(0,), result=Result.HOST))
TOLIST = declare(Effect("tolist", Tensor.tolist, reads=(0,), result=Result.HOST))
NUMPY = declare(
    Effect("numpy", lambda tensor, force: tensor.numpy(force=force), reads=(0,), result=Result.HOST, lends=True)
)
ARRAY = declare(Effect("__array__", Tensor.__array__, reads=(0,), result=Result.HOST, lends=True))
REQUIRE_GRAD = declare(Effect("requires_grad_", Tensor.requires_grad_, record=Record.CHANGED, result=Result.TARGET))
RETAIN_GRAD = declare(Effect("retain_grad", Tensor.retain_grad, record=Record.CHANGED, result=Result.NOTHING))
REGISTER_HOOK = declare(Effect("register_hook", Tensor.register_hook, record=Record.CHANGED, result=Result.NOTHING))
REGISTER_ACCUMULATED_HOOK = declare(
    Effect(
        "register_post_accumulate_grad_hook",
        Tensor.register_post_accumulate_grad_hook,
        record=Record.CHANGED,
        result=Result.NOTHING,
    )
)
DETACH = declare(Effect("detach", Tensor.detach, lambda tensor: tensor._detached(), result=Result.DETACHED))
DETACH_IN_PLACE = declare(
    Effect("detach_", Tensor.detach_, lambda tensor: tensor._forget(), rebinds=0, result=Result.DETACHED)
)
SET_GRAD = declare(
    Effect(
        "set_grad",
        lambda tensor, value: setattr(tensor, "grad", value),
        record=Record.GRADIENT,
        result=Result.NOTHING,
    )
)
SET_DATA = declare(Effect("set_data", _with_data, rebinds=0, result=Result.DETACHED, of=1))


def check_tensor(value: Any, op: str, name: str) -> Tensor:
    """*value* itself if it is a tensor; raises TypeError naming op and argument otherwise."""
    if not isinstance(value, Tensor):
        raise wrong_type(op, name, value, "a tensor")
    return value


def has_data(*tensors: Tensor | None) -> bool:
    """Whether all *tensors* have elements that may be looked at: those on device "meta" have none.

    What refuses some elements asks this first, so that the call can be evaluated without them.
    """
    return all(tensor is None or tensor._type.backend.holds_data for tensor in tensors)


def check_room(op: str, shape: tuple[int, ...], like: Tensor) -> None:
    """Raise OutOfMemory if the device of *like* has no memory for a result of *shape*: asked before work that grows
    with the shape is done on the host. Costs nothing for results of less than a gigabyte.
    """
    type_ = like._type
    if math.prod(shape) * type_.dtype.itemsize >= 2**30:
        try:
            type_.backend.empty(shape, type_.dtype, type_.device)
        except (MemoryError, OverflowError) as error:
            raise OutOfMemory(
                f"{op}: there is no memory for a result of shape {shape}",
                operands={"like": like},
                notes={"device said": str(error)},
                fix="ask for a smaller result",
            ) from error


def check_same_device(op: str, **tensors: Tensor | None) -> None:
    """Raise DeviceError unless all given tensors are on one device."""
    present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    if len({tensor.device for tensor in present.values()}) > 1:
        raise DeviceError(
            f"{op}: operands are on different devices", operands=present, fix="move them to one device with .to(device)"
        )


memory.tensor_classes.append(Tensor)
