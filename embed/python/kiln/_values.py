"""Owns values of Kiln in Python: functions that are called, tensors that are arrays, other objects."""
import ctypes
import struct

from . import _dlpack as dlpack
from . import _library as c
from ._arguments import Frame, Value, add_writer, put_value
from ._errors import raise_error

_result = struct.Struct("=iiqQ").unpack_from
_result_number = struct.Struct("=iidQ").unpack_from
_invoke = c.invoke
_TENSOR = c.TENSOR


class Object(Value):
    """A value of Kiln with attributes, which may be callable: a function, a struct, a module of parameters."""

    __slots__ = ("_session", "__weakref__")

    def __init__(self, session, handle):
        self._session = session
        self._handle = handle

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = ctypes.c_void_p()
        error = c.value_attribute(self._session._handle, self._handle, name.encode(), found)
        if error:
            raise_error(error)
        return python_value(self._session, found.value)

    def __call__(self, *arguments, **named):
        session = self._session
        frames = session._frames
        frame = frames.pop() if frames else Frame()
        count = len(arguments) + len(named)
        try:
            if count > frame.room:
                frame.make_room(count)
            index = 0
            for each in arguments:
                frame.put(index, each)
                index += 1
            names = None
            if named:
                names = (ctypes.c_char_p * len(named))(*[each.encode() for each in named])
                for each in named.values():
                    frame.put(index, each)
                    index += 1
            if frame.capsules or frame.kept:
                frame.give_away()
            error = _invoke(
                session._handle, self._handle, frame.address, count, names, len(named), frame.result_address
            )
            if error:
                raise_error(error)
            kind, _, bits, _ = _result(frame.result)
            if kind == _TENSOR:
                return Tensor(session, bits)
            if kind == c.FLOAT:
                return _result_number(frame.result)[2]
            return _IN_PLACE[kind](bits) if kind in _IN_PLACE else python_value(session, bits)
        finally:
            frame.clear()
            frames.append(frame)

    def __repr__(self):
        text = ctypes.c_void_p()
        error = c.value_repr(self._session._handle, self._handle, text)
        if error:
            raise_error(error)
        return python_value(self._session, text.value)


_IN_PLACE = {c.NONE: lambda bits: None, c.BOOL: bool, c.INT: int}


class Function(Object):
    """A function of Kiln. Arguments are numbers, texts, lists, tuples, dicts, values of Kiln and arrays."""

    __slots__ = ()


class _Loan:
    """Elements of a tensor that an array of NumPy refers to."""

    def __init__(self, tensor):
        self._address = tensor._lent(False)
        lent = dlpack.Managed.from_address(self._address).dl_tensor
        typestr = _TYPESTRS.get(tensor.dtype)
        if typestr is None:
            raise TypeError(f"NumPy has no {tensor.dtype}: convert the tensor by its method `float()`")
        item = int(typestr[2:])
        self.__array_interface__ = {
            "version": 3,
            "typestr": typestr,
            "shape": tuple(lent.shape[: lent.ndim]),
            "strides": tuple(each * item for each in lent.strides[: lent.ndim]),
            "data": (lent.data, False),
        }

    def __del__(self, free=dlpack.free, kind=dlpack.Managed):
        if hasattr(self, "_address"):
            free(kind, self._address)


_TYPESTRS = {
    "bool": "|b1",
    "u8": "|u1",
    "i8": "|i1",
    "i16": "<i2",
    "i32": "<i4",
    "i64": "<i8",
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
    "c64": "<c8",
    "c128": "<c16",
}


class Tensor(Object):
    """A tensor of Kiln. Its attributes are those of the language: t.sum(dim=0), t.requires_grad_(), t.grad."""

    __slots__ = ()

    @property
    def shape(self):
        rank = c.tensor_sizes(self._handle, None, 0)
        sizes = (ctypes.c_int64 * rank)()
        c.tensor_sizes(self._handle, sizes, rank)
        return tuple(sizes)

    @property
    def ndim(self):
        return c.tensor_sizes(self._handle, None, 0)

    @property
    def dtype(self):
        """The name that Kiln has for it: "f32"."""
        return c.tensor_dtype(self._handle).decode()

    def _lent(self, is_versioned):
        address = ctypes.c_void_p()
        error = (c.to_dlpack_versioned if is_versioned else c.to_dlpack)(self._handle, address)
        if error:
            raise_error(error)
        return address.value

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            return self.clone().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError("a tensor of Kiln is handed over on the CPU")
        is_versioned = max_version is not None and max_version[0] >= 1
        return dlpack.capsule_of(self._lent(is_versioned), is_versioned)

    def __dlpack_device__(self):
        return (1, 0)

    def numpy(self):
        """The elements as an array, which shares the tensor's memory."""
        import numpy

        return numpy.asarray(_Loan(self))

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __len__(self):
        shape = self.shape
        if not shape:
            raise TypeError("a tensor without dimensions has no length")
        return shape[0]

    def __iter__(self):
        return iter(self._session.function("x => [each for each in x]")(self))

    def __bool__(self):
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __complex__(self):
        return complex(self.item())


def _operator(text):
    def apply(self, other):
        return self._session.function(f"(a, b) => {text}")(self, other)

    return apply


for _name, _sign in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "matmul": "@", "pow": "**", "mod": "%", "floordiv": "//"
}.items():  # fmt: skip
    setattr(Tensor, f"__{_name}__", _operator(f"a {_sign} b"))
    setattr(Tensor, f"__r{_name}__", _operator(f"b {_sign} a"))
for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Tensor, f"__{_name}__", _operator(f"a {_sign} b"))
Tensor.__hash__ = lambda self: id(self)
Tensor.__neg__ = lambda self: self._session.function("x => -x")(self)
Tensor.__getitem__ = lambda self, index: self._session.index(self, index)

for _kind in (Value, Object, Function, Tensor):
    add_writer(_kind, put_value)


# ---- Results ----


def _text(session, handle):
    size = ctypes.c_size_t()
    address = c.value_string(handle, size)
    text = ctypes.string_at(address, size.value).decode()
    c.value_free(handle)
    return text


def _number(read):
    def convert(session, handle):
        number = read(handle)
        c.value_free(handle)
        return number

    return convert


def _part(of, session, handle, index):
    part = ctypes.c_void_p()
    error = of(handle, index, part)
    if error:
        raise_error(error)
    return python_value(session, part.value)


def _container(make):
    def convert(session, handle):
        whole = Value(handle)
        return make(_part(c.value_item, session, handle, i) for i in range(c.value_size(whole._handle)))

    return convert


def _dict(session, handle):
    whole = Value(handle)
    return {
        _part(c.value_key, session, handle, i): _part(c.value_item, session, handle, i)
        for i in range(c.value_size(whole._handle))
    }


_CONVERT = {
    c.NONE: _number(lambda handle: None),
    c.BOOL: _number(lambda handle: bool(c.value_int(handle))),
    c.INT: _number(c.value_int),
    c.FLOAT: _number(c.value_float),
    c.COMPLEX: _number(lambda handle: complex(c.value_float(handle), c.value_imaginary(handle))),
    c.STRING: _text,
    c.LIST: _container(list),
    c.TUPLE: _container(tuple),
    c.DICT: _dict,
    c.TENSOR: Tensor,
    c.FUNCTION: Function,
    c.OBJECT: Object,
}


def python_value(session, handle):
    """What a handle is in Python, which frees it or becomes its owner."""
    return _CONVERT[c.value_kind(handle)](session, handle)
