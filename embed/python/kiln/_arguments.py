"""Owns how values of Python become arguments of a call: each is written into a row, which is a kiln_argument."""
import ctypes
import struct

from . import _dlpack as dlpack
from . import _library as c
from ._errors import raise_error

ROW = 24
_integer = struct.Struct("=iiqQ").pack_into
_number = struct.Struct("=iidQ").pack_into
_address = struct.Struct("=iiQQ").pack_into
_pointer_of = dlpack.pointer_of
_rename = dlpack.rename


class Frame:
    """What one call needs: rows for its arguments and its result, and what must live until it is over."""

    __slots__ = ("rows", "address", "room", "result", "result_address", "capsules", "kept")

    def __init__(self, room=8):
        self.result = ctypes.create_string_buffer(ROW)
        self.result_address = ctypes.addressof(self.result)
        self.capsules = []  # with the names that they have once they are given away
        self.kept = []
        self.make_room(room)

    def make_room(self, room):
        self.room = room
        self.rows = ctypes.create_string_buffer(ROW * room)
        self.address = ctypes.addressof(self.rows)

    def put(self, index, value):
        writer = _writers.get(type(value)) or _writer_for(value)
        writer(self, index * ROW, value)

    def give_away(self):
        """What capsules and structures hold is the call's from now on."""
        for capsule, used in self.capsules:
            _rename(capsule, used)
        for each in self.kept:
            if type(each) is dlpack.Structure:
                each.give_away()

    def clear(self):
        self.capsules.clear()
        self.kept.clear()


class Value:
    """A value of Kiln: whoever has one keeps it alive."""

    __slots__ = ("_handle",)

    def __init__(self, handle):
        if not handle:
            raise MemoryError
        self._handle = handle

    def __del__(self, free=c.value_free):
        free(self._handle)


def value_of(anything):
    """The value of Kiln that a value of Python is."""
    if isinstance(anything, Value):
        return anything
    frame = Frame(1)
    frame.put(0, anything)
    if frame.kept and isinstance(frame.kept[-1], Value):
        return frame.kept[-1]
    frame.give_away()
    made = ctypes.c_void_p()
    error = c.value_new(frame.address, made)
    if error:
        raise_error(error)
    return Value(made.value)


# ---- Numbers, texts, containers ----


def _put_none(frame, at, value):
    _integer(frame.rows, at, c.NONE, 0, 0, 0)


def _put_bool(frame, at, value):
    _integer(frame.rows, at, c.BOOL, 0, value, 0)


def _put_int(frame, at, value):
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} is beyond the ints of Kiln, which have 64 bits")
    _integer(frame.rows, at, c.INT, 0, value, 0)


def _put_float(frame, at, value):
    _number(frame.rows, at, c.FLOAT, 0, value, 0)


def _put_complex(frame, at, value):
    put_value(frame, at, Value(c.new_complex(value.real, value.imag)))


def _put_str(frame, at, value):
    text = ctypes.create_string_buffer(value.encode())
    frame.kept.append(text)
    _address(frame.rows, at, c.STRING, 0, ctypes.addressof(text), len(text) - 1)


def put_value(frame, at, value):
    _address(frame.rows, at, c.VALUE, 0, value._handle, 0)
    frame.kept.append(value)


def _handles(values):
    """An array of the handles of values, with what keeps these."""
    kept = [value_of(each) for each in values]
    return (ctypes.c_void_p * len(kept))(*[each._handle for each in kept]), kept


def _put_list(frame, at, value):
    handles, kept = _handles(value)
    put_value(frame, at, Value(c.new_list(handles, len(kept))))


def _put_tuple(frame, at, value):
    handles, kept = _handles(value)
    put_value(frame, at, Value(c.new_tuple(handles, len(kept))))


def _put_dict(frame, at, value):
    keys, kept_keys = _handles(value.keys())
    items, kept_items = _handles(value.values())
    made = ctypes.c_void_p()
    error = c.new_dict(keys, items, len(kept_keys), made)
    if error:
        raise_error(error)
    put_value(frame, at, Value(made.value))


# ---- Arrays ----


def _writer_of_capsules(asks, name, used, kind, flags):
    """`asks`: what __dlpack__ is asked for, so that it gives capsules of this name."""

    def put(frame, at, array):
        try:
            capsule = array.__dlpack__(**asks)
        except (BufferError, TypeError):
            if not hasattr(array, "__array_interface__"):
                raise
            return _put_interface(frame, at, array)
        _address(frame.rows, at, kind, flags, _pointer_of(capsule, name), 0)
        frame.capsules.append((capsule, used))

    return put


def _writer_for_arrays(array):
    # Arrays of JAX do not change, whatever their capsules say.
    flags = c.READ_ONLY if type(array).__module__.split(".")[0] in ("jax", "jaxlib") else 0
    asks = {"max_version": (1, 0)}
    try:
        is_versioned = dlpack.is_versioned(array.__dlpack__(**asks))
    except TypeError:  # it knows no versions
        asks, is_versioned = {}, False
    except BufferError:  # not this array
        is_versioned = True
    if is_versioned:
        return _writer_of_capsules(asks, dlpack.VERSIONED, dlpack.USED_VERSIONED, c.DLPACK_VERSIONED, flags)
    return _writer_of_capsules(asks, dlpack.PLAIN, dlpack.USED_PLAIN, c.DLPACK, flags)


def _put_interface(frame, at, array):
    """NumPy's arrays that its capsules cannot have: bools and read-only ones, depending on its version."""
    interface = array.__array_interface__
    structure = dlpack.Structure(interface, array)
    frame.kept.append(structure)
    flags = c.READ_ONLY if interface["data"][1] else 0
    _address(frame.rows, at, c.DLPACK, flags, structure.address, 0)


def _put_item(frame, at, value):
    frame.put(at // ROW, value.item())


_writers = {
    type(None): _put_none,
    bool: _put_bool,
    int: _put_int,
    float: _put_float,
    complex: _put_complex,
    str: _put_str,
    list: _put_list,
    tuple: _put_tuple,
    dict: _put_dict,
}


def add_writer(kind, writer):
    _writers[kind] = writer


def _writer_for(value):
    """Of a type that was not seen before."""
    kind = type(value)
    if hasattr(kind, "__dlpack__"):
        writer = _writer_for_arrays(value)
    elif hasattr(kind, "__array_interface__") and hasattr(kind, "item"):
        writer = _put_item  # a number of NumPy
    else:
        bases = [each for each in (bool, int, float, complex, str, list, tuple, dict) if isinstance(value, each)]
        if not bases:
            raise TypeError(
                f"Kiln has no value for one of {kind.__module__}.{kind.__qualname__}: it takes numbers, texts, lists, "
                "tuples, dicts, and arrays that have __dlpack__"
            )
        writer = _writers[bases[0]]
    _writers[kind] = writer
    return writer
