"""Owns arrays on their way between libraries: the capsules and structures of DLPack."""
import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

from . import _library as c

_api = ctypes.pythonapi
pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", _api))
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, c_char_p)(("PyCapsule_SetName", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, c_char_p)(("PyCapsule_IsValid", _api))
# Of a capsule that ends, which must not become an object of Python again.
_is_named = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _api))
_pointer_within = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _api))

PLAIN, USED_PLAIN = b"dltensor", b"used_dltensor"
VERSIONED, USED_VERSIONED = b"dltensor_versioned", b"used_dltensor_versioned"


class Device(ctypes.Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Elements(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device", Device),
        ("ndim", c_int32),
        ("dtype", DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


Deleter = CFUNCTYPE(None, c_void_p)


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("dl_tensor", Elements), ("manager_ctx", c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", Deleter),
        ("flags", c_uint64),
        ("dl_tensor", Elements),
    ]


def is_versioned(capsule):
    return bool(_is_valid(capsule, VERSIONED))


def free(kind, address):
    """Calls the deleter of a structure."""
    managed = kind.from_address(address)
    if managed.deleter:
        managed.deleter(address)


# A capsule that no library took frees its structure when it ends.
@CFUNCTYPE(None, c_void_p)
def _end_of_capsule(capsule):
    for name, kind in ((PLAIN, Managed), (VERSIONED, ManagedVersioned)):
        if _is_named(capsule, name):
            free(kind, _pointer_within(capsule, name))


def capsule_of(address, is_versioned):
    name = VERSIONED if is_versioned else PLAIN
    return _new_capsule(address, name, ctypes.cast(_end_of_capsule, c_void_p))


# ---- Arrays that give no capsule: what NumPy's array interface says of them ----

_CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
_lent = {}  # structures that Kiln has, by their addresses


@Deleter
def _end_of_array(address):
    _lent.pop(address, None)


class Structure:
    """A DLManagedTensor over the memory that an array interface (version 3) describes."""

    def __init__(self, interface, array):
        order, kind, item = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
        if order == ">" or kind not in _CODES:
            raise TypeError(f"an array of {interface['typestr']} has no dtype in Kiln: convert it with astype")
        shape, strides = interface["shape"], interface.get("strides")
        if strides is not None and any(each % item for each in strides):
            raise ValueError("the strides of an array are no multiples of its elements: hand over a copy of it")
        self._array = array
        self._sizes = (c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (c_int64 * len(shape))(*(each // item for each in strides))
        self._managed = Managed(deleter=_end_of_array)
        x = self._managed.dl_tensor
        x.data, x.device, x.ndim = interface["data"][0], Device(1, 0), len(shape)
        x.dtype = DataType(_CODES[kind], item * 8, 1)
        x.shape = self._sizes
        if strides is not None:
            x.strides = self._strides
        self.address = ctypes.addressof(self._managed)

    def give_away(self):
        """Kiln has it until it calls the deleter."""
        _lent[self.address] = self
